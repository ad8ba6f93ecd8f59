// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bench_workload.hpp"
#include "check/dtype.hpp"
#include "reference/attention.hpp"
#include "reference/compare.hpp"
#include "reference/tolerance.hpp"

namespace saccade::tool {

namespace {

constexpr std::int64_t kSampledRows = 32;

std::string shapeText(const AttentionShape& s) {
  std::string text = fmt::format("B{} H{}", s.batch, s.heads);
  if (s.headsKv != s.heads) {
    text += fmt::format("/{}", s.headsKv);
  }
  text += s.seqlenQ == s.seqlenK ? fmt::format(" T{}", s.seqlenQ)
                                 : fmt::format(" Tq{} Tk{}", s.seqlenQ, s.seqlenK);
  text += s.headDim == s.headDimV ? fmt::format(" D{}", s.headDim)
                                  : fmt::format(" Dqk{} Dv{}", s.headDim, s.headDimV);
  if (s.causal != Causal::None) {
    text += s.causal == Causal::TopLeft ? " causal top_left" : " causal";
  }
  return text + (s.lengths ? " lengths" : "");
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
    deviceQ_ = upload(q_);
    deviceK_ = upload(k_);
    deviceV_ = upload(v_);
    out_ = Tensor::empty(device, check::deviceDtype(dtype), {s_.batch, s_.heads, s_.seqlenQ, s_.headDimV});
    options_.causal = s_.causal;
    if (s_.lengths) {
      for (std::int64_t b = 0; b < s_.batch; ++b) {
        lengthsQ_.push_back(static_cast<std::int32_t>(s_.seqlenQ * (4 - b % 4) / 4));
        lengthsK_.push_back(static_cast<std::int32_t>(s_.seqlenK * (4 - b % 4) / 4));
      }
      options_.seqlensQ = Tensor::fromInts(device, {s_.batch}, lengthsQ_);
      options_.seqlensK = Tensor::fromInts(device, {s_.batch}, lengthsK_);
    }
  }

  void record(Stream& stream) override {
    plan_ = stream.attention(deviceQ_, deviceK_, deviceV_, out_, options_);
  }
  std::vector<Candidate> candidates() const override {
    return deviceQ_.device().context().candidates(describeAttention(deviceQ_, deviceK_, deviceV_, out_, options_));
  }
  void useKernel(const std::string& kernel) override { options_.kernel = kernel; }
  std::string kernel() const override { return plan_->info().kernel; }
  double flops() const override { return plan_->info().flops; }
  double bytes() const override { return plan_->info().bytes; }

  Accuracy check() const override {
    const io::TensorData out = check::download(out_, {s_.batch, s_.heads, s_.seqlenQ, s_.headDimV});
    const std::vector<double> q = q_.toDoubles(), k = k_.toDoubles(), v = v_.toDoubles();
    const std::vector<std::int64_t> rows = sampledIndices(s_.batch * s_.heads * s_.seqlenQ, kSampledRows);
    Accuracy accuracy{.passed = true, .sample = sampleText(rows)};
    double worstRatio = -1;
    for (const std::int64_t row : rows) {
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
  // One row of queries as a problem of its own, with the keys that it sees.
  reference::AttentionProblem rowProblem(std::int64_t row, const std::vector<double>& q,
                                         const std::vector<double>& k, const std::vector<double>& v) const {
    const std::int64_t i = row % s_.seqlenQ, h = row / s_.seqlenQ % s_.heads, b = row / s_.seqlenQ / s_.heads;
    const std::int64_t headKv = b * s_.headsKv + h * s_.headsKv / s_.heads;
    const std::int64_t lengthQ = s_.lengths ? lengthsQ_[static_cast<std::size_t>(b)] : s_.seqlenQ;
    std::int64_t visible = s_.lengths ? lengthsK_[static_cast<std::size_t>(b)] : s_.seqlenK;
    if (s_.causal != Causal::None) {
      const std::int64_t offset = s_.causal == Causal::TopLeft ? 0 : visible - lengthQ;
      visible = std::clamp<std::int64_t>(i + offset + 1, 0, visible);
    }
    if (i >= lengthQ) {
      visible = 0;
    }
    reference::AttentionProblem problem;
    problem.batch = problem.numHeadsQ = problem.numHeadsKv = problem.seqlenQ = 1;
    problem.seqlenK = visible;
    problem.headDimQk = s_.headDim;
    problem.headDimV = s_.headDimV;
    problem.q = {q.data() + row * s_.headDim, {0, 0, s_.headDim, 1}};
    problem.k = {k.data() + headKv * s_.seqlenK * s_.headDim, {0, 0, s_.headDim, 1}};
    problem.v = {v.data() + headKv * s_.seqlenK * s_.headDimV, {0, 0, s_.headDimV, 1}};
    return problem;
  }

  AttentionShape s_;
  io::TensorData q_, k_, v_;
  std::vector<std::int32_t> lengthsQ_, lengthsK_;
  Tensor deviceQ_, deviceK_, deviceV_, out_;
  AttentionOptions options_;
  PlanPtr plan_;
};

}  // namespace

std::unique_ptr<Workload> makeWorkload(const Device& device, const AttentionShape& shape, io::DType dtype) {
  // Refuses before gigabytes of inputs are made up.
  const auto tensor = [&](std::int64_t heads, std::int64_t seqlen, std::int64_t headDim) {
    return TensorDesc{.dtype = check::deviceDtype(dtype), .sizes = {shape.batch, heads, seqlen, headDim}};
  };
  device.plan(AttentionDesc{.q = tensor(shape.heads, shape.seqlenQ, shape.headDim),
                            .k = tensor(shape.headsKv, shape.seqlenK, shape.headDim),
                            .v = tensor(shape.headsKv, shape.seqlenK, shape.headDimV),
                            .seqlensQ = shape.lengths,
                            .seqlensK = shape.lengths,
                            .causal = shape.causal});
  return std::make_unique<AttentionWorkload>(device, shape, dtype);
}

}  // namespace saccade::tool
