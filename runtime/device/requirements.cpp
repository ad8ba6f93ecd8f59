// SPDX-License-Identifier: Apache-2.0
#include "device/requirements.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "api/message.hpp"

namespace saccade::core {
namespace {

constexpr const char* kMatrix2Features = "VkPhysicalDeviceCooperativeMatrix2FeaturesNV";
constexpr const char* kRotateFeatures = "VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR";
constexpr const char* kRotateBuys = "attention without matrix units reads shared memory a third as often";

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
    {"shaderFloat16", "VkPhysicalDeviceVulkan12Features", "fp16 in registers: kernels on matrix units", false,
     &FeatureSet::shaderFloat16},
    {"vulkanMemoryModel", "VkPhysicalDeviceVulkan12Features", "kernels on matrix units, whose memory accesses name a scope", false,
     &FeatureSet::vulkanMemoryModel},
    {"vulkanMemoryModelDeviceScope", "VkPhysicalDeviceVulkan12Features",
     "atomics of the other kernels, where vulkanMemoryModel is enabled", false, &FeatureSet::vulkanMemoryModelDeviceScope},
    {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, "device extension", "attention and matmul on matrix units", false,
     &FeatureSet::cooperativeMatrixExtension},
    {"cooperativeMatrix", "VkPhysicalDeviceCooperativeMatrixFeaturesKHR", "attention and matmul on matrix units", false,
     &FeatureSet::cooperativeMatrix},
    {VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, "device extension",
     "subgroupSizeControl where instance or device are older than Vulkan 1.3", false, &FeatureSet::subgroupSizeControlExtension},
    {"subgroupSizeControl", "VkPhysicalDeviceSubgroupSizeControlFeatures",
     "kernels on matrix units run in subgroups of the size that suits them", false, &FeatureSet::subgroupSizeControl},
    {"computeFullSubgroups", "VkPhysicalDeviceSubgroupSizeControlFeatures",
     "the driver need not expect subgroups with invocations left out", false, &FeatureSet::computeFullSubgroups},
    {VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME, "device extension", "the two below where the device is older than Vulkan 1.4", false,
     &FeatureSet::subgroupRotateExtension},
    {"shaderSubgroupRotate", kRotateFeatures, kRotateBuys, false, &FeatureSet::subgroupRotate},
    {"shaderSubgroupRotateClustered", kRotateFeatures, kRotateBuys, false, &FeatureSet::subgroupRotateClustered},
    {"maintenance4", "VkPhysicalDeviceMaintenance4Features",
     "kernels on VK_NV_cooperative_matrix2, whose modules are of SPIR-V 1.6", false, &FeatureSet::maintenance4},
    {VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME, "device extension", "attention whose scores stay in matrices", false,
     &FeatureSet::cooperativeMatrix2Extension},
    {"cooperativeMatrixFlexibleDimensions", kMatrix2Features, "larger tiles of attention", false,
     &FeatureSet::cooperativeMatrixFlexibleDimensions},
    {"cooperativeMatrixReductions", kMatrix2Features, "maxima of score rows without shared memory", false,
     &FeatureSet::cooperativeMatrixReductions},
    {"cooperativeMatrixConversions", kMatrix2Features, "probabilities become operands without shared memory", false,
     &FeatureSet::cooperativeMatrixConversions},
    {"cooperativeMatrixPerElementOperations", kMatrix2Features, "masks without shared memory", false,
     &FeatureSet::cooperativeMatrixPerElementOperations},
    {"cooperativeMatrixWorkgroupScope", kMatrix2Features, "tiles of a whole work-group", false,
     &FeatureSet::cooperativeMatrixWorkgroupScope},
    {"cooperativeMatrixTensorAddressing", kMatrix2Features, "tiles are read and written through tensor layouts", false,
     &FeatureSet::cooperativeMatrixTensorAddressing},
    {"cooperativeMatrixBlockLoads", kMatrix2Features, "tiles are decoded while they are read", false,
     &FeatureSet::cooperativeMatrixBlockLoads},
    {"apiVersion 1.3", "VkApplicationInfo", "the statistics of a context know which pipelines were found in the pipeline cache", false,
     &FeatureSet::vulkan13},
    {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, "instance extension",
     "names of objects and labels of commands in debuggers, profilers and validation messages", false, &FeatureSet::debugUtils},
};

std::vector<VkExtensionProperties> deviceExtensions(const InstanceFunctions& functions, VkPhysicalDevice physicalDevice) {
  uint32_t count = 0;
  if (functions.vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> extensions(count);
  if (functions.vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count, extensions.data()) < 0) return {};
  extensions.resize(count);
  return extensions;
}

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
  const std::vector<VkExtensionProperties> extensions = deviceExtensions(functions, physicalDevice);
  std::vector<const char*> names;
  for (const VkExtensionProperties& extension : extensions) names.push_back(extension.extensionName);
  // A driver leaves structures that it does not know as they are.
  VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR rotate{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR};
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV, &rotate};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, &matrix2};
  VkPhysicalDeviceMaintenance4Features maintenance4{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES, &matrix};
  VkPhysicalDeviceSubgroupSizeControlFeatures sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, &maintenance4};
  VkPhysicalDeviceVulkan12Features vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &sizes};
  VkPhysicalDeviceVulkan11Features vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &vulkan12};
  VkPhysicalDeviceFeatures2 chain{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &vulkan11};
  functions.vkGetPhysicalDeviceFeatures2(physicalDevice, &chain);
  FeatureSet set = readFeatures(&chain, names);
  // With the one and not the other, atomics on buffers are not allowed (VUID-RuntimeSpirv-vulkanMemoryModel-06265).
  if (!set.vulkanMemoryModelDeviceScope) set.vulkanMemoryModel = false;
  // Kernels on VK_NV_cooperative_matrix2 choose sizes. Where a device offers the rest of it alone, the layers take its largest size,
  // which is 0 there, for a limit of all matrices.
  if (!set.cooperativeMatrixFlexibleDimensions) {
    set.cooperativeMatrix2Extension = set.cooperativeMatrixReductions = set.cooperativeMatrixConversions = false;
    set.cooperativeMatrixPerElementOperations = set.cooperativeMatrixWorkgroupScope = false;
    set.cooperativeMatrixTensorAddressing = set.cooperativeMatrixBlockLoads = false;
  }
  set.vulkan13 = properties.apiVersion >= VK_API_VERSION_1_3;
  set.debugUtils = instanceExtensionPresent(getInstanceProcAddr, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  return set;
}

