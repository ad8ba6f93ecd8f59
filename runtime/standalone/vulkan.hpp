// SPDX-License-Identifier: Apache-2.0
// Vulkan as the runtime calls it: the loader's functions through variables of this namespace, device functions through a
// table per device. Both have the names of the functions, but none is a global symbol: a program that contains the runtime may
// link the loader, or a meta-loader that has variables of these names.
#pragma once

#include <vulkan/vulkan_core.h>

namespace saccade::runtime {

#define SACCADE_RUNTIME_LOADER_FUNCTIONS(X) \
  X(vkCreateInstance)                       \
  X(vkEnumerateInstanceExtensionProperties) \
  X(vkEnumerateInstanceLayerProperties)

#define SACCADE_RUNTIME_INSTANCE_FUNCTIONS(X)  \
  X(vkCreateDevice)                            \
  X(vkDestroyInstance)                         \
  X(vkEnumerateDeviceExtensionProperties)      \
  X(vkEnumeratePhysicalDevices)                \
  X(vkGetDeviceProcAddr)                       \
  X(vkGetPhysicalDeviceFeatures2)              \
  X(vkGetPhysicalDeviceProperties)             \
  X(vkGetPhysicalDeviceProperties2)            \
  X(vkGetPhysicalDeviceQueueFamilyProperties)

#define SACCADE_RUNTIME_DEVICE_FUNCTIONS(X) \
  X(vkAllocateCommandBuffers)               \
  X(vkBeginCommandBuffer)                   \
  X(vkCmdCopyBuffer)                        \
  X(vkCmdFillBuffer)                        \
  X(vkCmdPipelineBarrier)                   \
  X(vkCmdResetQueryPool)                    \
  X(vkCmdWriteTimestamp)                    \
  X(vkCreateCommandPool)                    \
  X(vkCreatePipelineCache)                  \
  X(vkCreatePipelineLayout)                 \
  X(vkCreateQueryPool)                      \
  X(vkCreateSemaphore)                      \
  X(vkCreateShadersEXT)                     \
  X(vkDestroyCommandPool)                   \
  X(vkDestroyDevice)                        \
  X(vkDestroyPipelineCache)                 \
  X(vkDestroyQueryPool)                     \
  X(vkDestroySemaphore)                     \
  X(vkDestroyShaderEXT)                     \
  X(vkEndCommandBuffer)                     \
  X(vkGetBufferDeviceAddress)               \
  X(vkGetDeviceQueue)                       \
  X(vkGetPipelineCacheData)                 \
  X(vkGetQueryPoolResults)                  \
  X(vkGetSemaphoreCounterValue)             \
  X(vkGetShaderBinaryDataEXT)               \
  X(vkMergePipelineCaches)                  \
  X(vkQueueSubmit)                          \
  X(vkQueueWaitIdle)                        \
  X(vkResetCommandPool)                     \
  X(vkWaitSemaphores)

extern PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr;
#define X(name) extern PFN_##name name;
SACCADE_RUNTIME_LOADER_FUNCTIONS(X)
SACCADE_RUNTIME_INSTANCE_FUNCTIONS(X)
#undef X

// Functions of extensions that the device has not enabled are null.
struct DeviceFunctions {
#define X(name) PFN_##name name = nullptr;
  SACCADE_RUNTIME_DEVICE_FUNCTIONS(X)
#undef X
};

// Finds the Vulkan loader, once per process. Throws Error DeviceRequirements if there is none.
void loadVulkan();

// Loads the instance functions, once per process: they are the loader's own entry points, which serve every instance.
void loadInstanceFunctions(VkInstance instance);

DeviceFunctions loadDeviceFunctions(VkDevice device);

// Throws Error unless `result` is a success code. `action` completes the sentence "could not ...".
void check(VkResult result, const char* action);

}  // namespace saccade::runtime
