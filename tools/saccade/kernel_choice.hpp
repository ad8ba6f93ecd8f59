// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "globals.hpp"

namespace saccade::tool {

// --kernel, else SACCADE_KERNEL; empty for neither and for "all".
std::string requestedKernel(const Globals& globals);

// Throws UsageError unless `kernelAndTile` is empty or begins with a variant, of any operator, that the device supports. What follows
// the name is checked when a plan is made.
void requireKernel(const Device& device, const std::string& kernelAndTile);

}  // namespace saccade::tool
