// SPDX-License-Identifier: Apache-2.0
#include "inspect/logical_device.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace saccade::inspect {
namespace {

template <class Function>
Function load(const DeviceHandles& handles, const char* name) {
  return reinterpret_cast<Function>(handles.getInstanceProcAddr(handles.instance, name));
}

bool hasExtension(const DeviceHandles& handles, const char* name) {
  const auto enumerate =
      load<PFN_vkEnumerateDeviceExtensionProperties>(handles, "vkEnumerateDeviceExtensionProperties");
  uint32_t count = 0;
  enumerate(handles.physicalDevice, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  enumerate(handles.physicalDevice, nullptr, &count, extensions.data());
  for (const VkExtensionProperties& extension : extensions) {
    if (std::strcmp(extension.extensionName, name) == 0) return true;
  }
  return false;
}

bool hasPipelineExecutableInfo(const DeviceHandles& handles) {
  if (!hasExtension(handles, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) return false;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &executables};
  load<PFN_vkGetPhysicalDeviceFeatures2>(handles, "vkGetPhysicalDeviceFeatures2")(handles.physicalDevice, &features);
  return executables.pipelineExecutableInfo == VK_TRUE;
}

}  // namespace

LogicalDevice::LogicalDevice(const Device& opened, Access access, Driver driver) {
  const DeviceHandles handles = opened.handles();
  VkPhysicalDeviceVulkan12Features required{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  required.bufferDeviceAddress = VK_TRUE;
  VkPhysicalDeviceFeatures2 portable{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &required};
  const VkPhysicalDeviceFeatures2* features = access == Access::Native ? handles.enabledFeatures : &portable;

  std::vector<const char*> extensions(handles.enabledExtensions.begin(), handles.enabledExtensions.end());
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      const_cast<VkPhysicalDeviceFeatures2*>(features), VK_TRUE};
  statistics_ = hasPipelineExecutableInfo(handles);
  if (statistics_) extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = handles.queueFamily;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = statistics_ ? static_cast<const void*>(&executables) : features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult result =
      load<PFN_vkCreateDevice>(handles, "vkCreateDevice")(handles.physicalDevice, &info, nullptr, &device_);
  if (result != VK_SUCCESS) throw std::runtime_error("vkCreateDevice failed with VkResult " + std::to_string(result));
  destroy_ = load<PFN_vkDestroyDevice>(handles, "vkDestroyDevice");

  watch_.emplace(handles.instance, device_, handles.getInstanceProcAddr, statistics_, driver);
  context_.emplace(ContextDesc{.apiVersion = handles.apiVersion,
                               .instance = handles.instance,
                               .physicalDevice = handles.physicalDevice,
                               .device = device_,
                               .getInstanceProcAddr = PipelineWatch::entry(),
                               .enabledFeatures = features,
                               .enabledExtensions = extensions});
}

LogicalDevice::~LogicalDevice() {
  context_.reset();
  watch_.reset();
  destroy_(device_, nullptr);
}

}  // namespace saccade::inspect
