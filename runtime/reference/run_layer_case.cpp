// SPDX-License-Identifier: Apache-2.0
#include "reference/run_layer_case.hpp"

#include <fmt/format.h>

#include "io/attention_case.hpp"
#include "io/file_error.hpp"
#include "reference/ops.hpp"
#include "reference/window_attention.hpp"

namespace saccade::reference {

namespace {

using io::CaseFile;
using io::DType;
using io::Shape;
using io::TensorData;
using io::TensorMap;

constexpr std::int64_t kAny = CaseFile::kAnySize;

TensorMap outOnly(const Shape& shape, const std::vector<double>& values) {
  return {{"out", TensorData::fromDoubles(DType::F64, shape, values)}};
}

std::vector<double> optionalVector(const CaseFile& file, const std::string& name, std::int64_t size) {
  return file.input(name) == nullptr ? std::vector<double>{} : file.requireInput(name, {size}).toDoubles();
}

Linear<double> linear(const CaseFile& file, const std::string& weight, const std::string& bias,
                      std::int64_t outputs, std::int64_t inputs) {
  const TensorData& tensor = file.requireInput(weight, {outputs, inputs});
  return {tensor.toDoubles(), file.requireInput(bias, {tensor.shape()[0]}).toDoubles(), tensor.shape()[0],
          tensor.shape()[1]};
}

// A size or a count: far more than any case has, and products of two are far from the limits of int64.
constexpr std::int64_t kLargestCount = 1 << 20;
constexpr std::int64_t kLargestElementCount = 1 << 24;  // of a result whose size no input limits

std::int64_t positive(const CaseFile& file, const std::string& key) {
  const std::int64_t value = file.requireInteger(key);
  if (value < 1 || value > kLargestCount) {
    throw io::FileError(file.path, fmt::format("metadata '{}'", key), fmt::format("{}", value),
                        fmt::format("it must be from 1 to {}", kLargestCount));
  }
  return value;
}

void requireMultiple(const CaseFile& file, const std::string& what, std::int64_t value, std::int64_t of) {
  if (value % of != 0) {
    throw io::FileError(file.path, what, fmt::format("{}", value),
                        fmt::format("it must be a multiple of {}", of));
  }
}

// The last size of a tensor with at least one dimension.
std::int64_t lastSize(const CaseFile& file, const std::string& name) {
  const Shape& shape = file.requireInput(name).shape();
  if (shape.empty() || shape.back() == 0) {
    throw io::FileError(file.path, fmt::format("shape of tensor '{}'", name), io::shapeText(shape),
                        "its last dimension must be at least 1");
  }
  return shape.back();
}

Mha<double> mhaModule(const CaseFile& file, std::int64_t width, std::int64_t widthKv) {
  Mha<double> module;
  module.numHeads = positive(file, "num_heads");
  module.numKvHeads = file.integer("num_kv_heads") ? positive(file, "num_kv_heads") : module.numHeads;
  requireMultiple(file, "embedding size", width, module.numHeads);
  requireMultiple(file, "metadata 'num_heads'", module.numHeads, module.numKvHeads);
  module.causal = io::causalOf(file);
  if (file.input("in_proj_weight") != nullptr) {
    const Linear<double> fused = linear(file, "in_proj_weight", "in_proj_bias", 3 * width, width);
    module.q = fused.rows(0, width);
    module.k = fused.rows(width, width);
    module.v = fused.rows(2 * width, width);
  } else {
    const std::int64_t kvWidth = width / module.numHeads * module.numKvHeads;
    module.q = linear(file, "q_proj_weight", "q_proj_bias", width, width);
    module.k = linear(file, "k_proj_weight", "k_proj_bias", kvWidth, widthKv);
    module.v = linear(file, "v_proj_weight", "v_proj_bias", kvWidth, widthKv);
  }
  module.out = linear(file, "out_proj_weight", "out_proj_bias", width, width);
  return module;
}

}  // namespace

TensorMap runMhaCase(const CaseFile& file) {
  const TensorData& x = file.requireInput("x", {kAny, kAny, kAny});
  const bool isCross = file.input("x_kv") != nullptr;
  const TensorData& xKv = isCross ? file.requireInput("x_kv", {x.shape()[0], kAny, kAny}) : x;
  const Mha<double> module = mhaModule(file, lastSize(file, "x"), lastSize(file, isCross ? "x_kv" : "x"));
  const MhaSize size{x.shape()[0], x.shape()[1], xKv.shape()[1]};
  std::vector<std::uint8_t> mask;
  if (file.input("key_padding_mask") != nullptr) {
    mask = file.requireInput("key_padding_mask", {size.batch, size.seqlenK}).toBytes();
  }
  const MhaResult<double> result =
      multiHeadAttention<double>(module, x.toDoubles(), xKv.toDoubles(), size, mask, Probs::Store);
  TensorMap tensors = outOnly(x.shape(), result.out);
  tensors["probs"] = TensorData::fromDoubles(
      DType::F64, {size.batch, module.numHeads, size.seqlenQ, size.seqlenK}, result.probs);
  return tensors;
}

TensorMap runLayerNormCase(const CaseFile& file) {
  const std::int64_t n = lastSize(file, "x");
  const TensorData& x = file.requireInput("x");
  return outOnly(
      x.shape(),
      layerNorm<double>(x.toDoubles(), optionalVector(file, "weight", n), optionalVector(file, "bias", n),
                        static_cast<std::int64_t>(x.elementCount()) / n, n, file.requireNumber("epsilon")));
}

TensorMap runGeluCase(const CaseFile& file) {
  const TensorData& x = file.requireInput("x");
  const Gelu form = file.text("approximate", "none") == "tanh" ? Gelu::Tanh : Gelu::Exact;
  return outOnly(x.shape(), gelu<double>(x.toDoubles(), form));
}

TensorMap runMatmulCase(const CaseFile& file) {
  const TensorData& a = file.requireInput("a");
  const std::int64_t k = lastSize(file, "a");
  const bool isNk = file.text("weight_layout", "nk") == "nk";
  const TensorData& weight = file.requireInput("weight", isNk ? Shape{kAny, k} : Shape{k, kAny});
  const std::int64_t n = weight.shape()[isNk ? 0 : 1];
  Shape out = a.shape();
  out.back() = n;
  return outOnly(
      out,
      matmul<double>(a.toDoubles(), weight.toDoubles(), isNk ? WeightLayout::Nk : WeightLayout::Kn,
                     optionalVector(file, "bias", n), static_cast<std::int64_t>(a.elementCount()) / k, n, k));
}

TensorMap runPatchEmbedCase(const CaseFile& file) {
  const TensorData& image = file.requireInput("image", {kAny, kAny, kAny, kAny});
  const Shape& shape = image.shape();
  const std::int64_t patch = positive(file, "patch_size");
  requireMultiple(file, "image height", shape[2], patch);
  requireMultiple(file, "image width", shape[3], patch);
  const TensorData& weight = file.requireInput("weight", {kAny, shape[1], patch, patch});
  const std::int64_t width = weight.shape()[0];
  const std::vector<double> out = patchEmbed<double>(image.toDoubles(), weight.toDoubles(),
                                                     file.requireInput("bias", {width}).toDoubles(),
                                                     {shape[0], shape[1], shape[2], shape[3]}, patch, width);
  return outOnly({shape[0], shape[2] / patch * (shape[3] / patch), width}, out);
}

TensorMap runSinusoidalPositionsCase(const CaseFile& file) {
  const std::int64_t positions = positive(file, "positions");
  const std::int64_t dim = positive(file, "dim");
  const PositionLayout layout =
      file.text("layout", "interleaved") == "halves" ? PositionLayout::Halves : PositionLayout::Interleaved;
  const std::int64_t start = file.integer("start").value_or(0);
  if (positions * dim > kLargestElementCount) {
    throw io::FileError(file.path, "metadata 'positions'", fmt::format("{}", positions),
                        fmt::format("positions times dim, which is {}, must be at most {}", dim, kLargestElementCount));
  }
  if (start < 0 || start > kLargestCount) {
    throw io::FileError(file.path, "metadata 'start'", fmt::format("{}", start),
                        fmt::format("it must be from 0 to {}", kLargestCount));
  }
  return outOnly({positions, dim}, sinusoidalPositions(positions, dim, file.requireNumber("base"), layout, start));
}

TensorMap runWindowAttentionCase(const CaseFile& file) {
  const TensorData& x = file.requireInput("x", {kAny, kAny, kAny, kAny});
  const Shape& shape = x.shape();
  const std::int64_t channels = lastSize(file, "x");
  WindowAttention module;
  module.numHeads = positive(file, "num_heads");
  module.windowSize = positive(file, "window_size");
  module.shiftSize = file.integer("shift_size").value_or(0);
  if (module.shiftSize < 0 || module.shiftSize >= module.windowSize) {
    throw io::FileError(file.path, "metadata 'shift_size'", fmt::format("{}", module.shiftSize),
                        fmt::format("it must be from 0 to {}", module.windowSize - 1));
  }
  requireMultiple(file, "number of channels", channels, module.numHeads);
  requireMultiple(file, "height of x", shape[1], module.windowSize);
  requireMultiple(file, "width of x", shape[2], module.windowSize);
  module.qkv = linear(file, "qkv_weight", "qkv_bias", 3 * channels, channels);
  module.proj = linear(file, "proj_weight", "proj_bias", channels, channels);
  const std::int64_t span = 2 * module.windowSize - 1;
  module.relativePositionBias =
      file.requireInput("relative_position_bias_table", {span * span, module.numHeads}).toDoubles();
  return outOnly(shape, windowAttention(module, x.toDoubles(), shape[0], shape[1], shape[2]));
}

}  // namespace saccade::reference
