// SPDX-License-Identifier: Apache-2.0
#include "device/debug_utils.hpp"

#include "api/message.hpp"

namespace saccade::core {

DebugUtils::DebugUtils(VkInstance instance, VkDevice device, PFN_vkGetInstanceProcAddr getInstanceProcAddr) : device_(device) {
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(getInstanceProcAddr(instance, name));
    if (function == nullptr) {
      throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, "debugUtils",
                    formatted("debugUtils is VK_TRUE, but {} is missing: enable VK_EXT_debug_utils on the instance or leave it VK_FALSE", name));
    }
  };
  load(setName_, "vkSetDebugUtilsObjectNameEXT");
  load(begin_, "vkCmdBeginDebugUtilsLabelEXT");
  load(end_, "vkCmdEndDebugUtilsLabelEXT");
}

void DebugUtils::setName(VkObjectType type, uint64_t handle, const char* name) const {
  VkDebugUtilsObjectNameInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
  info.objectType = type;
  info.objectHandle = handle;
  info.pObjectName = name;
  setName_(device_, &info);
}

DebugUtils::Region::Region(const DebugUtils& utils, VkCommandBuffer commandBuffer, const char* label)
    : utils_(utils), commandBuffer_(commandBuffer) {
  if (!utils_.on()) return;
  VkDebugUtilsLabelEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT};
  info.pLabelName = label;
  utils_.begin_(commandBuffer_, &info);
}

DebugUtils::Region::~Region() {
  if (utils_.on()) utils_.end_(commandBuffer_);
}

}  // namespace saccade::core
