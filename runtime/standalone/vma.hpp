// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "standalone/vulkan.hpp"

namespace saccade::runtime {

enum class BufferUse {
  Device,   // tensors and scratch
  Staging,  // mapped; read and written by the host
};

using Allocation = struct AllocationOfVma*;

// Memory for buffers, by the Vulkan Memory Allocator. None of its names are visible outside vma.cpp: a program may
// have a copy of its own, of another version. Thread-safe.
class Allocator {
 public:
  // All of them must outlive it. `apiVersion` is one that both instance and device know.
  Allocator(VkInstance instance, VkPhysicalDevice physicalDevice, VkDevice device, std::uint32_t apiVersion);
  ~Allocator();

  struct PlacedBuffer {
    VkBuffer handle = VK_NULL_HANDLE;
    Allocation allocation = nullptr;
    std::byte* mapped = nullptr;  // Staging only
  };

  // The address is a multiple of 64.
  VkResult createBuffer(const VkBufferCreateInfo& info, BufferUse use, PlacedBuffer& buffer);
  void destroyBuffer(const PlacedBuffer& buffer);
  VkResult flush(Allocation allocation);       // after the host wrote
  VkResult invalidate(Allocation allocation);  // before the host reads
  std::uint64_t allocatedBytes() const;        // by VMA's own count

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace saccade::runtime
