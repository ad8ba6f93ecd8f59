// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/gpu.hpp"

namespace example {

void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + " failed with VkResult " + std::to_string(result));
}

namespace {

[[noreturn]] void failGlfw(const std::string& what) {
  const char* reason = nullptr;
  glfwGetError(&reason);
  throw std::runtime_error(what + (reason != nullptr ? std::string(": ") + reason : std::string()));
}

// The first queue family that can compute, draw and present with timestamps.
bool findQueueFamily(VkPhysicalDevice device, VkSurfaceKHR surface, std::uint32_t& family) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (family = 0; family < count; ++family) {
    constexpr VkQueueFlags kWanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    VkBool32 presents = VK_FALSE;
    check(vkGetPhysicalDeviceSurfaceSupportKHR(device, family, surface, &presents), "vkGetPhysicalDeviceSurfaceSupportKHR");
    if ((families[family].queueFlags & kWanted) == kWanted && presents && families[family].timestampValidBits > 0) return true;
  }
  return false;
}

bool contains(const std::vector<VkExtensionProperties>& extensions, std::string_view name) {
  return std::ranges::any_of(extensions, [name](const auto& extension) { return extension.extensionName == name; });
}

bool hasSwapchain(VkPhysicalDevice device) {
  std::uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr), "vkEnumerateDeviceExtensionProperties");
  std::vector<VkExtensionProperties> available(count);
  check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, available.data()), "vkEnumerateDeviceExtensionProperties");
  return contains(available, VK_KHR_SWAPCHAIN_EXTENSION_NAME);
}

}  // namespace

Gpu::Gpu(const char* title, int width, int height) {
  try {
    if (!glfwInit()) failGlfw("no window system");
    atEnd([] { glfwTerminate(); });
    if (!glfwVulkanSupported()) throw std::runtime_error("GLFW finds no Vulkan loader");
    countCalls(reinterpret_cast<PFN_vkGetInstanceProcAddr>(glfwGetInstanceProcAddress(nullptr, "vkGetInstanceProcAddr")));
    volkInitializeCustom(countedProcAddr);
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    window = glfwCreateWindow(width, height, title, nullptr, nullptr);
    if (window == nullptr) failGlfw("no window");
    atEnd([this] { glfwDestroyWindow(window); });
    createInstance();
    choosePhysicalDevice();
    createDevice();
    createLayouts();
  } catch (...) {
    while (!atEnd_.empty()) {
      atEnd_.back()();
      atEnd_.pop_back();
    }
    throw;
  }
}

Gpu::~Gpu() {
  vkDeviceWaitIdle(device);
  while (!atEnd_.empty()) {
    atEnd_.back()();
    atEnd_.pop_back();
  }
}

void Gpu::createInstance() {
  std::uint32_t count = 0;
  const char** required = glfwGetRequiredInstanceExtensions(&count);
  if (required == nullptr) failGlfw("Vulkan cannot present to this window system");
  std::vector<const char*> extensions(required, required + count);
  check(vkEnumerateInstanceExtensionProperties(nullptr, &count, nullptr), "vkEnumerateInstanceExtensionProperties");
  std::vector<VkExtensionProperties> available(count);
  check(vkEnumerateInstanceExtensionProperties(nullptr, &count, available.data()), "vkEnumerateInstanceExtensionProperties");
  debugUtils = contains(available, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (debugUtils) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application,
                                     .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                     .ppEnabledExtensionNames = extensions.data()};
  check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
  volkLoadInstance(instance);
  atEnd([this] { vkDestroyInstance(instance, nullptr); });
  check(glfwCreateWindowSurface(instance, window, nullptr, &surface), "glfwCreateWindowSurface");
  atEnd([this] { vkDestroySurfaceKHR(instance, surface, nullptr); });
}

void Gpu::choosePhysicalDevice() {
  std::uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(vkEnumeratePhysicalDevices(instance, &count, devices.data()), "vkEnumeratePhysicalDevices");
  for (VkPhysicalDevice candidate : devices) {
    vkGetPhysicalDeviceProperties(candidate, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_3 || !hasSwapchain(candidate)) continue;
    if (!findQueueFamily(candidate, surface, queueFamily)) continue;
    physicalDevice = candidate;
    return;
  }
  throw std::runtime_error("none of the " + std::to_string(count) + " Vulkan devices has Vulkan 1.3 and a queue that computes, "
                           "draws into this window and has timestamps");
}

void Gpu::createDevice() {
  VkPhysicalDeviceVulkan12Features has12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan11Features has11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &has12};
  VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has11};
  vkGetPhysicalDeviceFeatures2(physicalDevice, &has);

  features13_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .synchronization2 = VK_TRUE,
                 .dynamicRendering = VK_TRUE};
  features12_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &features13_,
                 .storageBuffer8BitAccess = has12.storageBuffer8BitAccess, .bufferDeviceAddress = VK_TRUE};
  features11_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &features12_,
                 .storageBuffer16BitAccess = has11.storageBuffer16BitAccess};
  features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features11_};
  features.features.shaderInt64 = has.features.shaderInt64;

  const float priority = 1.0f;
  const VkDeviceQueueCreateInfo queueInfo = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                             .queueFamilyIndex = queueFamily, .queueCount = 1, .pQueuePriorities = &priority};
  const char* const extension = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features, .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queueInfo, .enabledExtensionCount = 1,
                                   .ppEnabledExtensionNames = &extension};
  check(vkCreateDevice(physicalDevice, &info, nullptr, &device), "vkCreateDevice");
  volkLoadDevice(device);
  atEnd([this] { vkDestroyDevice(device, nullptr); });
  vkGetDeviceQueue(device, queueFamily, 0, &queue);

  const VmaVulkanFunctions functions = {.vkGetInstanceProcAddr = vkGetInstanceProcAddr,
                                        .vkGetDeviceProcAddr = vkGetDeviceProcAddr};
  const VmaAllocatorCreateInfo allocatorInfo = {.flags = VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT,
                                                .physicalDevice = physicalDevice, .device = device,
                                                .pVulkanFunctions = &functions, .instance = instance,
                                                .vulkanApiVersion = VK_API_VERSION_1_3};
  check(vmaCreateAllocator(&allocatorInfo, &allocator_), "vmaCreateAllocator");
  atEnd([this] { vmaDestroyAllocator(allocator_); });

  const VkCommandPoolCreateInfo poolInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                            .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                            .queueFamilyIndex = queueFamily};
  check(vkCreateCommandPool(device, &poolInfo, nullptr, &commandPool), "vkCreateCommandPool");
  atEnd([this] { vkDestroyCommandPool(device, commandPool, nullptr); });

  std::uint32_t count = 0;
  check(vkGetPhysicalDeviceSurfaceFormatsKHR(physicalDevice, surface, &count, nullptr), "vkGetPhysicalDeviceSurfaceFormatsKHR");
  std::vector<VkSurfaceFormatKHR> formats(count);
  check(vkGetPhysicalDeviceSurfaceFormatsKHR(physicalDevice, surface, &count, formats.data()),
        "vkGetPhysicalDeviceSurfaceFormatsKHR");
  for (const VkSurfaceFormatKHR& format : formats) {
    if (format.format == VK_FORMAT_B8G8R8A8_UNORM || format.format == VK_FORMAT_R8G8B8A8_UNORM) surfaceFormat = format;
  }
  if (surfaceFormat.format == VK_FORMAT_UNDEFINED) throw std::runtime_error("the window has no format of four 8-bit channels");
}

}  // namespace example
