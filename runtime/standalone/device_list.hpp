// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <saccade/runtime.hpp>

#include "standalone/vulkan.hpp"

namespace saccade::runtime {

class Instance;

struct ListedDevice {
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;
  DeviceSummary summary;
};

std::vector<ListedDevice> listDevices(const Instance& instance);

// The queue family that the runtime uses: the first one that can compute, one with a clock if there is one.
// VK_QUEUE_FAMILY_IGNORED if none can compute.
std::uint32_t findComputeFamily(VkPhysicalDevice physicalDevice, std::uint32_t& timestampValidBits);

}  // namespace saccade::runtime
