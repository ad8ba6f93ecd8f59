// SPDX-License-Identifier: Apache-2.0
#include "standalone/vma.hpp"

// What vk_mem_alloc.h includes, so that it includes none of it once more inside of the namespace below.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>

#include <vulkan/vulkan.h>

#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
// Its C functions would keep their global names in any namespace; static ones have none.
#define VMA_CALL_PRE static
namespace {
#include <vk_mem_alloc.h>
}

namespace saccade::runtime {
namespace {

VmaAllocation vmaHandle(Allocation allocation) { return reinterpret_cast<VmaAllocation>(allocation); }

}  // namespace

struct Allocator::State {
  VmaAllocator handle = VK_NULL_HANDLE;
};

Allocator::Allocator(VkInstance instance, VkPhysicalDevice physicalDevice, VkDevice device, std::uint32_t apiVersion)
    : state_(std::make_unique<State>()) {
  VmaVulkanFunctions functions{};
  functions.vkGetInstanceProcAddr = vkGetInstanceProcAddr;
  functions.vkGetDeviceProcAddr = vkGetDeviceProcAddr;
  VmaAllocatorCreateInfo info{};
  info.flags = VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT;
  info.physicalDevice = physicalDevice;
  info.device = device;
  info.instance = instance;
  info.pVulkanFunctions = &functions;
  info.vulkanApiVersion = apiVersion;
  // Smaller blocks than the default of 256 MiB: what the process holds stays close to what tensors need.
  info.preferredLargeHeapBlockSize = VkDeviceSize{64} << 20;
  check(vmaCreateAllocator(&info, &state_->handle), "create the memory allocator");
}

Allocator::~Allocator() { vmaDestroyAllocator(state_->handle); }

VkResult Allocator::createBuffer(const VkBufferCreateInfo& info, BufferUse use, PlacedBuffer& buffer) {
  VmaAllocationCreateInfo allocation{};
  allocation.usage = VMA_MEMORY_USAGE_AUTO;
  if (use == BufferUse::Staging) {
    allocation.flags = VMA_ALLOCATION_CREATE_MAPPED_BIT | VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT;
  }
  constexpr VkDeviceSize kAlignment = 64;
  VmaAllocation placed = VK_NULL_HANDLE;
  VmaAllocationInfo place{};
  const VkResult result = vmaCreateBufferWithAlignment(state_->handle, &info, &allocation, kAlignment, &buffer.handle,
                                                       &placed, &place);
  buffer.allocation = reinterpret_cast<Allocation>(placed);
  buffer.mapped = static_cast<std::byte*>(place.pMappedData);
  return result;
}

void Allocator::destroyBuffer(const PlacedBuffer& buffer) {
  vmaDestroyBuffer(state_->handle, buffer.handle, vmaHandle(buffer.allocation));
}

VkResult Allocator::flush(Allocation allocation) {
  return vmaFlushAllocation(state_->handle, vmaHandle(allocation), 0, VK_WHOLE_SIZE);
}

VkResult Allocator::invalidate(Allocation allocation) {
  return vmaInvalidateAllocation(state_->handle, vmaHandle(allocation), 0, VK_WHOLE_SIZE);
}

std::uint64_t Allocator::allocatedBytes() const {
  VmaTotalStatistics statistics{};
  vmaCalculateStatistics(state_->handle, &statistics);
  return statistics.total.statistics.allocationBytes;
}

}  // namespace saccade::runtime
