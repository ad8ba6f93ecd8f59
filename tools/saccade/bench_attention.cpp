// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bench_attention_shape.hpp"
#include "bench_memory.hpp"
#include "bench_unfused.hpp"
#include "check/dtype.hpp"
#include "check/quantise.hpp"
#include "reference/attention.hpp"
#include "reference/compare.hpp"
#include "reference/tolerance.hpp"

namespace saccade::tool {

namespace {

// Rows [first, first + count) of a tensor whose last axis is a row.
std::vector<double> rowsOf(const io::TensorData& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t width = tensor.shape().back();
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count * width));
  for (std::int64_t i = first * width; i < (first + count) * width; ++i) {
    values.push_back(tensor.at(static_cast<std::size_t>(i)));
  }
  return values;
}

class AttentionWorkload final : public Workload {
 public:
  AttentionWorkload(const Device& device, const AttentionShape& shape, io::DType dtype)
      : Workload("attention", shape.name, shapeText(shape)),
        s_(shape),
        q_(randomTensor(dtype, {s_.batch, s_.heads, s_.seqlenQ, s_.headDim}, 1)),
        k_(randomTensor(dtype, {s_.batch, s_.headsKv, s_.seqlenK, s_.headDim}, 2)),
        v_(randomTensor(dtype, {s_.batch, s_.headsKv, s_.seqlenK, s_.headDimV}, 3)) {
    const auto upload = [&](const io::TensorData& data) {
      return Tensor::fromBytes(device, check::deviceDtype(dtype), data.shape(), data.bytes());
    };
    if (s_.kvDtype) {
      quantise(k_, options_.kScale, deviceK_, device);
      quantise(v_, options_.vScale, deviceV_, device);
      options_.scaleBlock = static_cast<std::uint32_t>(s_.scaleBlock);
    }
    deviceQ_ = s_.fused ? upload(q_) : upload(scaled(q_));
    if (!s_.kvDtype) {
      deviceK_ = s_.fused ? upload(k_) : upload(reversedRows(k_));
      deviceV_ = s_.fused ? upload(v_) : upload(reversedRows(v_));
    }
    if (!s_.fused) {
      scores_ = Tensor::empty(device, check::deviceDtype(dtype), scoresShape(s_));
      hidden_ = hiddenScores(device, s_);
    }
    out_ = Tensor::empty(device, check::deviceDtype(dtype), {s_.batch, s_.heads, s_.seqlenQ, s_.headDimV});
    options_.causal = s_.causal;
    options_.windowLeft = s_.windowLeft;
    options_.windowRight = s_.windowRight;
    if (!s_.lengths.empty()) {
      options_.seqlensK = Tensor::fromInts(device, {s_.batch}, s_.lengths);
      if (s_.seqlenQ == s_.seqlenK) options_.seqlensQ = options_.seqlensK;
    }
  }

  void record(Stream& stream) override {
    if (s_.fused) {
      plan_ = stream.attention(deviceQ_, deviceK_, deviceV_, out_, options_);
      return;
    }
    stream.matmul(deviceQ_, deviceK_, scores_, {.residual = hidden_});
    stream.softmax(scores_, scores_);
    stream.matmul(scores_, deviceV_.transpose(-1, -2), out_);
  }
  std::vector<Candidate> candidates() const override {
    return deviceQ_.device().context().candidates(describeAttention(deviceQ_, deviceK_, deviceV_, out_, options_));
  }
  void useKernel(const std::string& kernel) override { options_.kernel = kernel; }
  std::string kernel() const override { return s_.fused ? plan_->info().kernel : "unfused"; }
  double flops() const override { return conventionalFlops(s_); }
  double usefulFlops() const override { return tool::usefulFlops(s_); }
  double bytes() const override { return static_cast<double>(tensorBytes(s_, q_.dtype())); }
  std::uint64_t intermediateBytes() const override { return s_.fused ? 0 : scoresBytes(s_, q_.dtype()); }

  Accuracy check() const override {
    const io::TensorData out = check::download(out_, {s_.batch, s_.heads, s_.seqlenQ, s_.headDimV});
    const std::vector<std::int64_t> rows = sampledIndices(s_.batch * s_.heads * s_.seqlenQ, kSampledRows);
    Accuracy accuracy{.passed = true, .sample = sampleText(rows)};
    double worstRatio = -1;
    for (const std::int64_t row : rows) {
      std::vector<double> q, k, v;
      const reference::AttentionProblem problem = rowProblem(row, q, k, v);
      const reference::AttentionResult expected = reference::attention(problem);
      const auto tolerance = reference::attentionTolerances(problem, q_.dtype(), expected).out;
      std::vector<double> got;
      for (std::int64_t d = 0; d < s_.headDimV; ++d) {
        got.push_back(out.at(static_cast<std::size_t>(row * s_.headDimV + d)));
      }
      const auto comparison = reference::compareTensor(
          "out", io::TensorData::fromDoubles(io::DType::F64, {s_.headDimV}, got),
          io::TensorData::fromDoubles(io::DType::F64, {s_.headDimV}, expected.out), tolerance);
      accuracy.passed = accuracy.passed && comparison.passed;
      accuracy.error = std::max(accuracy.error, comparison.error);
      if (comparison.ratio > worstRatio) {
        worstRatio = comparison.ratio;
        accuracy.allowed = comparison.allowed;
      }
    }
    return accuracy;
  }

