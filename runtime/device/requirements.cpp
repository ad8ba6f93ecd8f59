// SPDX-License-Identifier: Apache-2.0
#include "device/requirements.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "api/message.hpp"

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
    {"apiVersion 1.3", "VkApplicationInfo", "the statistics of a context know which pipelines were found in the pipeline cache", false,
     &FeatureSet::vulkan13},
    {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, "instance extension",
     "names of objects and labels of commands in debuggers, profilers and validation messages", false, &FeatureSet::debugUtils},
};

bool instanceExtensionPresent(PFN_vkGetInstanceProcAddr getInstanceProcAddr, std::string_view name) {
  const auto enumerate = reinterpret_cast<PFN_vkEnumerateInstanceExtensionProperties>(
      getInstanceProcAddr(VK_NULL_HANDLE, "vkEnumerateInstanceExtensionProperties"));
  uint32_t count = 0;
  if (enumerate == nullptr || enumerate(nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (enumerate(nullptr, &count, extensions.data()) < 0) return false;
  extensions.resize(count);
  return std::any_of(extensions.begin(), extensions.end(), [&](const auto& extension) { return extension.extensionName == name; });
}

}  // namespace

std::span<const FeatureRequirement> featureRequirements() { return kRequirements; }

FeatureSet availableFeatures(const InstanceFunctions& functions, VkPhysicalDevice physicalDevice,
                             PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
  VkPhysicalDeviceProperties properties{};
  functions.vkGetPhysicalDeviceProperties(physicalDevice, &properties);
  if (properties.apiVersion < VK_API_VERSION_1_2) {
    throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, "apiVersion",
                  formatted("{} offers Vulkan {}.{}; 1.2 is required", properties.deviceName,
                              VK_API_VERSION_MAJOR(properties.apiVersion), VK_API_VERSION_MINOR(properties.apiVersion)));
  }
  VkPhysicalDeviceVulkan12Features vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan11Features vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &vulkan12};
  VkPhysicalDeviceFeatures2 chain{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &vulkan11};
  functions.vkGetPhysicalDeviceFeatures2(physicalDevice, &chain);
  FeatureSet set = readFeatures(&chain);
  set.vulkan13 = properties.apiVersion >= VK_API_VERSION_1_3;
  set.debugUtils = instanceExtensionPresent(getInstanceProcAddr, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  return set;
}

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
