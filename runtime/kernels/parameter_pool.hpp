// SPDX-License-Identifier: Apache-2.0
// Parameters of plans in device-visible memory. A plan takes one block per dispatch and gives it back when it is
// destroyed; blocks come from chunks, so that the number of Vulkan allocations stays small.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "device/debug_utils.hpp"
#include "device/functions.hpp"

namespace saccade::core {

class ParameterPool {
 public:
  static constexpr size_t kBlockBytes = 256;

  ParameterPool(const InstanceFunctions& instanceFunctions, const DeviceFunctions& functions,
                VkPhysicalDevice physicalDevice, VkDevice device, const VkAllocationCallbacks* callbacks,
                const DebugUtils& debugUtils);
  ~ParameterPool();
  ParameterPool(const ParameterPool&) = delete;
  ParameterPool& operator=(const ParameterPool&) = delete;

  // Copies at most kBlockBytes into a free block and returns its device address. Thread-safe.
  VkDeviceAddress store(std::span<const std::byte> bytes);

  // No submitted work may still read the block. Thread-safe.
  void release(VkDeviceAddress address) noexcept;

 private:
  struct Chunk {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::byte* data = nullptr;
    VkDeviceAddress address = 0;
  };

  void addChunk();
  void destroy(const Chunk& chunk) noexcept;
  uint32_t memoryType(uint32_t allowed) const;

  const DeviceFunctions& functions_;
  VkPhysicalDeviceMemoryProperties memory_{};
  VkDevice device_;
  const VkAllocationCallbacks* callbacks_;
  const DebugUtils& debugUtils_;
  std::mutex mutex_;
  std::vector<Chunk> chunks_;
  std::vector<VkDeviceAddress> free_;
};

}  // namespace saccade::core
