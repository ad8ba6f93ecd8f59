// SPDX-License-Identifier: Apache-2.0
#include "bench_unfused.hpp"

#include <cmath>
#include <limits>

#include "bench_attention_shape.hpp"
#include "bench_memory.hpp"
#include "check/dtype.hpp"

namespace saccade::tool {

io::TensorData scaled(const io::TensorData& q) {
  std::vector<float> values = q.toFloats();
  const float scale = 1 / std::sqrt(static_cast<float>(q.shape().back()));
  for (float& value : values) value *= scale;
  return io::TensorData::fromFloats(q.dtype(), q.shape(), values);
}

io::TensorData reversedRows(const io::TensorData& tensor) {
  const auto width = static_cast<std::size_t>(tensor.shape().back()) * io::dtypeSize(tensor.dtype());
  const auto rows = static_cast<std::size_t>(tensor.shape()[tensor.rank() - 2]);
  std::vector<std::byte> bytes;
  bytes.reserve(tensor.bytes().size());
  for (std::size_t matrix = 0; matrix < tensor.bytes().size(); matrix += rows * width) {
    for (std::size_t row = rows; row-- > 0;) {
      const auto source = tensor.bytes().subspan(matrix + row * width, width);
      bytes.insert(bytes.end(), source.begin(), source.end());
    }
  }
  return io::TensorData(tensor.dtype(), tensor.shape(), std::move(bytes));
}

Shape scoresShape(const AttentionShape& s) { return {s.batch, s.heads, s.seqlenQ, s.seqlenK}; }

std::uint64_t scoresBytes(const AttentionShape& s, io::DType dtype) {
  return static_cast<std::uint64_t>(io::elementCount(scoresShape(s))) * io::dtypeSize(dtype);
}

Tensor hiddenScores(const Device& device, const AttentionShape& s) {
  if (s.causal == Causal::None && s.windowLeft < 0 && s.windowRight < 0) return {};
  const std::int64_t t = s.seqlenK;
  std::vector<float> sums(static_cast<std::size_t>(2 * t - 1));  // by row + reversed key
  for (std::int64_t sum = 0; sum < 2 * t - 1; ++sum) {
    const std::int64_t distance = sum - (t - 1);  // row - key
    const bool visible = (s.causal == Causal::None || distance >= 0) &&
                         (s.windowLeft < 0 || distance <= s.windowLeft) &&
                         (s.windowRight < 0 || -distance <= s.windowRight);
    sums[static_cast<std::size_t>(sum)] = visible ? 0 : -std::numeric_limits<float>::infinity();
  }
  return Tensor::from(device, Dtype::F32, {2 * t - 1}, sums).asStrided({1, 1, t, t}, {0, 0, 1, 1});
}

void requireUnfused(const Device& device, const AttentionShape& s, io::DType dtype) {
  const Dtype type = check::deviceDtype(dtype);
  device.plan(MatmulDesc{.a = {.dtype = type, .sizes = {s.batch, s.heads, s.seqlenQ, s.headDim}},
                         .b = {.dtype = type, .sizes = {s.batch, s.headsKv, s.seqlenK, s.headDim}}});
  requireMemory(device, shapeText(s), tensorBytes(s, dtype) + scoresBytes(s, dtype), tensorBytes(s, dtype));
}

}  // namespace saccade::tool
