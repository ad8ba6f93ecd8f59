// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include <saccade/runtime.hpp>

#include "standalone/convert.hpp"
#include "standalone/device_state.hpp"
#include "standalone/layout.hpp"
#include "standalone/staging.hpp"
#include "text/formatted.hpp"

namespace saccade {
namespace {

void requireElements(const Tensor& tensor) {
  if (!tensor) {
    throw Error(Status::InvalidArgument, "tensor", "the tensor is absent: it has no elements to copy");
  }
}

void requireCount(const Tensor& tensor, std::size_t given, std::size_t needed, const char* unit) {
  if (given == needed) return;
  throw Error(Status::InvalidArgument, "values",
              formatted("{} {} were given, but a tensor of shape {} takes exactly {}", given, unit,
                        runtime::shapeText(tensor.shape()), needed));
}

std::vector<std::byte> readRange(const Tensor& tensor, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::byte> bytes(end - begin);
  const runtime::Storage& storage = *tensor.storage();
  storage.device()->immediate().staging.read(storage.buffer(), begin, bytes);
  return bytes;
}

bool allPoison(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0xff}; });
}

}  // namespace

void Tensor::upload(std::span<const float> values) const {
  requireElements(*this);
  requireCount(*this, values.size(), static_cast<std::size_t>(elementCount()), "values");
  uploadBytes(runtime::encode(dtype_, values));
}

void Tensor::uploadBytes(std::span<const std::byte> bytes) const {
  requireElements(*this);
  requireCount(*this, bytes.size(), static_cast<std::size_t>(elementCount()) * dtypeSize(dtype_), "bytes");
  if (bytes.empty()) return;
  if (!isContiguous()) {
    const Tensor contiguous = fromBytes(device(), dtype_, shape_, bytes);
    Stream stream(device());
    stream.copy(*this, contiguous);
    stream.wait();
    return;
  }
  storage_->device()->immediate().staging.write(storage_->buffer(), runtime::sideOf(*this).begin, bytes);
}

std::vector<std::byte> Tensor::downloadBytes() const {
  requireElements(*this);
  const runtime::Access range = runtime::accessOf(*this, false);
  std::vector<std::byte> memory = readRange(*this, range.begin, range.end);
  if (isContiguous()) return memory;
  const std::size_t elementBytes = dtypeSize(dtype_);
  std::vector<std::byte> bytes(static_cast<std::size_t>(elementCount()) * elementBytes);
  const runtime::Side packed{0, runtime::contiguousStrides(shape_)};
  const runtime::Side strided{0, strides_};
  for (const VkBufferCopy& run : runtime::copyRegions(shape_, elementBytes, packed, strided)) {
    std::memcpy(bytes.data() + run.dstOffset, memory.data() + run.srcOffset, run.size);
  }
  return bytes;
}

std::vector<float> Tensor::download() const { return runtime::decode(dtype_, downloadBytes()); }

std::vector<std::int32_t> Tensor::downloadInts() const {
  const std::vector<std::byte> bytes = downloadBytes();
  std::vector<std::int32_t> values(static_cast<std::size_t>(elementCount()));
  if (dtype_ == Dtype::I32) {
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  if (dtype_ == Dtype::U8) {
    std::transform(bytes.begin(), bytes.end(), values.begin(),
                   [](std::byte byte) { return std::to_integer<std::int32_t>(byte); });
    return values;
  }
  if (dtype_ == Dtype::I8) {
    std::transform(bytes.begin(), bytes.end(), values.begin(),
                   [](std::byte byte) { return std::int32_t{std::bit_cast<std::int8_t>(byte)}; });
    return values;
  }
  throw Error(Status::InvalidArgument, "dtype", "downloadInts is for tensors of I32, U8 and I8; use download()");
}

bool Tensor::guardsIntact() const {
  if (!guarded()) {
    throw Error(Status::InvalidArgument, "guard",
                "the tensor has no guard margins; create it with {.guard = true}");
  }
  const std::vector<std::byte> memory = readRange(*this, 0, storage_->buffer().size());
  const std::span<const std::byte> all(memory);
  return allPoison(all.first(storage_->begin())) &&
         allPoison(all.subspan(storage_->begin() + storage_->bytes()));
}

}  // namespace saccade
