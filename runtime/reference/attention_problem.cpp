// SPDX-License-Identifier: Apache-2.0
#include "reference/attention_problem.hpp"

#include <cmath>

#include "io/special_values.hpp"

namespace saccade::reference {

namespace {

// What the elements of k or v stand for: each times the scale of its block, which counts as NaN unless it is finite.
std::vector<double> scaledValues(const io::TensorData& stored, const std::optional<io::TensorData>& scale, std::int64_t block,
                                 bool packed) {
  std::vector<double> values = stored.toDoubles();
  if (!scale) {
    return values;
  }
  const std::vector<double> factors = scale->toDoubles();
  const std::array<std::int64_t, 4> steps = broadcastStrides({scale->shape()[0], scale->shape()[1], scale->shape()[2], 1});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const io::Shape at = io::unflatten(i, stored.shape());
    const std::int64_t entry = packed ? 0 : at[0], token = packed ? at[0] : at[2];
    const std::int64_t index = entry * steps[0] + at[1] * steps[1] + (block == 0 ? 0 : token / block) * steps[2];
    const double factor = factors[static_cast<std::size_t>(index)];
    values[i] *= std::isfinite(factor) ? factor : kNan;
  }
  return values;
}

std::array<std::int64_t, 4> fourSizes(const io::TensorData& tensor) {
  const io::Shape& shape = tensor.shape();
  return {shape[0], shape[1], shape[2], shape[3]};
}

// Packed tensors are [tokens, heads, channels]: no batch, and the head is inside the token.
std::array<std::int64_t, 4> packedStrides(const io::TensorData& tensor) {
  const std::int64_t heads = tensor.shape()[1];
  const std::int64_t channels = tensor.shape()[2];
  return {0, channels, heads * channels, 1};
}

View4<double> viewOf(const io::TensorData& tensor, const std::vector<double>& values, bool packed) {
  return {values.data(), packed ? packedStrides(tensor) : broadcastStrides(fourSizes(tensor))};
}

}  // namespace

std::array<std::int64_t, 4> broadcastStrides(const std::array<std::int64_t, 4>& shape) {
  std::array<std::int64_t, 4> strides{};
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = shape[axis] == 1 ? 0 : step;
    step *= shape[axis];
  }
  return strides;
}

double AttentionProblem::scale() const {
  return softmaxScale.value_or(1.0 / std::sqrt(static_cast<double>(headDimQk))) / temperature;
}

OwnedProblem problemFromCase(const io::AttentionCase& given) {
  OwnedProblem owned;
  AttentionProblem& problem = owned.problem;
  problem.batch = given.batch;
  problem.numHeadsQ = given.numHeadsQ;
  problem.numHeadsKv = given.numHeadsKv;
  problem.seqlenQ = given.seqlenQ;
  problem.seqlenK = given.seqlenK;
  problem.headDimQk = given.headDimQk;
  problem.headDimV = given.headDimV;

  owned.q = given.q.toDoubles();
  owned.k = scaledValues(given.k, given.kScale, given.scaleBlock, given.packed);
  owned.v = scaledValues(given.v, given.vScale, given.scaleBlock, given.packed);
  problem.q = viewOf(given.q, owned.q, given.packed);
  problem.k = viewOf(given.k, owned.k, given.packed);
  problem.v = viewOf(given.v, owned.v, given.packed);
  if (given.bias) {
    owned.bias = given.bias->toDoubles();
    problem.bias = viewOf(*given.bias, owned.bias, false);
  }
  if (given.mask) {
    owned.mask = given.mask->toBytes();
    problem.mask = {owned.mask.data(), broadcastStrides(fourSizes(*given.mask))};
  }
  if (given.alibiSlopes) {
    owned.alibiSlopes = given.alibiSlopes->toDoubles();
    problem.alibiSlopes = owned.alibiSlopes;
    problem.alibiBatchStride = given.alibiSlopes->shape()[0] == 1 ? 0 : given.numHeadsQ;
  }
  if (given.sink) {
    owned.sink = given.sink->toDoubles();
    problem.sink = owned.sink;
  }
  problem.seqlensQ = owned.seqlensQ = given.seqlensQ.value_or(std::vector<std::int32_t>{});
  problem.seqlensK = owned.seqlensK = given.seqlensK.value_or(std::vector<std::int32_t>{});
  problem.cuSeqlensQ = owned.cuSeqlensQ = given.cuSeqlensQ.value_or(std::vector<std::int32_t>{});
  problem.cuSeqlensK = owned.cuSeqlensK = given.cuSeqlensK.value_or(std::vector<std::int32_t>{});

  problem.causal = given.causal;
  problem.windowLeft = given.windowLeft;
  problem.windowRight = given.windowRight;
  problem.softmaxScale = given.softmaxScale;
  problem.temperature = given.temperature;
  problem.softcap = given.softcap;
  problem.normalizer = given.normalizer;
  problem.sigmoidBias = given.sigmoidBias;
  return owned;
}

std::vector<Sequence> splitSequences(const AttentionProblem& packed) {
  std::vector<Sequence> sequences;
  for (std::int64_t b = 0; b < packed.batch; ++b) {
    const auto index = static_cast<std::size_t>(b);
    Sequence sequence{packed, packed.cuSeqlensQ[index], packed.cuSeqlensK[index]};
    AttentionProblem& problem = sequence.problem;
    problem.batch = 1;
    problem.seqlenQ = packed.cuSeqlensQ[index + 1] - sequence.firstQuery;
    problem.seqlenK = packed.cuSeqlensK[index + 1] - sequence.firstKey;
    problem.q.data += sequence.firstQuery * problem.q.strides[2];
    problem.k.data += sequence.firstKey * problem.k.strides[2];
    problem.v.data += sequence.firstKey * problem.v.strides[2];
    problem.cuSeqlensQ = problem.cuSeqlensK = {};
    if (!packed.alibiSlopes.empty()) {
      problem.alibiSlopes = packed.alibiSlopes.subspan(static_cast<std::size_t>(b * packed.alibiBatchStride));
      problem.alibiBatchStride = 0;
    }
    sequences.push_back(sequence);
  }
  return sequences;
}

}  // namespace saccade::reference
