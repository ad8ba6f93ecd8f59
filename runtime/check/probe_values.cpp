// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "check/probe_rows.hpp"
#include "check/spec_check.hpp"
#include "reference/tolerance.hpp"

// Probes whose right results follow from what is visible alone, without computing a score: they do not rest
// on the scalar path.

namespace saccade::check {

namespace {

using reference::TensorTolerance;

io::TensorData constants(const io::TensorData& like, double value) {
  return io::TensorData::fromDoubles(like.dtype(), like.shape(),
                                     std::vector<double>(like.elementCount(), value));
}

// Sums in fp32 of values up to `magnitude`, rounded once.
TensorTolerance toleranceFor(io::DType storage, double magnitude) {
  return {.absolute = storage == io::DType::F32 ? 2e-6 * std::max(1.0, magnitude)
                                                : io::unitInLastPlace(storage, magnitude)};
}

// The V that query head h reads: [B,Hkv,Tk,Dv], packed [Tk,Hkv,Dv].
class Values {
 public:
  explicit Values(const io::AttentionCase& problem) : problem_(problem), values_(problem.v.toDoubles()) {}

  double at(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t c) const {
    const std::int64_t g = h * problem_.numHeadsKv / problem_.numHeadsQ;
    const std::int64_t row =
        problem_.packed ? j * problem_.numHeadsKv + g : (b * problem_.numHeadsKv + g) * problem_.seqlenK + j;
    return values_[static_cast<std::size_t>(row * problem_.headDimV + c)];
  }

 private:
  const io::AttentionCase& problem_;
  std::vector<double> values_;
};

// Runs a sample and compares with what `expected(row, b, h, c)` says of every element of out; `lse`, if
// given, one value per row.
template <typename Expected>
Outcome runAndCompare(const Device& device, const std::string& kernel, const AttentionSample& sample,
                      const ProbeRows& rows, const TensorTolerance& tolerance, Expected expected,
                      const std::vector<double>& lse = {}) {
  AttentionCall call(device, sample, kernel);
  call.run();
  const AttentionOutputs outputs = call.outputs();
  const std::int64_t headDim = sample.problem.headDimV;
  std::vector<double> out(outputs.out.elementCount());
  rows.forEach([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::size_t row = rows.row(b, h, i);
    for (std::int64_t c = 0; c < headDim; ++c) {
      out[row * static_cast<std::size_t>(headDim) + static_cast<std::size_t>(c)] = expected(row, b, h, c);
    }
  });
  const auto exact = [](const io::TensorData& like, const std::vector<double>& values) {
    return io::TensorData::fromDoubles(io::DType::F64, like.shape(), values);
  };
  std::vector<reference::TensorComparison> tensors = {
      reference::compareTensor("out", outputs.out, exact(outputs.out, out), tolerance)};
  if (sample.lse && !lse.empty()) {
    tensors.push_back(reference::compareTensor(
        "lse", outputs.lse, exact(outputs.lse, lse),
        {.absolute = reference::kLseRelativeTolerance, .relative = reference::kLseRelativeTolerance}));
  }
  return judge(tensors, call.overwritten());
}

}  // namespace

Outcome probeHeads(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                   std::uint64_t seed) {
  AttentionSample sample = makeSample(spec, seed);
  io::AttentionCase& problem = sample.problem;
  const std::size_t headAxis = 1;  // of [B,Hkv,Tk,Dv] and of [Tk,Hkv,Dv]
  std::vector<double> heads(problem.v.elementCount());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    heads[i] = static_cast<double>(io::unflatten(i, problem.v.shape())[headAxis]);
  }
  problem.v = io::TensorData::fromDoubles(spec.dtype, problem.v.shape(), heads);
  const ProbeRows rows(problem);
  return runAndCompare(
      device, kernel, sample, rows, toleranceFor(spec.dtype, static_cast<double>(problem.numHeadsKv)),
      [&](std::size_t row, std::int64_t, std::int64_t h, std::int64_t) {
        return rows.visibleKeys(row) == 0 ? 0.0
                                          : static_cast<double>(h * problem.numHeadsKv / problem.numHeadsQ);
      });
}

Outcome probeKeyCount(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                      std::uint64_t seed) {
  AttentionSample sample = makeSample(spec, seed);
  io::AttentionCase& problem = sample.problem;
  problem.q = constants(problem.q, 0);
  const ProbeRows rows(problem);
  const Values values(problem);
  std::vector<double> lse(rows.count());
  rows.forEach([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    lse[rows.lseIndex(b, h, i)] = std::log(static_cast<double>(rows.visibleKeys(rows.row(b, h, i))));
  });
  const double magnitude = reference::largestMagnitude(problem.v.toDoubles());
  return runAndCompare(
      device, kernel, sample, rows, toleranceFor(spec.dtype, magnitude),
      [&](std::size_t row, std::int64_t b, std::int64_t h, std::int64_t c) {
        double sum = 0;
        for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
          sum += rows.sees(row, j) ? values.at(b, h, j, c) : 0;
        }
        const std::size_t count = rows.visibleKeys(row);
        return count == 0 ? 0 : sum / static_cast<double>(count);
      },
      lse);
}

Outcome probeOneKey(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                    std::uint64_t seed) {
  constexpr double kLarge = 60;  // scores of some thousands, of both signs
  AttentionSample sample = makeSample(spec, seed);
  io::AttentionCase& problem = sample.problem;
  for (io::TensorData* data : {&problem.q, &problem.k}) {
    std::vector<double> numbers = data->toDoubles();
    std::transform(numbers.begin(), numbers.end(), numbers.begin(), [](double x) { return kLarge * x; });
    *data = io::TensorData::fromDoubles(spec.dtype, data->shape(), numbers);
  }
  const ProbeRows rows(problem);
  const Values values(problem);
  std::vector<std::int64_t> lone(rows.count(), -1);
  for (std::size_t row = 0; row < rows.count(); ++row) {
    for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
      lone[row] = rows.sees(row, j) ? j : lone[row];
    }
    if (rows.visibleKeys(row) > 1) {
      return {.state = State::NotRun,
              .reason = "one_key needs a problem whose rows see one key at most",
              .worst = {}};
    }
  }
  const double magnitude = reference::largestMagnitude(problem.v.toDoubles());
  return runAndCompare(device, kernel, sample, rows, toleranceFor(spec.dtype, magnitude),
                       [&](std::size_t row, std::int64_t b, std::int64_t h, std::int64_t c) {
                         return lone[row] < 0 ? 0 : values.at(b, h, lone[row], c);
                       });
}

}  // namespace saccade::check
