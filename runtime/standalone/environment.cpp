// SPDX-License-Identifier: Apache-2.0
#include "standalone/environment.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include <saccade/saccade.hpp>

namespace saccade::runtime {

std::string environmentText(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool environmentSwitch(const char* name) {
  const std::string value = environmentText(name);
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  throw Error(
      Status::InvalidArgument, name,
      fmt::format("environment variable {} is '{}', but only 0 (off) and 1 (on) are allowed", name, value));
}

}  // namespace saccade::runtime
