// SPDX-License-Identifier: Apache-2.0
#include "standalone/environment.hpp"
#include "text/formatted.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <system_error>

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
      formatted("environment variable {} is '{}', but only 0 (off) and 1 (on) are allowed", name, value));
}

double environmentMilliseconds(const char* name, double unset) {
  const std::string text = environmentText(name);
  if (text.empty()) return unset;
  if (text == "off") return std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0)) {
    throw Error(Status::InvalidArgument, name,
                formatted("environment variable {} is '{}', but only a number of milliseconds above 0 and \"off\" are allowed",
                          name, text));
  }
  return value;
}

}  // namespace saccade::runtime
