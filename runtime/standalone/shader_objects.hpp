// SPDX-License-Identifier: Apache-2.0
// Pipelines for drivers whose VkPipelineCache keeps nothing, made of shader objects (VK_EXT_shader_object), whose binaries such
// a driver does hand out. Mesa's lavapipe translates SPIR-V for a tenth of a second per pipeline in every process and
// takes a binary in three milliseconds.
//
// What stands here are Vulkan functions of the same names and meaning, as far as the core calls them: a compute pipeline is a
// VkShaderEXT, binding it binds the shader, and a pipeline cache holds binaries. Neither the core nor PipelineCache knows.
#pragma once

#include <cstdint>

#include "standalone/vulkan.hpp"

namespace saccade::runtime {

// Whether a device is better served so: it is one of those drivers and offers the extension.
bool wantsShaderObjects(VkPhysicalDevice physicalDevice);

class ShaderObjects {
 public:
  // `device` has VK_EXT_shader_object and its feature enabled. Both must outlive this.
  ShaderObjects(VkInstance instance, VkPhysicalDevice physicalDevice, VkDevice device, const DeviceFunctions& vk);
  ~ShaderObjects();
  ShaderObjects(const ShaderObjects&) = delete;
  ShaderObjects& operator=(const ShaderObjects&) = delete;

  // For a context: the driver's functions but for those of pipelines.
  static PFN_vkGetInstanceProcAddr entry();
  // For PipelineCache: the device's table with pipeline caches of binaries.
  const DeviceFunctions& table() const { return table_; }

 private:
  VkDevice device_;
  DeviceFunctions table_;
};

}  // namespace saccade::runtime
