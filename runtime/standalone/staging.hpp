// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "standalone/buffer.hpp"

namespace saccade::runtime {

class StreamState;

// Moves bytes between the host and device buffers of any size through a small mapped buffer of two halves:
// while the device copies one half, the host fills the other. Synchronous; used under the lock of its stream.
class Staging {
 public:
  Staging(DeviceState& device, StreamState& stream);  // both outlive it

  void write(const Buffer& dst, std::uint64_t begin, std::span<const std::byte> bytes);
  void read(const Buffer& src, std::uint64_t begin, std::span<std::byte> bytes);

 private:
  static constexpr std::uint64_t kHalf = std::uint64_t{4} << 20;

  StreamState& stream_;
  Buffer buffer_;
};

}  // namespace saccade::runtime
