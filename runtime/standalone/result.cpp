// SPDX-License-Identifier: Apache-2.0
#include "standalone/vulkan.hpp"
#include "text/formatted.hpp"

#include <string>

#include <saccade/saccade.hpp>

namespace saccade::runtime {
namespace {

std::string resultName(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED: return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FRAGMENTATION: return "VK_ERROR_FRAGMENTATION";
    case VK_ERROR_UNKNOWN: return "VK_ERROR_UNKNOWN";
    default: return formatted("VkResult {}", static_cast<int>(result));
  }
}

Status statusOf(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_MEMORY_MAP_FAILED: return Status::OutOfMemory;
    case VK_ERROR_DEVICE_LOST: return Status::DeviceLost;
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_INCOMPATIBLE_DRIVER: return Status::DeviceRequirements;
    default: return Status::Driver;
  }
}

}  // namespace

void check(VkResult result, const char* action) {
  if (result >= VK_SUCCESS) return;
  if (result == VK_ERROR_DEVICE_LOST) {
    throw Error(
        Status::DeviceLost, "",
        formatted("the device was lost (could not {}); this device and everything made from it are of no "
                  "further use: open it again",
                  action));
  }
  throw Error(statusOf(result), "", formatted("could not {}: {}", action, resultName(result)));
}

}  // namespace saccade::runtime
