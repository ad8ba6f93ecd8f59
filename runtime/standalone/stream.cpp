// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <saccade/runtime.hpp>

#include "standalone/convert.hpp"
#include "standalone/device_state.hpp"
#include "standalone/layout.hpp"
#include "standalone/stream_state.hpp"
#include "text/formatted.hpp"

namespace saccade {
namespace {

using runtime::Access;
using runtime::shapeText;

void requireOnDevice(const Tensor& tensor, const char* name,
                     const std::shared_ptr<runtime::DeviceState>& device) {
  if (!tensor) {
    throw Error(Status::InvalidArgument, name, formatted("{} is absent, but must be given", name));
  }
  if (tensor.storage()->device() != device) {
    throw Error(Status::InvalidArgument, name, formatted("{} is on another device than the stream", name));
  }
}

void requireWritable(const Tensor& tensor) {
  if (runtime::elementsAreDistinct(tensor.shape(), tensor.strides())) return;
  throw Error(Status::InvalidArgument, "dst",
              formatted("dst has shape {} and strides {}, but elements that are written must not overlap",
                        shapeText(tensor.shape()), shapeText(tensor.strides())));
}

// Fills a view whose runs vkCmdFillBuffer, which works on words, cannot address: from runs of the pattern in
// scratch.
void fillRuns(runtime::StreamState& stream, const Tensor& dst, std::uint32_t word) {
  const runtime::Side side = runtime::sideOf(dst);
  std::vector<VkBufferCopy> runs = runtime::copyRegions(dst.shape(), dtypeSize(dst.dtype()), side, side);
  constexpr VkDeviceSize kMostBytes = VkDeviceSize{1} << 16;
  const VkDeviceSize patternBytes = std::min(kMostBytes, (runs.front().size + 3) / 4 * 4);
  std::vector<VkBufferCopy> regions;
  for (const VkBufferCopy& run : runs) {
    for (VkDeviceSize done = 0; done < run.size; done += patternBytes) {
      regions.push_back({0, run.dstOffset + done, std::min(patternBytes, run.size - done)});
    }
  }
  const std::shared_ptr<const runtime::Buffer> pattern = stream.scratch(patternBytes);
  stream.keep(pattern);
  stream.fillWords(*pattern, 0, patternBytes, word);
  const Access accesses[] = {runtime::accessOf(dst, true), {pattern->handle(), 0, patternBytes, false}};
  stream.copyBytes(dst.storage()->buffer(), *pattern, regions, accesses);
}

}  // namespace

Stream::Stream(const Device& device)
    : device_(device.state()), state_(std::make_unique<runtime::StreamState>(*device_)) {}

Stream::Stream(Stream&&) noexcept = default;
Stream::~Stream() = default;

Stream& Stream::operator=(Stream&& other) noexcept {
  state_ = std::move(other.state_);  // first: the old one still needs the old device
  device_ = std::move(other.device_);
  return *this;
}

Device Stream::device() const { return Device(device_); }

void Stream::copy(const Tensor& dst, const Tensor& src) {
  requireOnDevice(dst, "dst", device_);
  requireOnDevice(src, "src", device_);
  if (dst.dtype() != src.dtype() || dst.shape() != src.shape()) {
    throw Error(Status::InvalidArgument, "src",
                formatted("src has shape {} and dst {}, but both need one shape and one dtype",
                          shapeText(src.shape()), shapeText(dst.shape())));
  }
  requireWritable(dst);
  if (dst.elementCount() == 0) return;
  const Access accesses[] = {runtime::accessOf(dst, true), runtime::accessOf(src, false)};
  if (accesses[0].buffer == accesses[1].buffer && accesses[0].begin < accesses[1].end &&
      accesses[1].begin < accesses[0].end) {
    throw Error(Status::InvalidArgument, "dst",
                "dst and src share bytes of one memory; copy through another tensor");
  }
  const std::vector<VkBufferCopy> regions =
      runtime::copyRegions(dst.shape(), dtypeSize(dst.dtype()), runtime::sideOf(dst), runtime::sideOf(src));
  state_->keep(dst.storage());
  state_->keep(src.storage());
  state_->copyBytes(dst.storage()->buffer(), src.storage()->buffer(), regions, accesses);
}

void Stream::fill(const Tensor& dst, float value) {
  requireOnDevice(dst, "dst", device_);
  requireWritable(dst);
  const std::uint32_t word = runtime::patternWord(dst.dtype(), value);
  if (dst.elementCount() == 0) return;
  state_->keep(dst.storage());
  const Access range = runtime::accessOf(dst, true);
  if (dst.isContiguous() && range.begin % 4 == 0 && range.end % 4 == 0) {
    state_->fillWords(dst.storage()->buffer(), range.begin, range.end - range.begin, word);
  } else {
    fillRuns(*state_, dst, word);
  }
}

void Stream::barrier() { state_->barrier(); }
Timestamp Stream::timestamp() { return state_->timestamp(); }
double Stream::milliseconds(const Timestamp& begin, const Timestamp& end) {
  return state_->milliseconds(begin, end);
}
std::uint64_t Stream::submit() { return state_->submit(); }
void Stream::wait() { state_->wait(state_->submit()); }
void Stream::wait(std::uint64_t submission) { state_->wait(submission); }

}  // namespace saccade
