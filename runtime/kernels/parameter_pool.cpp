// SPDX-License-Identifier: Apache-2.0
#include "kernels/parameter_pool.hpp"

#include <cstring>

#include "api/message.hpp"

namespace saccade::core {
namespace {
constexpr VkDeviceSize kChunkBytes = 64 * 1024;
}

ParameterPool::ParameterPool(const InstanceFunctions& instanceFunctions, const DeviceFunctions& functions,
                             VkPhysicalDevice physicalDevice, VkDevice device, const VkAllocationCallbacks* callbacks,
                             const DebugUtils& debugUtils)
    : functions_(functions), device_(device), callbacks_(callbacks), debugUtils_(debugUtils) {
  instanceFunctions.vkGetPhysicalDeviceMemoryProperties(physicalDevice, &memory_);
}

ParameterPool::~ParameterPool() {
  for (const Chunk& chunk : chunks_) destroy(chunk);
}

VkDeviceAddress ParameterPool::store(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) addChunk();
  const VkDeviceAddress address = free_.back();
  free_.pop_back();
  for (const Chunk& chunk : chunks_) {
    if (address >= chunk.address && address < chunk.address + kChunkBytes) {
      std::memcpy(chunk.data + (address - chunk.address), bytes.data(), bytes.size());
    }
  }
  return address;
}

void ParameterPool::release(VkDeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(address);  // never grows beyond the capacity reserved by addChunk
}

uint32_t ParameterPool::memoryType(uint32_t allowed) const {
  const VkMemoryPropertyFlags needed = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (const VkMemoryPropertyFlags wanted : {needed | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, needed}) {
    for (uint32_t i = 0; i < memory_.memoryTypeCount; i++) {
      if ((allowed & (1u << i)) != 0 && (memory_.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
    }
  }
  throw Refusal(SACCADE_ERROR_DRIVER, {}, "the device has no host-visible, coherent memory for storage buffers");
}

void ParameterPool::addChunk() {
  Chunk chunk;
  try {
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = kChunkBytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    checkVulkan(functions_.vkCreateBuffer(device_, &info, callbacks_, &chunk.buffer), "vkCreateBuffer for parameters");
    VkMemoryRequirements requirements{};
    functions_.vkGetBufferMemoryRequirements(device_, chunk.buffer, &requirements);
    VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
    allocate.allocationSize = requirements.size;
    allocate.memoryTypeIndex = memoryType(requirements.memoryTypeBits);
    checkVulkan(functions_.vkAllocateMemory(device_, &allocate, callbacks_, &chunk.memory),
                "vkAllocateMemory for parameters");
    debugUtils_.name(VK_OBJECT_TYPE_BUFFER, chunk.buffer, "saccade parameters");
    debugUtils_.name(VK_OBJECT_TYPE_DEVICE_MEMORY, chunk.memory, "saccade parameters");
    checkVulkan(functions_.vkBindBufferMemory(device_, chunk.buffer, chunk.memory, 0), "vkBindBufferMemory");
    void* data = nullptr;
    checkVulkan(functions_.vkMapMemory(device_, chunk.memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
    chunk.data = static_cast<std::byte*>(data);
    VkBufferDeviceAddressInfo addressInfo{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    addressInfo.buffer = chunk.buffer;
    chunk.address = functions_.vkGetBufferDeviceAddress(device_, &addressInfo);
    free_.reserve((chunks_.size() + 1) * (kChunkBytes / kBlockBytes));
    chunks_.push_back(chunk);
  } catch (...) {
    destroy(chunk);
    throw;
  }
  for (VkDeviceSize offset = 0; offset < kChunkBytes; offset += kBlockBytes) free_.push_back(chunk.address + offset);
}

void ParameterPool::destroy(const Chunk& chunk) noexcept {
  functions_.vkDestroyBuffer(device_, chunk.buffer, callbacks_);
  functions_.vkFreeMemory(device_, chunk.memory, callbacks_);
}

}  // namespace saccade::core
