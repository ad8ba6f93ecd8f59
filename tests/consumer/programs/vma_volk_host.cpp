// SPDX-License-Identifier: Apache-2.0
// A host with an implementation of VMA of its own, with volk, and with the Vulkan loader on its command line. Saccade's
// runtime, which contains another VMA and the same functions of Vulkan, must neither use nor replace any of them.
#include <cstdio>
#include <cstdlib>

#include <volk.h>

#include "attention.hpp"

// The host's VMA counts its calls.
static int vmaCalls = 0;
#define VMA_DEBUG_LOG_FORMAT(format, ...) ++vmaCalls
#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#include <vk_mem_alloc.h>

namespace {

void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "%s failed with VkResult %d\n", what, static_cast<int>(result));
  std::exit(1);
}

// Makes a buffer in the host's own VMA.
void useVma(VkInstance instance, VkPhysicalDevice physicalDevice, VkDevice device) {
  VmaVulkanFunctions functions{};
  functions.vkGetInstanceProcAddr = vkGetInstanceProcAddr;
  functions.vkGetDeviceProcAddr = vkGetDeviceProcAddr;
  VmaAllocatorCreateInfo info{};
  info.instance = instance;
  info.physicalDevice = physicalDevice;
  info.device = device;
  info.pVulkanFunctions = &functions;
  VmaAllocator allocator = VK_NULL_HANDLE;
  check(vmaCreateAllocator(&info, &allocator), "vmaCreateAllocator");
  VkBufferCreateInfo bufferInfo{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  bufferInfo.size = 4096;
  bufferInfo.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
  VmaAllocationCreateInfo allocationInfo{};
  allocationInfo.usage = VMA_MEMORY_USAGE_AUTO;
  VkBuffer buffer = VK_NULL_HANDLE;
  VmaAllocation allocation = VK_NULL_HANDLE;
  check(vmaCreateBuffer(allocator, &bufferInfo, &allocationInfo, &buffer, &allocation, nullptr), "vmaCreateBuffer");
  vmaDestroyBuffer(allocator, buffer, allocation);
  vmaDestroyAllocator(allocator);
}

}  // namespace

int main() {
  check(volkInitialize(), "volkInitialize");
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo instanceInfo{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  instanceInfo.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  check(vkCreateInstance(&instanceInfo, nullptr, &instance), "vkCreateInstance");
  volkLoadInstance(instance);
  std::uint32_t count = 1;
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;
  if (vkEnumeratePhysicalDevices(instance, &count, &physicalDevice) < 0 || count == 0) return 3;
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo deviceInfo{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  deviceInfo.queueCreateInfoCount = 1;
  deviceInfo.pQueueCreateInfos = &queue;
  VkDevice device = VK_NULL_HANDLE;
  check(vkCreateDevice(physicalDevice, &deviceInfo, nullptr, &device), "vkCreateDevice");
  volkLoadDevice(device);

  const auto createBuffer = vkCreateBuffer;
  const auto createInstance = vkCreateInstance;
  useVma(instance, physicalDevice, device);
  const int calls = vmaCalls;
  if (!attentionIsRight()) return 1;
  if (calls == 0 || vmaCalls != calls) {
    std::fprintf(stderr, "the host called its VMA %d times, the runtime %d times\n", calls, vmaCalls - calls);
    return 1;
  }
  useVma(instance, physicalDevice, device);
  if (vkCreateBuffer != createBuffer || vkCreateInstance != createInstance) {
    std::fprintf(stderr, "the runtime changed volk's functions\n");
    return 1;
  }
  if (volkGetLoadedInstance() != instance || volkGetLoadedDevice() != device) {
    std::fprintf(stderr, "the runtime loaded volk for itself\n");
    return 1;
  }
  vkDestroyDevice(device, nullptr);
  vkDestroyInstance(instance, nullptr);
  std::printf("VMA, volk and loader of the host are its own\n");
  return 0;
}
