// SPDX-License-Identifier: Apache-2.0
#include "standalone/buffer.hpp"

#include <algorithm>
#include <limits>

#include "standalone/device_state.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {
namespace {

std::uint64_t roundedUp(std::uint64_t bytes) {
  constexpr std::uint64_t kMultiple = 16;
  if (bytes > std::numeric_limits<std::uint64_t>::max() - kMultiple) {
    throw Error(Status::OutOfMemory, "",
                formatted("a buffer of {} bytes is larger than any memory", bytes));
  }
  return std::max((bytes + kMultiple - 1) / kMultiple * kMultiple, kMultiple);
}

void checkLimits(const DeviceFacts& facts, std::uint64_t bytes) {
  std::uint64_t limit = facts.maxMemoryAllocationSize;
  if (facts.maxBufferSize != 0) limit = std::min(limit, facts.maxBufferSize);
  if (bytes > limit) {
    throw Error(Status::OutOfMemory, "",
                formatted("a buffer of {} bytes was asked for, but {} allows at most {} in one buffer",
                          bytes, facts.deviceName, limit));
  }
}

}  // namespace

void MemoryCounter::add(std::uint64_t bytes) {
  const std::uint64_t now = current_ += bytes;
  std::uint64_t peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
}

Buffer::Buffer(DeviceState& device, std::uint64_t bytes, BufferUse use)
    : device_(device), size_(roundedUp(bytes)) {
  checkLimits(device.facts(), size_);
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = size_;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (use == BufferUse::Device) {
    info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  }
  const VkResult result = device.allocator().createBuffer(info, use, placed_);
  device.check(result, formatted("allocate {} bytes of device memory", size_).c_str());
  device.memory().add(size_);
  if (use == BufferUse::Device) {
    VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    address.buffer = placed_.handle;
    address_ = device.vk().vkGetBufferDeviceAddress(device.handle(), &address);
  }
}

Buffer::~Buffer() {
  device_.allocator().destroyBuffer(placed_);
  device_.memory().remove(size_);
}

void Buffer::flush() const {
  device_.check(device_.allocator().flush(placed_.allocation), "flush staging memory");
}

void Buffer::invalidate() const {
  device_.check(device_.allocator().invalidate(placed_.allocation), "read back staging memory");
}

Storage::Storage(std::shared_ptr<DeviceState> device, std::uint64_t bytes, bool guarded)
    : device_(std::move(device)), bytes_(bytes), guarded_(guarded),
      buffer_(*device_, guarded ? bytes + 2 * kGuardBytes : bytes, BufferUse::Device) {}

}  // namespace saccade::runtime
