// SPDX-License-Identifier: Apache-2.0
// VK_EXT_debug_utils, where the host has enabled it: names of objects and labels of commands for debuggers and profilers.
#pragma once

#include <string>

#include "device/functions.hpp"

namespace saccade::core {

// Without the extension nothing is called and nothing formatted.
class DebugUtils {
 public:
  DebugUtils() = default;
  // Refuses by name if the instance lacks the extension's functions.
  DebugUtils(VkInstance instance, VkDevice device, PFN_vkGetInstanceProcAddr getInstanceProcAddr);

  bool on() const { return setName_ != nullptr; }

  // Thread-safe for different objects. A name that the driver cannot keep is none.
  template <class Handle>
  void name(VkObjectType type, Handle handle, const char* name) const {
    if (on()) setName(type, (uint64_t)handle, name);  // a pointer or, on 32-bit systems, an integer
  }

  // A labelled region of a command buffer, until it goes out of scope.
  class Region {
   public:
    Region(const DebugUtils& utils, VkCommandBuffer commandBuffer, const char* label);
    ~Region();
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

   private:
    const DebugUtils& utils_;
    VkCommandBuffer commandBuffer_;
  };

 private:
  void setName(VkObjectType type, uint64_t handle, const char* name) const;

  VkDevice device_ = VK_NULL_HANDLE;
  PFN_vkSetDebugUtilsObjectNameEXT setName_ = nullptr;
  PFN_vkCmdBeginDebugUtilsLabelEXT begin_ = nullptr;
  PFN_vkCmdEndDebugUtilsLabelEXT end_ = nullptr;
};

}  // namespace saccade::core
