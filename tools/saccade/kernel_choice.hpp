// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "globals.hpp"

namespace saccade::tool {

// --kernel, else SACCADE_KERNEL; empty for neither and for "all".
std::string requestedKernel(const Globals& globals);

// Throws UsageError unless `kernel` is empty or a variant, of any operator, that the device supports.
void requireKernel(const Device& device, const std::string& kernel);

}  // namespace saccade::tool
