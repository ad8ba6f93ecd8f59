// SPDX-License-Identifier: Apache-2.0
#include "standalone/features.hpp"

#include <fmt/format.h>

namespace saccade::runtime {
namespace {

constexpr std::string_view kVulkan10 = "VkPhysicalDeviceFeatures";
constexpr std::string_view kVulkan11 = "VkPhysicalDeviceVulkan11Features";
constexpr std::string_view kVulkan12 = "VkPhysicalDeviceVulkan12Features";

}  // namespace

FeatureChain::FeatureChain() {
  features_.pNext = &vulkan11_;
  vulkan11_.pNext = &vulkan12_;
}

VkBool32* FeatureChain::find(std::string_view structName, std::string_view name) {
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
      {kVulkan12, "bufferDeviceAddress", &vulkan12_.bufferDeviceAddress},
      {kVulkan12, "timelineSemaphore", &vulkan12_.timelineSemaphore},
  };
  for (const Entry& entry : entries) {
    if (entry.structName == structName && entry.name == name) return entry.value;
  }
  return nullptr;
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
  timeline.available = *available.find(kVulkan12, timeline.name);
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
    VkBool32* feature = chain.find(structName, item.name);
    if (feature == nullptr) {
      throw Error(Status::Unsupported, item.name,
                  fmt::format("the core asks for feature {} of {}, which this runtime cannot switch on",
                              item.name, structName));
    }
    *feature = VK_TRUE;
  }
  return extensions;
}

}  // namespace saccade::runtime