FeatureSet readFeatures(const VkPhysicalDeviceFeatures2* chain, std::span<const char* const> extensions) {
  FeatureSet set;
  for (const std::string_view extension : extensions) {
    set.cooperativeMatrixExtension |= extension == VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    set.cooperativeMatrix2Extension |= extension == VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME;
    set.subgroupSizeControlExtension |= extension == VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    set.subgroupRotateExtension |= extension == VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME;
  }
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
        set.vulkanMemoryModel |= features.vulkanMemoryModel == VK_TRUE;
        set.vulkanMemoryModelDeviceScope |= features.vulkanMemoryModelDeviceScope == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
        auto& features = *reinterpret_cast<const VkPhysicalDeviceVulkan13Features*>(item);
        set.subgroupSizeControl |= features.subgroupSizeControl == VK_TRUE;
        set.computeFullSubgroups |= features.computeFullSubgroups == VK_TRUE;
        set.maintenance4 |= features.maintenance4 == VK_TRUE;
        break;
      }
#ifdef VK_API_VERSION_1_4
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES: {
        auto& features = *reinterpret_cast<const VkPhysicalDeviceVulkan14Features*>(item);
        set.subgroupRotate |= features.shaderSubgroupRotate == VK_TRUE;
        set.subgroupRotateClustered |= features.shaderSubgroupRotateClustered == VK_TRUE;
        break;
      }
#endif
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
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
        auto& features = *reinterpret_cast<const VkPhysicalDeviceVulkanMemoryModelFeatures*>(item);
        set.vulkanMemoryModel |= features.vulkanMemoryModel == VK_TRUE;
        set.vulkanMemoryModelDeviceScope |= features.vulkanMemoryModelDeviceScope == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES:
        set.maintenance4 |= reinterpret_cast<const VkPhysicalDeviceMaintenance4Features*>(item)->maintenance4 == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
        auto& features = *reinterpret_cast<const VkPhysicalDeviceSubgroupSizeControlFeatures*>(item);
        set.subgroupSizeControl |= features.subgroupSizeControl == VK_TRUE;
        set.computeFullSubgroups |= features.computeFullSubgroups == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR: {
        auto& features = *reinterpret_cast<const VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR*>(item);
        set.subgroupRotate |= features.shaderSubgroupRotate == VK_TRUE;
        set.subgroupRotateClustered |= features.shaderSubgroupRotateClustered == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR:
        set.cooperativeMatrix |=
            reinterpret_cast<const VkPhysicalDeviceCooperativeMatrixFeaturesKHR*>(item)->cooperativeMatrix == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV: {
        auto& features = *reinterpret_cast<const VkPhysicalDeviceCooperativeMatrix2FeaturesNV*>(item);
        set.cooperativeMatrixFlexibleDimensions |= features.cooperativeMatrixFlexibleDimensions == VK_TRUE;
        set.cooperativeMatrixReductions |= features.cooperativeMatrixReductions == VK_TRUE;
        set.cooperativeMatrixConversions |= features.cooperativeMatrixConversions == VK_TRUE;
        set.cooperativeMatrixPerElementOperations |= features.cooperativeMatrixPerElementOperations == VK_TRUE;
        set.cooperativeMatrixWorkgroupScope |= features.cooperativeMatrixWorkgroupScope == VK_TRUE;
        set.cooperativeMatrixTensorAddressing |= features.cooperativeMatrixTensorAddressing == VK_TRUE;
        set.cooperativeMatrixBlockLoads |= features.cooperativeMatrixBlockLoads == VK_TRUE;
        break;
      }
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
