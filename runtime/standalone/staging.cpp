// SPDX-License-Identifier: Apache-2.0
#include "standalone/staging.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "standalone/stream_state.hpp"

namespace saccade::runtime {

Staging::Staging(DeviceState& device, StreamState& stream)
    : stream_(stream), buffer_(device, 2 * kHalf, BufferUse::Staging) {}

void Staging::write(const Buffer& dst, std::uint64_t begin, std::span<const std::byte> bytes) {
  DiscardOnError guard(stream_);
  std::array<std::uint64_t, 2> busyUntil{};
  std::size_t half = 0;
  for (std::uint64_t done = 0; done < bytes.size(); done += kHalf, half = 1 - half) {
    const std::uint64_t size = std::min(kHalf, bytes.size() - done);
    const std::uint64_t at = half * kHalf;
    stream_.wait(busyUntil[half]);
    std::memcpy(buffer_.mapped() + at, bytes.data() + done, size);
    buffer_.flush();
    const VkBufferCopy region{at, begin + done, size};
    const Access accesses[] = {{dst.handle(), begin + done, begin + done + size, true},
                               {buffer_.handle(), at, at + size, false}};
    stream_.copyBytes(dst, buffer_, {&region, 1}, accesses);
    busyUntil[half] = stream_.submit();
  }
  stream_.wait(std::max(busyUntil[0], busyUntil[1]));
  guard.done();
}

void Staging::read(const Buffer& src, std::uint64_t begin, std::span<std::byte> bytes) {
  DiscardOnError guard(stream_);
  for (std::uint64_t done = 0; done < bytes.size(); done += 2 * kHalf) {
    const std::uint64_t size = std::min(2 * kHalf, bytes.size() - done);
    const VkBufferCopy region{begin + done, 0, size};
    const Access accesses[] = {{buffer_.handle(), 0, size, true},
                               {src.handle(), begin + done, begin + done + size, false}};
    stream_.copyBytes(buffer_, src, {&region, 1}, accesses);
    stream_.wait(stream_.submit());
    buffer_.invalidate();
    std::memcpy(bytes.data() + done, buffer_.mapped(), size);
  }
  guard.done();
}

}  // namespace saccade::runtime
