// SPDX-License-Identifier: Apache-2.0
#include "api/message.hpp"

namespace saccade::core {

void writeMessage(SaccadeMessage* message, SaccadeStatus status, const std::string& field, const std::string& text) {
  if (message == nullptr) return;
  message->status = status;
  copyText(message->field, field);
  copyText(message->text, text);
}

void checkVulkan(VkResult result, const char* what) {
  switch (result) {
    case VK_SUCCESS:
      return;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      throw Refusal(SACCADE_ERROR_OUT_OF_MEMORY, {},
                    formatted("{} failed: out of {} memory", what,
                                result == VK_ERROR_OUT_OF_HOST_MEMORY ? "host" : "device"));
    case VK_ERROR_DEVICE_LOST:
      throw Refusal(SACCADE_ERROR_DEVICE_LOST, {}, formatted("{} failed: the device is lost", what));
    default:
      throw Refusal(SACCADE_ERROR_DRIVER, {},
                    formatted("{} failed with VkResult {}", what, static_cast<int>(result)));
  }
}

}  // namespace saccade::core

const char* saccadeGetStatusName(SaccadeStatus status) {
  switch (status) {
    case SACCADE_OK: return "ok";
    case SACCADE_ERROR_INVALID_ARGUMENT: return "invalid argument";
    case SACCADE_ERROR_UNSUPPORTED: return "unsupported";
    case SACCADE_ERROR_DEVICE_REQUIREMENTS: return "device requirements";
    case SACCADE_ERROR_OUT_OF_MEMORY: return "out of memory";
    case SACCADE_ERROR_DEVICE_LOST: return "device lost";
    case SACCADE_ERROR_DRIVER: return "driver error";
  }
  return "unknown status";
}
