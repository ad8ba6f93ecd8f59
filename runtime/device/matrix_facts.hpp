// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/facts.hpp"

namespace saccade::core {

// The facts of cooperative matrices. They stay 0 where extension or feature are not enabled or compute shaders may not use them.
void queryMatrixFacts(const InstanceFunctions& functions, VkPhysicalDevice physicalDevice, const FeatureSet& enabled,
                      DeviceFacts& facts);

}  // namespace saccade::core
