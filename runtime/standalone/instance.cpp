// SPDX-License-Identifier: Apache-2.0
#include "standalone/instance.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <saccade/saccade.hpp>

namespace saccade::runtime {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT /*types*/,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  ++*static_cast<std::atomic<std::uint64_t>*>(user);
  const bool error = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  const char* id = data->pMessageIdName != nullptr ? data->pMessageIdName : "";
  std::fprintf(stderr, "Vulkan validation %s %s: %s\n", error ? "error" : "warning", id, data->pMessage);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messengerInfo(std::atomic<std::uint64_t>* count) {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  // Not "general": that is the loader talking about drivers that it skips.
  info.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = onMessage;
  info.pUserData = count;
  return info;
}

bool layerPresent(const char* name) {
  std::uint32_t count = 0;
  check(vkEnumerateInstanceLayerProperties(&count, nullptr), "list the Vulkan layers");
  std::vector<VkLayerProperties> layers(count);
  check(vkEnumerateInstanceLayerProperties(&count, layers.data()), "list the Vulkan layers");
  return std::any_of(layers.begin(), layers.end(),
                     [&](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

bool extensionPresent(const char* name) {
  std::uint32_t count = 0;
  check(vkEnumerateInstanceExtensionProperties(nullptr, &count, nullptr), "list the instance extensions");
  std::vector<VkExtensionProperties> extensions(count);
  check(vkEnumerateInstanceExtensionProperties(nullptr, &count, extensions.data()),
        "list the instance extensions");
  return std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

}  // namespace

void Instance::Destroy::operator()(VkInstance instance) const { vkDestroyInstance(instance, nullptr); }

Instance::Instance(bool validation)
    : validation_(validation), debugUtils_(validation), messageCount_(std::make_unique<std::atomic<std::uint64_t>>(0)) {
  loadVulkan();
  std::vector<const char*> layers;
  std::vector<const char*> extensions;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  if (extensionPresent(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {  // without it MoltenVK is not listed
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }

  VkDebugUtilsMessengerCreateInfoEXT messenger = messengerInfo(messageCount_.get());
  const VkValidationFeatureEnableEXT synchronisation =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &synchronisation;
  if (validation) {
    if (!layerPresent(kValidationLayer)) {
      throw Error(
          Status::DeviceRequirements, "validation",
          "validation was asked for, but the layer VK_LAYER_KHRONOS_validation is not installed; install it "
          "(Debian and Ubuntu: vulkan-validationlayers) or leave validation off");
    }
    layers.push_back(kValidationLayer);
    extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    features.pNext = &messenger;  // covers vkCreateInstance itself
    info.pNext = &features;
  }

  debugUtils_ = debugUtils_ || extensionPresent(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (debugUtils_) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "saccade";
  application.apiVersion = kInstanceApiVersion;
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<std::uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkInstance created = VK_NULL_HANDLE;
  const VkResult result = vkCreateInstance(&info, nullptr, &created);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    throw Error(
        Status::DeviceRequirements, "",
        "no Vulkan driver was found on this machine; install one (a graphics driver, or mesa-vulkan-drivers "
        "for the CPU)");
  }
  check(result, "create a Vulkan instance");
  loadInstanceFunctions(created);
  handle_.reset(created);

  if (validation) {
    // Not one of the instance functions: the first instance of the process may have been made without the extension.
    const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(created, "vkCreateDebugUtilsMessengerEXT"));
    check(create(created, &messenger, nullptr, &messenger_), "create the validation messenger");
  }
}

Instance::~Instance() {
  if (!handle_ || messenger_ == VK_NULL_HANDLE) return;
  const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(handle(), "vkDestroyDebugUtilsMessengerEXT"));
  destroy(handle(), messenger_, nullptr);
}

std::vector<VkPhysicalDevice> Instance::physicalDevices() const {
  std::uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(handle(), &count, nullptr), "list the Vulkan devices");
  std::vector<VkPhysicalDevice> devices(count);
  check(vkEnumeratePhysicalDevices(handle(), &count, devices.data()), "list the Vulkan devices");
  devices.resize(count);
  return devices;
}

}  // namespace saccade::runtime
