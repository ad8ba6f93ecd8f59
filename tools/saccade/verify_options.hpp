// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/check.hpp"

namespace saccade::tool {

struct VerifyOptions {
  std::string cases;
  std::string weights;
  std::vector<std::string> only;
  std::vector<std::string> groups;  // empty: all
  std::optional<std::uint32_t> sweep;
  std::uint64_t seed = 0;
  unsigned threads = 0;
  bool thorough = false;
  std::string junit;
  bool everyCheck = false;  // list what passed, too, in the JSON form
};

// The checks that the options ask for. Throws UsageError, io::FileError.
check::Checks collectChecks(const VerifyOptions& options);

// The options as arguments for a process that checks one device.
std::vector<std::string> childArguments(const VerifyOptions& options, const std::string& kernel);

// The part of a command line that repeats one check, behind --only: seed, and the folder of cases if it is
// one.
std::string repeatArguments(const VerifyOptions& options, const std::string& only);

// Words that --groups takes.
const std::vector<std::string>& groupNames();

}  // namespace saccade::tool
