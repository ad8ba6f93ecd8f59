// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "standalone/vulkan.hpp"

namespace saccade::runtime {

// The Vulkan version that our instances ask for. Devices may offer less, down to 1.2.
inline constexpr std::uint32_t kInstanceApiVersion = VK_API_VERSION_1_3;

// A VkInstance and, with validation, the messenger that counts and prints what the layer says.
class Instance {
 public:
  // Throws Error DeviceRequirements: no loader, no driver, or no validation layer where it is asked for.
  explicit Instance(bool validation);
  Instance(Instance&&) noexcept = default;
  Instance& operator=(Instance&&) noexcept = delete;
  ~Instance();

  VkInstance handle() const { return handle_.get(); }
  std::vector<VkPhysicalDevice> physicalDevices() const;
  bool validation() const { return validation_; }
  bool debugUtils() const { return debugUtils_; }  // VK_EXT_debug_utils is enabled
  std::uint64_t validationMessageCount() const { return *messageCount_; }

 private:
  struct Destroy {
    void operator()(VkInstance instance) const;
  };

  bool validation_;
  bool debugUtils_;
  std::unique_ptr<std::atomic<std::uint64_t>> messageCount_;  // on the heap: the messenger holds its address
  std::unique_ptr<VkInstance_T, Destroy> handle_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace saccade::runtime
