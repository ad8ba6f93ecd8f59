// SPDX-License-Identifier: Apache-2.0
// What Saccade uses of Vulkan beyond the oldest headers that it builds with (1.3.275), as the registry has it.
#pragma once

#include <vulkan/vulkan_core.h>

namespace saccade {

inline constexpr uint32_t kApiVersion14 = VK_MAKE_API_VERSION(0, 1, 4, 0);

// Of VK_KHR_shader_bfloat16 and VK_EXT_shader_float8.
inline constexpr uint32_t kComponentTypeBfloat16 = 1000141000;
inline constexpr uint32_t kComponentTypeFloat8E4M3 = 1000491002;
inline constexpr uint32_t kComponentTypeFloat8E5M2 = 1000491003;

}  // namespace saccade

#ifndef VK_KHR_shader_subgroup_rotate
#define VK_KHR_shader_subgroup_rotate 1
#define VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME "VK_KHR_shader_subgroup_rotate"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR static_cast<VkStructureType>(1000416000)
#define VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR static_cast<VkSubgroupFeatureFlagBits>(0x200)
#define VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR static_cast<VkSubgroupFeatureFlagBits>(0x400)

struct VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderSubgroupRotate;
  VkBool32 shaderSubgroupRotateClustered;
};
#endif

#ifndef VK_NV_cooperative_matrix2
#define VK_NV_cooperative_matrix2 1
#define VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME "VK_NV_cooperative_matrix2"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV static_cast<VkStructureType>(1000593000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV static_cast<VkStructureType>(1000593001)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV static_cast<VkStructureType>(1000593002)

struct VkPhysicalDeviceCooperativeMatrix2FeaturesNV {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrixWorkgroupScope;
  VkBool32 cooperativeMatrixFlexibleDimensions;
  VkBool32 cooperativeMatrixReductions;
  VkBool32 cooperativeMatrixConversions;
  VkBool32 cooperativeMatrixPerElementOperations;
  VkBool32 cooperativeMatrixTensorAddressing;
  VkBool32 cooperativeMatrixBlockLoads;
};

struct VkPhysicalDeviceCooperativeMatrix2PropertiesNV {
  VkStructureType sType;
  void* pNext;
  uint32_t cooperativeMatrixWorkgroupScopeMaxWorkgroupSize;
  uint32_t cooperativeMatrixFlexibleDimensionsMaxDimension;
  uint32_t cooperativeMatrixWorkgroupScopeReservedSharedMemory;
};

struct VkCooperativeMatrixFlexibleDimensionsPropertiesNV {
  VkStructureType sType;
  void* pNext;
  uint32_t MGranularity;
  uint32_t NGranularity;
  uint32_t KGranularity;
  VkComponentTypeKHR AType;
  VkComponentTypeKHR BType;
  VkComponentTypeKHR CType;
  VkComponentTypeKHR ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
  uint32_t workgroupInvocations;
};

typedef VkResult(VKAPI_PTR* PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)(
    VkPhysicalDevice physicalDevice, uint32_t* pPropertyCount, VkCooperativeMatrixFlexibleDimensionsPropertiesNV* pProperties);
#endif
