// SPDX-License-Identifier: Apache-2.0
#include "standalone/features.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {
namespace {

constexpr std::string_view kVulkan10 = "VkPhysicalDeviceFeatures";
constexpr std::string_view kVulkan11 = "VkPhysicalDeviceVulkan11Features";
constexpr std::string_view kVulkan12 = "VkPhysicalDeviceVulkan12Features";
constexpr std::string_view kSubgroupSizes = "VkPhysicalDeviceSubgroupSizeControlFeatures";
constexpr std::string_view kMaintenance4 = "VkPhysicalDeviceMaintenance4Features";
constexpr std::string_view kRotate = "VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR";
constexpr std::string_view kMatrix = "VkPhysicalDeviceCooperativeMatrixFeaturesKHR";
constexpr std::string_view kMatrix2 = "VkPhysicalDeviceCooperativeMatrix2FeaturesNV";

// Puts a structure into the chain unless it is there.
template <typename Structure>
void link(VkPhysicalDeviceFeatures2& head, Structure& structure) {
  for (auto* item = static_cast<const VkBaseOutStructure*>(head.pNext); item != nullptr; item = item->pNext) {
    if (item->sType == structure.sType) return;
  }
  structure.pNext = head.pNext;
  head.pNext = &structure;
}

}  // namespace

FeatureChain::FeatureChain() {
  features_.pNext = &vulkan11_;
  vulkan11_.pNext = &vulkan12_;
}

bool FeatureChain::enable(std::string_view structName, std::string_view name) {
  struct Entry {
    std::string_view structName;
    std::string_view name;
    VkBool32* value;
  };
  const Entry entries[] = {
      {kVulkan10, "shaderInt64", &features_.features.shaderInt64},
      {kVulkan11, "storageBuffer16BitAccess", &vulkan11_.storageBuffer16BitAccess},
      {kVulkan12, "storageBuffer8BitAccess", &vulkan12_.storageBuffer8BitAccess},
      {kVulkan12, "shaderFloat16", &vulkan12_.shaderFloat16},
      {kVulkan12, "vulkanMemoryModel", &vulkan12_.vulkanMemoryModel},
      {kVulkan12, "vulkanMemoryModelDeviceScope", &vulkan12_.vulkanMemoryModelDeviceScope},
      {kVulkan12, "bufferDeviceAddress", &vulkan12_.bufferDeviceAddress},
      {kVulkan12, "timelineSemaphore", &vulkan12_.timelineSemaphore},
      {kSubgroupSizes, "subgroupSizeControl", &subgroupSizes_.subgroupSizeControl},
      {kSubgroupSizes, "computeFullSubgroups", &subgroupSizes_.computeFullSubgroups},
      {kMaintenance4, "maintenance4", &maintenance4_.maintenance4},
      {kRotate, "shaderSubgroupRotate", &rotate_.shaderSubgroupRotate},
      {kRotate, "shaderSubgroupRotateClustered", &rotate_.shaderSubgroupRotateClustered},
      {kMatrix, "cooperativeMatrix", &matrix_.cooperativeMatrix},
      {kMatrix2, "cooperativeMatrixFlexibleDimensions", &matrix2_.cooperativeMatrixFlexibleDimensions},
      {kMatrix2, "cooperativeMatrixReductions", &matrix2_.cooperativeMatrixReductions},
      {kMatrix2, "cooperativeMatrixConversions", &matrix2_.cooperativeMatrixConversions},
      {kMatrix2, "cooperativeMatrixPerElementOperations", &matrix2_.cooperativeMatrixPerElementOperations},
      {kMatrix2, "cooperativeMatrixWorkgroupScope", &matrix2_.cooperativeMatrixWorkgroupScope},
      {kMatrix2, "cooperativeMatrixTensorAddressing", &matrix2_.cooperativeMatrixTensorAddressing},
      {kMatrix2, "cooperativeMatrixBlockLoads", &matrix2_.cooperativeMatrixBlockLoads},
  };
  for (const Entry& entry : entries) {
    if (entry.structName != structName || entry.name != name) continue;
    *entry.value = VK_TRUE;
    if (structName == kSubgroupSizes) link(features_, subgroupSizes_);
    if (structName == kMaintenance4) link(features_, maintenance4_);
    if (structName == kRotate) link(features_, rotate_);
    if (structName == kMatrix) link(features_, matrix_);
    if (structName == kMatrix2) link(features_, matrix2_);
    return true;
  }
  return false;
}

std::vector<Requirement> runtimeRequirements(VkInstance instance, VkPhysicalDevice physicalDevice) {
  std::vector<Requirement> requirements = deviceRequirements(instance, physicalDevice, vkGetInstanceProcAddr);
  FeatureChain available;
  vkGetPhysicalDeviceFeatures2(physicalDevice, available.head());
  Requirement timeline{};
  timeline.name = "timelineSemaphore";
  timeline.structName = kVulkan12.data();
  timeline.buys = "the runtime's streams wait for the device with it";
  timeline.required = VK_TRUE;
  timeline.available = available.timelineSemaphore() ? VK_TRUE : VK_FALSE;
  requirements.push_back(timeline);
  return requirements;
}

std::vector<std::string> missingRequirements(std::span<const Requirement> requirements) {
  std::vector<std::string> missing;
  for (const Requirement& item : requirements) {
    if (item.required == VK_TRUE && item.available != VK_TRUE) missing.emplace_back(item.name);
  }
  return missing;
}

std::vector<const char*> enableAvailable(std::span<const Requirement> requirements, FeatureChain& chain) {
  std::vector<const char*> extensions;
  for (const Requirement& item : requirements) {
    const std::string_view structName = item.structName;
    if (item.available != VK_TRUE || structName == "VkApplicationInfo" || structName == "instance extension") continue;
    if (structName == "device extension") {
      extensions.push_back(item.name);
      continue;
    }
    if (!chain.enable(structName, item.name)) {
      throw Error(Status::Unsupported, item.name,
                  formatted("the core asks for feature {} of {}, which this runtime cannot switch on",
                            item.name, structName));
    }
  }
  return extensions;
}

}  // namespace saccade::runtime
