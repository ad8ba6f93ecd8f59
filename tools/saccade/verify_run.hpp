// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/check.hpp"

namespace saccade::tool {

// One check on one kernel.
struct CheckResult {
  std::string name, op, group, description;
  std::string only;  // as check::Check::only
  std::string kernel;
  check::Outcome outcome;
  double seconds = 0;
  std::optional<check::Smaller> smaller;  // after a failure
};

struct VerifyRun {
  std::function<Device()> openDevice;
  std::string kernel;    // empty: all that the device supports
  unsigned threads = 1;  // each with a device of its own
  bool shrink = true;    // look for smaller calls that fail, for the first failures of each kernel and group
};

struct VerifyResults {
  std::vector<CheckResult> results;    // in the order of the checks
  std::optional<std::string> failure;  // the device was lost: what it said
};

// Runs every check with every kernel of its operator. Checks that share pipelines are run one after the other
// by the same thread; each check is destroyed, and devices are opened anew from time to time, so that memory
// does not grow with the number of checks.
VerifyResults runChecks(check::Checks checks, const VerifyRun& run);

}  // namespace saccade::tool
