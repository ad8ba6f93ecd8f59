// SPDX-License-Identifier: Apache-2.0
#include "nn/vit_load.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "io/file_error.hpp"
#include "nn/checks.hpp"
#include "plan/rounding.hpp"

namespace saccade::nn {

namespace {

io::DType storageOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32: return io::DType::F32;
    case Dtype::F16: return io::DType::F16;
    case Dtype::BF16: return io::DType::BF16;
    case Dtype::None:
    case Dtype::U8:
    case Dtype::I32:
    case Dtype::F8E4M3:
    case Dtype::I8: break;
  }
  refuse("dtype", "no floating-point type", "a model computes in F32, F16 or BF16");
}

class Uploader {
 public:
  Uploader(const Device& device, Dtype dtype) : device_(device), dtype_(dtype), storage_(storageOf(dtype)) {}

  Tensor operator()(const io::TensorData& data) const {
    return Tensor::fromBytes(device_, dtype_, data.shape(), data.converted(storage_).bytes());
  }
  Linear operator()(const io::LinearWeights& linear) const { return {matrix(linear.weight), (*this)(linear.bias)}; }
  LayerNorm operator()(const io::NormWeights& norm, double epsilon) const {
    return {(*this)(norm.weight), (*this)(norm.bias), static_cast<float>(epsilon)};
  }

  // scale * (x weight^T + bias) is x (scale weight)^T + scale bias.
  Linear scaled(const io::LinearWeights& linear, const std::optional<io::TensorData>& scale) const {
    return scale ? (*this)(io::LinearWeights{multiplyRows(linear.weight, *scale), multiplyRows(linear.bias, *scale)})
                 : (*this)(linear);
  }

 private:
  // [rows, columns] with rows an odd number of cache lines apart. Widths of models are multiples of large powers of two, and rows an
  // even number of lines apart share a few sets of a cache, while kernels read many rows at a time.
  Tensor matrix(const io::TensorData& data) const {
    constexpr std::size_t kLine = 64;
    const io::TensorData converted = data.converted(storage_);
    const std::size_t rows = data.shape()[0], columns = data.shape()[1], rowBytes = converted.bytes().size() / rows;
    const std::size_t pitch = (core::divideUp(rowBytes, kLine) | 1) * kLine;
    std::vector<std::byte> padded(rows * pitch);
    for (std::size_t row = 0; row < rows; ++row) {
      std::ranges::copy(converted.bytes().subspan(row * rowBytes, rowBytes), padded.begin() + row * pitch);
    }
    const auto size = [](std::size_t elements) { return static_cast<std::int64_t>(elements); };
    return Tensor::fromBytes(device_, dtype_, {size(rows), size(pitch / (rowBytes / columns))}, padded).slice(1, 0, size(columns));
  }

  // Row n times scale[n]; rounded once.
  io::TensorData multiplyRows(const io::TensorData& data, const io::TensorData& scale) const {
    std::vector<double> values = data.toDoubles();
    const std::size_t rowSize = values.size() / scale.elementCount();
    for (std::size_t index = 0; index < values.size(); ++index) {
      values[index] *= scale.at(index / rowSize);
    }
    return io::TensorData::fromDoubles(storage_, data.shape(), values);
  }

  const Device& device_;
  Dtype dtype_;
  io::DType storage_;
};

VitConfig configOf(const io::VitConfig& config) {
  return {.imageSize = config.gridSize * config.patchSize,
          .channels = config.inChannels,
          .patchSize = config.patchSize,
          .embedDim = config.embedDim,
          .depth = config.depth,
          .numHeads = config.numHeads,
          .mlpDim = config.mlpDim,
          .numClasses = config.numClasses,
          .epsilon = config.epsilon,
          .activation = config.geluTanh ? Activation::GeluTanh : Activation::Gelu,
          .mean = config.mean,
          .std = config.std,
          .classNames = config.classNames,
          .assumptions = config.assumptions};
}

}  // namespace

Vit uploadVit(const Device& device, const io::VitWeights& weights, Dtype dtype) {
  const Uploader upload(device, dtype);
  VitConfig config = configOf(weights.config);
  VitWeights uploaded;
  uploaded.patch = {upload(weights.patch.weight), upload(weights.patch.bias)};
  uploaded.classToken = weights.classToken.toFloats();
  uploaded.positions = weights.positions.toFloats();
  for (const io::VitBlockWeights& block : weights.blocks) {
    uploaded.blocks.push_back({
        .norm1 = upload(block.norm1, config.epsilon),
        .attention = MultiheadAttention::fused(upload(block.qkv), upload.scaled(block.proj, block.scale1),
                                               config.numHeads),
        .norm2 = upload(block.norm2, config.epsilon),
        .fc1 = upload(block.fc1),
        .fc2 = upload.scaled(block.fc2, block.scale2),
        .activation = config.activation,
    });
  }
  uploaded.norm = upload(weights.norm, config.epsilon);
  if (weights.head) {
    uploaded.head = upload(*weights.head);
  }
  return Vit(device, std::move(config), std::move(uploaded));
}

Vit Vit::load(const Device& device, const std::filesystem::path& path, Dtype dtype) {
  try {
    return uploadVit(device, io::readVitWeights(path), dtype);
  } catch (const io::FileError& error) {
    throw Error(Status::InvalidArgument, "", error.what());
  }
}

}  // namespace saccade::nn