 private:
  // Quantised on the device; on the host the numbers that this stands for, which the scalar path computes with.
  void quantise(io::TensorData& values, Tensor& scales, Tensor& stored, const Device& device) const {
    const check::Quantised quantised = check::quantise(values, *s_.kvDtype, s_.scaleBlock);
    stored = Tensor::fromBytes(device, check::deviceDtype(*s_.kvDtype), values.shape(), quantised.stored.bytes());
    scales = Tensor::fromBytes(device, Dtype::F32, quantised.scales.shape(), quantised.scales.bytes());
    const std::int64_t channels = values.shape()[3], tokens = values.shape()[2];
    const std::int64_t length = s_.scaleBlock == 0 ? tokens : s_.scaleBlock, blocks = quantised.scales.shape()[2];
    std::vector<double> numbers = quantised.stored.toDoubles();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / channels;
      numbers[i] *= quantised.scales.at(static_cast<std::size_t>(row / tokens * blocks + row % tokens / length));
    }
    values = io::TensorData::fromDoubles(io::DType::F64, values.shape(), numbers);
  }

  // One row of queries as a problem of its own, with the keys that it sees, whose values q, k and v receive.
  reference::AttentionProblem rowProblem(std::int64_t row, std::vector<double>& q, std::vector<double>& k,
                                         std::vector<double>& v) const {
    const std::int64_t i = row % s_.seqlenQ, h = row / s_.seqlenQ % s_.heads, b = row / s_.seqlenQ / s_.heads;
    const std::int64_t headKv = b * s_.headsKv + h * s_.headsKv / s_.heads;
    const VisibleKeys visible = visibleKeys(s_, b, i);
    const std::int64_t firstKey = headKv * s_.seqlenK + visible.begin;
    reference::AttentionProblem problem;
    problem.batch = problem.numHeadsQ = problem.numHeadsKv = problem.seqlenQ = 1;
    problem.seqlenK = visible.count();
    problem.headDimQk = s_.headDim;
    problem.headDimV = s_.headDimV;
    q = rowsOf(q_, row, 1);
    k = rowsOf(k_, firstKey, visible.count());
    v = rowsOf(v_, firstKey, visible.count());
    problem.q = {q.data(), {0, 0, s_.headDim, 1}};
    problem.k = {k.data(), {0, 0, s_.headDim, 1}};
    problem.v = {v.data(), {0, 0, s_.headDimV, 1}};
    return problem;
  }

  AttentionShape s_;
  io::TensorData q_, k_, v_;
  Tensor deviceQ_, deviceK_, deviceV_, out_;
  Tensor scores_, hidden_;  // without fusion
  AttentionOptions options_;
  PlanPtr plan_;
};

}  // namespace

void requireWorkload(const Device& device, const AttentionShape& shape, io::DType dtype) {
  if (!shape.fused) return requireUnfused(device, shape, dtype);
  const auto tensor = [&](std::int64_t heads, std::int64_t seqlen, std::int64_t headDim, io::DType stored) {
    return TensorDesc{.dtype = check::deviceDtype(stored), .sizes = {shape.batch, heads, seqlen, headDim}};
  };
  const io::DType keys = shape.kvDtype.value_or(dtype);
  const PlanPtr plan =
      device.plan(AttentionDesc{.q = tensor(shape.heads, shape.seqlenQ, shape.headDim, dtype),
                                .k = tensor(shape.headsKv, shape.seqlenK, shape.headDim, keys),
                                .v = tensor(shape.headsKv, shape.seqlenK, shape.headDimV, keys),
                                .seqlensQ = !shape.lengths.empty() && shape.seqlenQ == shape.seqlenK,
                                .seqlensK = !shape.lengths.empty(),
                                .causal = shape.causal,
                                .windowLeft = shape.windowLeft,
                                .windowRight = shape.windowRight});
  requireMemory(device, shapeText(shape), tensorBytes(shape, dtype) + plan->info().scratchBytes,
                tensorBytes(shape, dtype));
}

std::unique_ptr<Workload> makeWorkload(const Device& device, const AttentionShape& shape, io::DType dtype) {
  requireWorkload(device, shape, dtype);
  return std::make_unique<AttentionWorkload>(device, shape, dtype);
}

}  // namespace saccade::tool
