// SPDX-License-Identifier: Apache-2.0
#include "device/requirements.hpp"

namespace saccade::core {
namespace {

const FeatureRequirement kRequirements[] = {
    {"bufferDeviceAddress", "VkPhysicalDeviceVulkan12Features",
     "tensors are passed as device addresses, without descriptor sets", true, &FeatureSet::bufferDeviceAddress},
    {"shaderInt64", "VkPhysicalDeviceFeatures",
     "with 8- and 16-bit storage: native kernels, which form addresses without carries", false,
     &FeatureSet::shaderInt64},
    {"storageBuffer16BitAccess", "VkPhysicalDeviceVulkan11Features",
     "native kernels, which read and write fp16 and bf16 element by element", false,
     &FeatureSet::storageBuffer16BitAccess},
    {"storageBuffer8BitAccess", "VkPhysicalDeviceVulkan12Features",
     "native kernels, which read boolean masks byte by byte", false, &FeatureSet::storageBuffer8BitAccess},
};

}  // namespace

std::span<const FeatureRequirement> featureRequirements() { return kRequirements; }

FeatureSet readFeatures(const VkPhysicalDeviceFeatures2* chain) {
  FeatureSet set;
  if (chain == nullptr) return set;
  set.shaderInt64 = chain->features.shaderInt64;
  for (auto* item = static_cast<const VkBaseInStructure*>(chain->pNext); item != nullptr; item = item->pNext) {
    switch (item->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        set.storageBuffer16BitAccess |=
            reinterpret_cast<const VkPhysicalDeviceVulkan11Features*>(item)->storageBuffer16BitAccess == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
        auto& features = *reinterpret_cast<const VkPhysicalDeviceVulkan12Features*>(item);
        set.bufferDeviceAddress |= features.bufferDeviceAddress == VK_TRUE;
        set.storageBuffer8BitAccess |= features.storageBuffer8BitAccess == VK_TRUE;
        set.shaderFloat16 |= features.shaderFloat16 == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
        set.subgroupSizeControl |=
            reinterpret_cast<const VkPhysicalDeviceVulkan13Features*>(item)->subgroupSizeControl == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        set.bufferDeviceAddress |=
            reinterpret_cast<const VkPhysicalDeviceBufferDeviceAddressFeatures*>(item)->bufferDeviceAddress == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        set.storageBuffer16BitAccess |=
            reinterpret_cast<const VkPhysicalDevice16BitStorageFeatures*>(item)->storageBuffer16BitAccess == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        set.storageBuffer8BitAccess |=
            reinterpret_cast<const VkPhysicalDevice8BitStorageFeatures*>(item)->storageBuffer8BitAccess == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
        set.shaderFloat16 |=
            reinterpret_cast<const VkPhysicalDeviceShaderFloat16Int8Features*>(item)->shaderFloat16 == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES:
        set.subgroupSizeControl |=
            reinterpret_cast<const VkPhysicalDeviceSubgroupSizeControlFeatures*>(item)->subgroupSizeControl == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR:
        set.pipelineExecutableInfo |= reinterpret_cast<const VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR*>(item)
                                          ->pipelineExecutableInfo == VK_TRUE;
        break;
      default:
        break;
    }
  }
  return set;
}

}  // namespace saccade::core
