// SPDX-License-Identifier: Apache-2.0
#include "device/facts.hpp"

#include <algorithm>
#include <cstring>

#include "api/message.hpp"

namespace saccade::core {

DeviceFacts queryFacts(const InstanceFunctions& functions, VkPhysicalDevice physicalDevice, uint32_t apiVersion,
                       const FeatureSet& enabled) {
  VkPhysicalDeviceProperties basic{};
  functions.vkGetPhysicalDeviceProperties(physicalDevice, &basic);
  const uint32_t version = std::min(basic.apiVersion, apiVersion);
  if (version < VK_API_VERSION_1_2) {
    throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, "apiVersion",
                  formatted("{} offers Vulkan {}.{} (device) and {}.{} (instance); Vulkan 1.2 is required of both",
                              basic.deviceName, VK_API_VERSION_MAJOR(basic.apiVersion),
                              VK_API_VERSION_MINOR(basic.apiVersion), VK_API_VERSION_MAJOR(apiVersion),
                              VK_API_VERSION_MINOR(apiVersion)));
  }

  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, nullptr};
  VkPhysicalDeviceMaintenance3Properties maintenance3{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, &subgroup};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, &maintenance3};
  VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES, &driver};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &floats};
  // Structures of Vulkan 1.3 may be chained only where the device offers 1.3.
  VkPhysicalDeviceMaintenance4Properties maintenance4{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES, &floats};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES, &maintenance4};
  if (version >= VK_API_VERSION_1_3) properties.pNext = &sizes;
  functions.vkGetPhysicalDeviceProperties2(physicalDevice, &properties);

  DeviceFacts facts{};
  const VkPhysicalDeviceLimits& limits = properties.properties.limits;
  std::memcpy(facts.deviceName, properties.properties.deviceName, sizeof facts.deviceName);
  std::memcpy(facts.driverName, driver.driverName, sizeof facts.driverName);
  std::memcpy(facts.driverInfo, driver.driverInfo, sizeof facts.driverInfo);
  facts.vendorId = properties.properties.vendorID;
  facts.deviceId = properties.properties.deviceID;
  facts.driverVersion = properties.properties.driverVersion;
  facts.apiVersion = version;
  facts.deviceType = static_cast<uint32_t>(properties.properties.deviceType);
  facts.subgroupSize = subgroup.subgroupSize;
  facts.subgroupOperations =
      (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 ? subgroup.supportedOperations : 0;
  facts.minSubgroupSize = version >= VK_API_VERSION_1_3 ? sizes.minSubgroupSize : subgroup.subgroupSize;
  facts.maxSubgroupSize = version >= VK_API_VERSION_1_3 ? sizes.maxSubgroupSize : subgroup.subgroupSize;
  facts.subgroupSizeControl = enabled.subgroupSizeControl;
  facts.maxComputeSharedMemorySize = limits.maxComputeSharedMemorySize;
  facts.maxComputeWorkGroupInvocations = limits.maxComputeWorkGroupInvocations;
  std::copy_n(limits.maxComputeWorkGroupSize, 3, facts.maxComputeWorkGroupSize);
  std::copy_n(limits.maxComputeWorkGroupCount, 3, facts.maxComputeWorkGroupCount);
  facts.maxPushConstantsSize = limits.maxPushConstantsSize;
  facts.maxStorageBufferRange = limits.maxStorageBufferRange;
  facts.maxBufferSize = version >= VK_API_VERSION_1_3 ? maintenance4.maxBufferSize : 0;
  facts.maxMemoryAllocationSize = maintenance3.maxMemoryAllocationSize;
  facts.timestampPeriod = limits.timestampPeriod;
  facts.bufferDeviceAddress = enabled.bufferDeviceAddress;
  facts.shaderInt64 = enabled.shaderInt64;
  facts.storageBuffer8BitAccess = enabled.storageBuffer8BitAccess;
  facts.storageBuffer16BitAccess = enabled.storageBuffer16BitAccess;
  facts.shaderFloat16 = enabled.shaderFloat16;
  facts.signedZeroInfNanPreserveFloat32 = floats.shaderSignedZeroInfNanPreserveFloat32;
  facts.pipelineExecutableProperties = enabled.pipelineExecutableInfo;
  return facts;
}

bool hasNativeAccess(const DeviceFacts& facts) {
  return facts.shaderInt64 && facts.storageBuffer8BitAccess && facts.storageBuffer16BitAccess &&
         facts.signedZeroInfNanPreserveFloat32 &&
         (facts.subgroupOperations & VK_SUBGROUP_FEATURE_VOTE_BIT) != 0;
}

}  // namespace saccade::core
