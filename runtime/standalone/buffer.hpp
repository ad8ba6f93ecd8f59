// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "standalone/vma.hpp"

namespace saccade::runtime {

class DeviceState;

// Counts the bytes of all buffers of a device.
class MemoryCounter {
 public:
  void add(std::uint64_t bytes);
  void remove(std::uint64_t bytes) { current_ -= bytes; }
  void resetPeak() { peak_ = current_.load(); }
  std::uint64_t current() const { return current_; }
  std::uint64_t peak() const { return peak_; }

 private:
  std::atomic<std::uint64_t> current_ = 0;
  std::atomic<std::uint64_t> peak_ = 0;
};

// A VkBuffer with its memory and device address. Its size is a multiple of 16 bytes, and so is its address.
class Buffer {
 public:
  // `device` must outlive the buffer. Throws Error OutOfMemory, which names the size.
  Buffer(DeviceState& device, std::uint64_t bytes, BufferUse use);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  VkBuffer handle() const { return placed_.handle; }
  VkDeviceAddress address() const { return address_; }
  std::uint64_t size() const { return size_; }

  // Staging only.
  std::byte* mapped() const { return placed_.mapped; }
  void flush() const;       // after the host wrote
  void invalidate() const;  // before the host reads

 private:
  DeviceState& device_;
  std::uint64_t size_;
  Allocator::PlacedBuffer placed_;
  VkDeviceAddress address_ = 0;
};

// The memory behind tensors: the elements lie in [begin, begin + bytes) of the buffer, guard margins around
// them.
class Storage {
 public:
  Storage(std::shared_ptr<DeviceState> device, std::uint64_t bytes, bool guarded);

  const std::shared_ptr<DeviceState>& device() const { return device_; }
  const Buffer& buffer() const { return buffer_; }
  std::uint64_t begin() const { return guarded_ ? kGuardBytes : 0; }
  std::uint64_t bytes() const { return bytes_; }
  bool guarded() const { return guarded_; }

  static constexpr std::uint64_t kGuardBytes = 1024;

 private:
  std::shared_ptr<DeviceState> device_;  // before buffer_: it is needed to free that
  std::uint64_t bytes_;
  bool guarded_;
  Buffer buffer_;
};

}  // namespace saccade::runtime
