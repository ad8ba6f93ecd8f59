// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <saccade/runtime.hpp>

#include "standalone/convert.hpp"
#include "standalone/device_state.hpp"
#include "standalone/layout.hpp"
#include "standalone/stream_state.hpp"
#include "text/formatted.hpp"

namespace saccade {
namespace {

std::uint64_t bytesOf(Dtype dtype, const Shape& shape) {
  const std::size_t elementBytes = dtypeSize(dtype);
  if (elementBytes == 0) {
    throw Error(Status::InvalidArgument, "dtype",
                formatted("dtype is {}, but a tensor has one of F32, F16, BF16, U8, I32, F8E4M3 and I8",
                          static_cast<int>(dtype)));
  }
  const auto count = static_cast<std::uint64_t>(runtime::checkedElementCount(shape));
  if (count > std::numeric_limits<std::uint64_t>::max() / 2 / elementBytes) {
    throw Error(
        Status::OutOfMemory, "shape",
        formatted("shape is {}, which needs more bytes than any memory has", runtime::shapeText(shape)));
  }
  return count * elementBytes;
}

void poison(runtime::DeviceState& device, const runtime::Buffer& buffer) {
  runtime::DeviceState::Immediate immediate = device.immediate();
  runtime::DiscardOnError guard(immediate.stream);
  immediate.stream.fillWords(buffer, 0, buffer.size(), 0xffffffffu);
  immediate.stream.wait(immediate.stream.submit());
  guard.done();
}

}  // namespace

Tensor Tensor::empty(const Device& device, Dtype dtype, const Shape& shape, const TensorOptions& options) {
  Tensor tensor;
  tensor.storage_ = std::make_shared<runtime::Storage>(device.state(), bytesOf(dtype, shape), options.guard);
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.strides_ = runtime::contiguousStrides(shape);
  if (options.guard) poison(*device.state(), tensor.storage_->buffer());
  return tensor;
}

Tensor Tensor::zeros(const Device& device, Dtype dtype, const Shape& shape, const TensorOptions& options) {
  return full(device, dtype, shape, 0.0f, options);
}

Tensor Tensor::full(const Device& device, Dtype dtype, const Shape& shape, float value,
                    const TensorOptions& options) {
  Tensor tensor = empty(device, dtype, shape, options);
  Stream stream(device);
  stream.fill(tensor, value);
  stream.wait();
  return tensor;
}

Tensor Tensor::from(const Device& device, Dtype dtype, const Shape& shape, std::span<const float> values,
                    const TensorOptions& options) {
  Tensor tensor = empty(device, dtype, shape, options);
  tensor.upload(values);
  return tensor;
}

Tensor Tensor::fromInts(const Device& device, const Shape& shape, std::span<const std::int32_t> values,
                        const TensorOptions& options) {
  return fromBytes(device, Dtype::I32, shape, std::as_bytes(values), options);
}

Tensor Tensor::fromBytes(const Device& device, Dtype dtype, const Shape& shape,
                         std::span<const std::byte> bytes, const TensorOptions& options) {
  Tensor tensor = empty(device, dtype, shape, options);
  tensor.uploadBytes(bytes);
  return tensor;
}

std::int64_t Tensor::elementCount() const noexcept {
  std::int64_t count = storage_ ? 1 : 0;
  for (std::int64_t size : shape_) count *= size;
  return count;
}

bool Tensor::isContiguous() const noexcept { return runtime::isContiguous(shape_, strides_); }

Device Tensor::device() const {
  if (!storage_) {
    throw Error(Status::InvalidArgument, "tensor", "the tensor is absent, so it is on no device");
  }
  return Device(storage_->device());
}

TensorDesc Tensor::desc() const {
  TensorDesc desc{.dtype = dtype_};
  if (!storage_) return desc;
  if (rank() > 4) {
    throw Error(Status::InvalidArgument, "shape",
                formatted("shape is {}, but an operator takes at most 4 axes; select or reshape first",
                          runtime::shapeText(shape_)));
  }
  const std::size_t first = 4 - rank();
  bool allZero = true;
  std::int64_t inner = 1;  // the stride that continues the axes inside, for axes of size 1
  for (std::size_t axis = 4; axis-- > 0;) {
    const bool real = axis >= first && shape_[axis - first] != 1;
    desc.sizes[axis] = real ? shape_[axis - first] : 1;
    desc.strides[axis] = real ? strides_[axis - first] : inner;
    allZero = allZero && desc.strides[axis] == 0;
    if (desc.sizes[axis] > 1 && desc.strides[axis] > 0) inner = desc.sizes[axis] * desc.strides[axis];
  }
  if (allZero) {
    throw Error(
        Status::InvalidArgument, "strides",
        formatted("a tensor of shape {} repeats one element along every axis, which strides of 0 cannot "
                  "express; give it one contiguous axis",
                  runtime::shapeText(shape_)));
  }
  return desc;
}

BufferRange Tensor::buffer() const noexcept {
  if (!storage_) return {};
  const std::uint64_t begin = runtime::sideOf(*this).begin;
  const std::uint64_t elementsEnd = storage_->begin() + (storage_->bytes() + 3) / 4 * 4;
  const std::uint64_t end = storage_->guarded() ? elementsEnd : storage_->buffer().size();
  return {storage_->buffer().address() + begin, end - begin};
}

bool Tensor::guarded() const noexcept { return storage_ && storage_->guarded(); }

}  // namespace saccade
