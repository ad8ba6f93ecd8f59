// SPDX-License-Identifier: Apache-2.0
#include "device/facts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "api/message.hpp"
#include "device/matrix_facts.hpp"
#include "device/newer_vulkan.hpp"

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

  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties maintenance3{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceMaintenance4Properties maintenance4{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  void** end = &properties.pNext;
  const auto append = [&end](auto& structure) {
    *end = &structure;
    end = &structure.pNext;
  };
  append(subgroup);
  append(maintenance3);
  append(driver);
  append(floats);
  // Structures of Vulkan 1.3 may be chained only where the device offers 1.3 or the extension that they come from.
  const bool vulkan13 = version >= VK_API_VERSION_1_3;
  const bool sizesKnown = vulkan13 || enabled.subgroupSizeControlExtension;
  if (vulkan13) append(maintenance4);
  if (sizesKnown) append(sizes);
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
  const bool rotates = enabled.subgroupRotateExtension || version >= kApiVersion14;
  if (!rotates || !enabled.subgroupRotate) facts.subgroupOperations &= ~uint32_t{VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR};
  if (!rotates || !enabled.subgroupRotateClustered) facts.subgroupOperations &= ~uint32_t{VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR};
  facts.minSubgroupSize = sizesKnown ? sizes.minSubgroupSize : subgroup.subgroupSize;
  facts.maxSubgroupSize = sizesKnown ? sizes.maxSubgroupSize : subgroup.subgroupSize;
  facts.subgroupSizeControl =
      sizesKnown && enabled.subgroupSizeControl && (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  facts.computeFullSubgroups = sizesKnown && enabled.computeFullSubgroups;
  facts.maxComputeWorkgroupSubgroups = sizesKnown ? sizes.maxComputeWorkgroupSubgroups : 0;
  facts.maxComputeSharedMemorySize = limits.maxComputeSharedMemorySize;
  facts.maxComputeWorkGroupInvocations = limits.maxComputeWorkGroupInvocations;
  std::copy_n(limits.maxComputeWorkGroupSize, 3, facts.maxComputeWorkGroupSize);
  std::copy_n(limits.maxComputeWorkGroupCount, 3, facts.maxComputeWorkGroupCount);
  facts.maxPushConstantsSize = limits.maxPushConstantsSize;
  facts.maxStorageBufferRange = limits.maxStorageBufferRange;
  facts.maxBufferSize = vulkan13 ? maintenance4.maxBufferSize : 0;
  facts.maxMemoryAllocationSize = maintenance3.maxMemoryAllocationSize;
  facts.timestampPeriod = limits.timestampPeriod;
  facts.bufferDeviceAddress = enabled.bufferDeviceAddress;
  facts.shaderInt64 = enabled.shaderInt64;
  facts.storageBuffer8BitAccess = enabled.storageBuffer8BitAccess;
  facts.storageBuffer16BitAccess = enabled.storageBuffer16BitAccess;
  facts.shaderFloat16 = enabled.shaderFloat16;
  facts.vulkanMemoryModel = enabled.vulkanMemoryModel;
  facts.maintenance4 = vulkan13 && enabled.maintenance4;
  facts.signedZeroInfNanPreserveFloat32 = floats.shaderSignedZeroInfNanPreserveFloat32;
  facts.pipelineExecutableProperties = enabled.pipelineExecutableInfo;
  queryMatrixFacts(functions, physicalDevice, enabled, facts);
  return facts;
}

bool hasNativeAccess(const DeviceFacts& facts) {
  constexpr uint32_t kNativeOperations = VK_SUBGROUP_FEATURE_VOTE_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                                          VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT;
  return facts.shaderInt64 && facts.storageBuffer8BitAccess && facts.storageBuffer16BitAccess &&
         facts.signedZeroInfNanPreserveFloat32 &&
         (facts.subgroupOperations & kNativeOperations) == kNativeOperations;
}

std::string subgroupSizeRefusal(const DeviceFacts& facts, uint32_t size) {
  if (facts.subgroupSizeControl) {
    if (std::has_single_bit(size) && size >= facts.minSubgroupSize && size <= facts.maxSubgroupSize) return "";
    return formatted("needs subgroups of {} invocations, and this device gives {} to {}", size, facts.minSubgroupSize, facts.maxSubgroupSize);
  }
  if (size == facts.subgroupSize) return "";
  return formatted("needs subgroups of {} invocations, and this device gives {} unless subgroupSizeControl is enabled", size,
                   facts.subgroupSize);
}

}  // namespace saccade::core
