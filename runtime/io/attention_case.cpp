// SPDX-License-Identifier: Apache-2.0
#include "io/attention_case.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "io/file_error.hpp"

namespace saccade::io {

namespace {

[[noreturn]] void refuseShape(const CaseFile& file, const std::string& name, const Shape& shape,
                              const std::string& allowed) {
  throw FileError(file.path, fmt::format("shape of tensor '{}'", name), shapeText(shape),
                  fmt::format("it must be {}", allowed));
}

void requireShape(const CaseFile& file, const std::string& name, const Shape& shape, const Shape& wanted) {
  if (shape != wanted) {
    refuseShape(file, name, shape, shapeText(wanted));
  }
}

bool isQuantised(DType dtype) { return dtype == DType::F8_E4M3 || dtype == DType::I8; }

void readSizes(const CaseFile& file, AttentionCase& result) {
  const std::size_t rank = result.packed ? 3 : 4;
  for (const auto& [name, tensor] : {std::pair("q", &result.q), {"k", &result.k}, {"v", &result.v}}) {
    if (tensor->rank() != rank) {
      refuseShape(
          file, name, tensor->shape(),
          result.packed ? "[tokens, heads, head_dim] in a packed case" : "[batch, heads, tokens, head_dim]");
    }
  }
  const DType keys = isQuantised(result.k.dtype()) ? result.k.dtype() : result.q.dtype();
  for (const auto& [name, tensor] : {std::pair("k", &result.k), {"v", &result.v}}) {
    if (tensor->dtype() != keys) {
      throw FileError(file.path, fmt::format("dtype of tensor '{}'", name),
                      std::string(dtypeName(tensor->dtype())),
                      fmt::format("it must be {}, that of '{}'", dtypeName(keys), isQuantised(keys) ? "k" : "q"));
    }
  }
  const Shape& q = result.q.shape();
  const Shape& k = result.k.shape();
  if (result.packed) {
    result.seqlenQ = q[0];
    result.seqlenK = k[0];
  } else {
    result.batch = q[0];
    result.seqlenQ = q[2];
    result.seqlenK = k[2];
  }
  result.numHeadsQ = q[1];
  result.numHeadsKv = k[1];
  result.headDimQk = q[rank - 1];
  result.headDimV = result.v.shape()[rank - 1];
  const auto keyShape = [&](std::int64_t headDim) {
    return result.packed ? Shape{result.seqlenK, result.numHeadsKv, headDim}
                         : Shape{result.batch, result.numHeadsKv, result.seqlenK, headDim};
  };
  requireShape(file, "k", k, keyShape(result.headDimQk));
  requireShape(file, "v", result.v.shape(), keyShape(result.headDimV));
  if (result.numHeadsKv == 0 ? result.numHeadsQ != 0 : result.numHeadsQ % result.numHeadsKv != 0) {
    throw FileError(file.path, "number of query heads", fmt::format("{}", result.numHeadsQ),
                    fmt::format("it must be a multiple of the {} key/value heads", result.numHeadsKv));
  }
  if (result.headDimQk == 0 || result.headDimV == 0) {
    throw FileError(file.path, "head size", "0", "it must be at least 1");
  }
}

std::optional<TensorData> readBroadcast(const CaseFile& file, const std::string& name, const Shape& full) {
  const TensorData* tensor = file.input(name);
  if (tensor == nullptr) {
    return std::nullopt;
  }
  bool fits = tensor->rank() == full.size();
  for (std::size_t axis = 0; fits && axis < full.size(); ++axis) {
    fits = tensor->shape()[axis] == full[axis] || tensor->shape()[axis] == 1;
  }
  if (!fits) {
    refuseShape(file, name, tensor->shape(), fmt::format("{}, each size full or 1", shapeText(full)));
  }
  return *tensor;
}

void readScales(const CaseFile& file, AttentionCase& result) {
  result.scaleBlock = file.integer("scale_block").value_or(0);
  if (result.scaleBlock < 0) {
    throw FileError(file.path, "metadata 'scale_block'", fmt::format("{}", result.scaleBlock), "it must be 0 (all tokens) or more");
  }
  const std::int64_t block = result.scaleBlock;
  const std::int64_t blocks = block == 0 ? 1 : result.seqlenK / block + (result.seqlenK % block != 0 ? 1 : 0);
  const Shape full = {result.packed ? 1 : result.batch, result.numHeadsKv, blocks, 1};
  result.kScale = readBroadcast(file, "k_scale", full);
  result.vScale = readBroadcast(file, "v_scale", full);
  const bool scaled = result.kScale || result.vScale;
  if (scaled && !isQuantised(result.k.dtype())) {
    throw FileError(file.path, fmt::format("tensor '{}'", result.kScale ? "k_scale" : "v_scale"), "present",
                    "only k and v of F8_E4M3 or I8 have scales");
  }
}

std::optional<std::vector<std::int32_t>> readLengths(const CaseFile& file, const std::string& name,
                                                     std::int64_t batch, std::int64_t longest) {
  const TensorData* tensor = file.input(name);
  if (tensor == nullptr) {
    return std::nullopt;
  }
  requireShape(file, name, tensor->shape(), {batch});
  std::vector<std::int32_t> lengths = tensor->toInt32s();
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > longest) {
      throw FileError(file.path, fmt::format("{}[{}]", name, b), fmt::format("{}", lengths[b]),
                      fmt::format("it must be from 0 to {}", longest));
    }
  }
  return lengths;
}

