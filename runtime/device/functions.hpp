// SPDX-License-Identifier: Apache-2.0
// The Vulkan functions that the core calls, loaded through the host's vkGetInstanceProcAddr and nothing else.
#pragma once

#include <vulkan/vulkan_core.h>

#include "device/newer_vulkan.hpp"

namespace saccade::core {

#define SACCADE_INSTANCE_FUNCTIONS(X)      \
  X(vkEnumerateDeviceExtensionProperties)  \
  X(vkGetDeviceProcAddr)                   \
  X(vkGetPhysicalDeviceFeatures2)          \
  X(vkGetPhysicalDeviceMemoryProperties)   \
  X(vkGetPhysicalDeviceProperties)         \
  X(vkGetPhysicalDeviceProperties2)

// Of extensions: null where the loader or the device lacks them.
#define SACCADE_OPTIONAL_INSTANCE_FUNCTIONS(X)                                  \
  X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)                          \
  X(vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)

#define SACCADE_DEVICE_FUNCTIONS(X) \
  X(vkAllocateMemory)               \
  X(vkBindBufferMemory)             \
  X(vkCmdBindPipeline)              \
  X(vkCmdDispatch)                  \
  X(vkCmdPipelineBarrier)           \
  X(vkCmdPushConstants)             \
  X(vkCreateBuffer)                 \
  X(vkCreateComputePipelines)       \
  X(vkCreatePipelineLayout)         \
  X(vkCreateShaderModule)           \
  X(vkDestroyBuffer)                \
  X(vkDestroyPipeline)              \
  X(vkDestroyPipelineLayout)        \
  X(vkDestroyShaderModule)          \
  X(vkFreeMemory)                   \
  X(vkGetBufferDeviceAddress)       \
  X(vkGetBufferMemoryRequirements)  \
  X(vkMapMemory)

struct InstanceFunctions {
#define X(name) PFN_##name name = nullptr;
  SACCADE_INSTANCE_FUNCTIONS(X)
  SACCADE_OPTIONAL_INSTANCE_FUNCTIONS(X)
#undef X
};

struct DeviceFunctions {
#define X(name) PFN_##name name = nullptr;
  SACCADE_DEVICE_FUNCTIONS(X)
#undef X
};

// Both refuse by name if the loader lacks a function that is not optional.
InstanceFunctions loadInstanceFunctions(VkInstance instance, PFN_vkGetInstanceProcAddr getInstanceProcAddr);
DeviceFunctions loadDeviceFunctions(VkDevice device, PFN_vkGetDeviceProcAddr getDeviceProcAddr);

}  // namespace saccade::core
