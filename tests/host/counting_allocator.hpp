// SPDX-License-Identifier: Apache-2.0
// Host allocation callbacks that count.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <vulkan/vulkan.h>

namespace saccade::host {

class CountingAllocator {
 public:
  CountingAllocator() {
    callbacks.pUserData = this;
    callbacks.pfnAllocation = [](void* self, size_t size, size_t alignment, VkSystemAllocationScope) {
      return static_cast<CountingAllocator*>(self)->allocate(size, alignment);
    };
    callbacks.pfnReallocation = [](void* self, void* old, size_t size, size_t alignment, VkSystemAllocationScope) -> void* {
      auto& allocator = *static_cast<CountingAllocator*>(self);
      void* const fresh = size > 0 ? allocator.allocate(size, alignment) : nullptr;
      if (fresh != nullptr && old != nullptr) std::memcpy(fresh, old, std::min(size, headerOf(old)->size));
      if (fresh != nullptr || size == 0) allocator.release(old);
      return fresh;
    };
    callbacks.pfnFree = [](void* self, void* memory) { static_cast<CountingAllocator*>(self)->release(memory); };
  }
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

  VkAllocationCallbacks callbacks{};
  std::atomic<int> made = 0, live = 0;

 private:
  // Stands before what the driver gets.
  struct Header {
    void* memory;
    size_t size;
  };

  static Header* headerOf(void* given) { return static_cast<Header*>(given) - 1; }

  void* allocate(size_t size, size_t alignment) {
    alignment = std::max(alignment, alignof(Header));
    void* const memory = std::malloc(sizeof(Header) + alignment + size);
    if (memory == nullptr) return nullptr;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + sizeof(Header) + alignment - 1) / alignment * alignment;
    void* const given = reinterpret_cast<void*>(begin);
    *headerOf(given) = {memory, size};
    made++;
    live++;
    return given;
  }

  void release(void* given) {
    if (given == nullptr) return;
    live--;
    std::free(headerOf(given)->memory);
  }
};

}  // namespace saccade::host
