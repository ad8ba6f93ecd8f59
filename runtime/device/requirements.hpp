// SPDX-License-Identifier: Apache-2.0
// What Saccade requires and recommends of instance and device: one table, read for the public list, for the check of a
// host's device and for the facts.
#pragma once

#include <span>

#include "device/functions.hpp"
#include "saccade/saccade.h"

namespace saccade::core {

// The features that matter here, wherever in a chain they stand, and what else a host can enable.
struct FeatureSet {
  bool bufferDeviceAddress = false;
  bool shaderInt64 = false;
  bool storageBuffer8BitAccess = false;
  bool storageBuffer16BitAccess = false;
  bool shaderFloat16 = false;
  bool vulkanMemoryModel = false;
  bool vulkanMemoryModelDeviceScope = false;
  bool maintenance4 = false;
  bool subgroupSizeControlExtension = false;  // or Vulkan 1.3
  bool subgroupSizeControl = false;
  bool computeFullSubgroups = false;
  bool subgroupRotateExtension = false;  // or Vulkan 1.4
  bool subgroupRotate = false;
  bool subgroupRotateClustered = false;
  bool pipelineExecutableInfo = false;
  bool cooperativeMatrixExtension = false;
  bool cooperativeMatrix = false;
  bool cooperativeMatrix2Extension = false;
  bool cooperativeMatrixFlexibleDimensions = false;
  bool cooperativeMatrixReductions = false;
  bool cooperativeMatrixConversions = false;
  bool cooperativeMatrixPerElementOperations = false;
  bool cooperativeMatrixWorkgroupScope = false;
  bool cooperativeMatrixTensorAddressing = false;
  bool cooperativeMatrixBlockLoads = false;
  bool vulkan13 = false;
  bool debugUtils = false;
};

// Reads the features of a chain as it is given to vkCreateDevice or filled by vkGetPhysicalDeviceFeatures2 (NULL is an empty chain),
// and device extensions.
FeatureSet readFeatures(const VkPhysicalDeviceFeatures2* chain, std::span<const char* const> extensions);

// What the physical device and the Vulkan loader offer. Refuses a device older than Vulkan 1.2.
FeatureSet availableFeatures(const InstanceFunctions& functions, VkPhysicalDevice physicalDevice,
                             PFN_vkGetInstanceProcAddr getInstanceProcAddr);

struct FeatureRequirement {
  const char* name;
  const char* structName;
  const char* buys;
  bool required;
  bool FeatureSet::* member;
};

std::span<const FeatureRequirement> featureRequirements();

inline SaccadeRequirement toC(const FeatureRequirement& item, bool available) {
  return {item.name, item.structName, item.buys, item.required ? VK_TRUE : VK_FALSE, available ? VK_TRUE : VK_FALSE};
}

}  // namespace saccade::core
