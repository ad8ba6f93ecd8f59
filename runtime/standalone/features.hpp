// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <saccade/saccade.hpp>

#include "standalone/vulkan.hpp"

namespace saccade::runtime {

// The feature structures of Vulkan 1.2, chained: what a device has, or what is enabled on it.
class FeatureChain {
 public:
  FeatureChain();
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2* head() { return &features_; }
  const VkPhysicalDeviceFeatures2* head() const { return &features_; }

  // The switch of a feature, by the names that Requirement uses; NULL for one that the runtime does not know.
  VkBool32* find(std::string_view structName, std::string_view name);

 private:
  VkPhysicalDeviceFeatures2 features_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features vulkan11_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features vulkan12_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
};

// What the core requires and recommends of a device of Vulkan 1.2 or later, and what the runtime itself
// needs.
std::vector<Requirement> runtimeRequirements(VkInstance instance, VkPhysicalDevice physicalDevice);

// Names of the required items that are not available.
std::vector<std::string> missingRequirements(std::span<const Requirement> requirements);

// Switches on, in `chain`, every available feature of the list, and returns the available extensions.
std::vector<const char*> enableAvailable(std::span<const Requirement> requirements, FeatureChain& chain);

}  // namespace saccade::runtime
