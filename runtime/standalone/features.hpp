// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <saccade/saccade.hpp>

#include "device/newer_vulkan.hpp"
#include "standalone/vulkan.hpp"

namespace saccade::runtime {

// Feature structures, chained: what a device has, or what is enabled on it. Those of Vulkan 1.2 are always there, those of
// extensions and later versions once one of their features is enabled: others may not be given to vkCreateDevice.
class FeatureChain {
 public:
  FeatureChain();
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2* head() { return &features_; }
  const VkPhysicalDeviceFeatures2* head() const { return &features_; }

  // Switches a feature on, by the names that Requirement uses. False for one that the runtime does not know.
  bool enable(std::string_view structName, std::string_view name);
  bool timelineSemaphore() const { return vulkan12_.timelineSemaphore == VK_TRUE; }

 private:
  VkPhysicalDeviceFeatures2 features_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features vulkan11_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features vulkan12_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroupSizes_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceMaintenance4Features maintenance4_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES};
  VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR rotate_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix2_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV};
};

// What the core requires and recommends of a device of Vulkan 1.2 or later, and what the runtime itself
// needs.
std::vector<Requirement> runtimeRequirements(VkInstance instance, VkPhysicalDevice physicalDevice);

// Names of the required items that are not available.
std::vector<std::string> missingRequirements(std::span<const Requirement> requirements);

// Switches on, in `chain`, every available feature of the list, and returns the available extensions.
std::vector<const char*> enableAvailable(std::span<const Requirement> requirements, FeatureChain& chain);

}  // namespace saccade::runtime