std::vector<std::int32_t> readOffsets(const CaseFile& file, const std::string& name, std::int64_t total) {
  const TensorData& tensor = file.requireInput(name);
  if (tensor.rank() != 1 || tensor.elementCount() == 0) {
    refuseShape(file, name, tensor.shape(), "[batch + 1]");
  }
  std::vector<std::int32_t> offsets = tensor.toInt32s();
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    const std::int32_t lowest = b == 0 ? 0 : offsets[b - 1];
    const std::int64_t highest = b == 0 ? 0 : total;
    if (offsets[b] < lowest || offsets[b] > highest) {
      throw FileError(file.path, fmt::format("{}[{}]", name, b), fmt::format("{}", offsets[b]),
                      fmt::format("it must be from {} to {}", lowest, highest));
    }
  }
  return offsets;
}

void readPacked(const CaseFile& file, AttentionCase& result) {
  for (const char* name : {"seqlens_q", "seqlens_k", "mask", "bias"}) {
    if (file.input(name) != nullptr) {
      throw FileError(file.path, fmt::format("tensor '{}'", name), "present", "a packed case cannot have it");
    }
  }
  result.cuSeqlensQ = readOffsets(file, "cu_seqlens_q", result.seqlenQ);
  result.cuSeqlensK = readOffsets(file, "cu_seqlens_k", result.seqlenK);
  result.batch = static_cast<std::int64_t>(result.cuSeqlensQ->size()) - 1;
  if (result.cuSeqlensK->size() != result.cuSeqlensQ->size()) {
    requireShape(file, "cu_seqlens_k", file.requireInput("cu_seqlens_k").shape(), {result.batch + 1});
  }
}

void readOptions(const CaseFile& file, AttentionCase& result) {
  result.causal = causalOf(file);
  for (const auto& [key, value] :
       {std::pair("window_left", &result.windowLeft), {"window_right", &result.windowRight}}) {
    *value = file.integer(key).value_or(-1);
    if (*value < -1) {
      throw FileError(file.path, fmt::format("metadata '{}'", key), fmt::format("{}", *value),
                      "it must be a distance or -1 for unbounded");
    }
  }
  result.softmaxScale = file.number("softmax_scale");
  if (result.softmaxScale && !std::isfinite(*result.softmaxScale)) {
    throw FileError(file.path, "metadata 'softmax_scale'", fmt::format("{}", *result.softmaxScale),
                    "it must be finite");
  }
  result.temperature = file.number("temperature").value_or(1);
  if (!(result.temperature > 0) || std::isinf(result.temperature)) {
    throw FileError(file.path, "metadata 'temperature'", fmt::format("{}", result.temperature),
                    "it must be finite and greater than 0");
  }
  result.softcap = file.number("softcap").value_or(0);
  if (!(result.softcap >= 0) || std::isinf(result.softcap)) {
    throw FileError(file.path, "metadata 'softcap'", fmt::format("{}", result.softcap),
                    "it must be 0 (none) or finite and greater than 0");
  }
  const std::string normalizer = file.text("normalizer", "softmax");
  result.normalizer = normalizer == "sigmoid" ? Normalizer::Sigmoid
                      : normalizer == "relu"  ? Normalizer::Relu
                                              : Normalizer::Softmax;
  result.sigmoidBias = file.number("sigmoid_bias").value_or(0);
}

}  // namespace

Causal causalOf(const CaseFile& file) {
  const std::string causal = file.text("causal", "none");
  return causal == "bottom_right" ? Causal::BottomRight
         : causal == "top_left"   ? Causal::TopLeft
                                  : Causal::None;
}

AttentionCase readAttentionCase(const CaseFile& file) {
  AttentionCase result;
  result.q = file.requireInput("q");
  result.k = file.requireInput("k");
  result.v = file.requireInput("v");
  result.packed = file.input("cu_seqlens_q") != nullptr || file.input("cu_seqlens_k") != nullptr;
  readSizes(file, result);
  readScales(file, result);
  if (result.packed) {
    readPacked(file, result);
  } else {
    const Shape scores = {result.batch, result.numHeadsQ, result.seqlenQ, result.seqlenK};
    result.bias = readBroadcast(file, "bias", scores);
    result.mask = readBroadcast(file, "mask", scores);
    result.seqlensQ = readLengths(file, "seqlens_q", result.batch, result.seqlenQ);
    result.seqlensK = readLengths(file, "seqlens_k", result.batch, result.seqlenK);
  }
  result.alibiSlopes = readBroadcast(file, "alibi_slopes", {result.batch, result.numHeadsQ});
  if (result.alibiSlopes && result.alibiSlopes->shape()[1] != result.numHeadsQ) {
    refuseShape(file, "alibi_slopes", result.alibiSlopes->shape(),
                fmt::format("[{} or 1,{}]", result.batch, result.numHeadsQ));
  }
  if (const TensorData* sink = file.input("sink")) {
    requireShape(file, "sink", sink->shape(), {result.numHeadsQ});
    result.sink = *sink;
  }
  readOptions(file, result);
  return result;
}

}  // namespace saccade::io
