// SPDX-License-Identifier: Apache-2.0
#include "reference/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/plain_fp32.hpp"
#include "reference/visibility.hpp"

namespace saccade::reference {

namespace {

constexpr double kFp32Tolerance = 2e-6;
constexpr double kFp32Multiple = 4;
constexpr double kRoundedMultiple = 2;

// The largest finite |v| among keys that some row sees.
double largestVisibleValue(const AttentionProblem& problem) {
  double largest = 0;
  if (problem.packed()) {
    for (const Sequence& sequence : splitSequences(problem)) {
      largest = std::max(largest, largestVisibleValue(sequence.problem));
    }
    return largest;
  }
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.numHeadsQ; ++h) {
      for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
        bool seen = false;
        for (std::int64_t i = 0; i < problem.seqlenQ && !seen; ++i) {
          seen = isVisible(problem, b, h, i, j);
        }
        const double* v = problem.v.row(b, problem.kvHead(h), j);
        for (std::int64_t c = 0; c < problem.headDimV && seen; ++c) {
          const double value = std::abs(v[c * problem.v.strides[3]]);
          largest = std::isfinite(value) ? std::max(largest, value) : largest;
        }
      }
    }
  }
  return largest;
}

// lse has a relative tolerance as well; only where 4 times the plain error exceeds that must the absolute one
// be larger.
TensorTolerance lseTolerance(std::span<const double> expected,
                             std::span<const std::vector<double>> plainFp32) {
  TensorTolerance tolerance{.absolute = kFp32Tolerance, .relative = kLseRelativeTolerance};
  for (const std::vector<double>& plain : plainFp32) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double wanted = kFp32Multiple * std::abs(plain[i] - expected[i]);
      if (std::isfinite(wanted) && wanted > tolerance.relative * std::abs(expected[i])) {
        tolerance.absolute = std::max(tolerance.absolute, wanted);
      }
    }
  }
  return tolerance;
}

}  // namespace

double worstError(std::span<const double> got, std::span<const double> expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(got[i] - expected[i]);
    if (std::isfinite(error)) {
      worst = std::max(worst, error);
    }
  }
  return worst;
}

double largestMagnitude(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) {
      largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

TensorTolerance toleranceFromPlain(io::DType storage, std::span<const double> expected,
                                   std::span<const std::vector<double>> plainFp32, double magnitude) {
  if (storage == io::DType::F32) {
    double worst = 0;
    for (const std::vector<double>& plain : plainFp32) {
      worst = std::max(worst, worstError(plain, expected));
    }
    return {.absolute = std::max(kFp32Tolerance * std::max(1.0, magnitude), kFp32Multiple * worst)};
  }
  std::vector<double> rounded = plainFp32.front();
  std::transform(rounded.begin(), rounded.end(), rounded.begin(),
                 [storage](double value) { return io::roundedTo(storage, value); });
  return {.absolute = std::max(kRoundedMultiple * worstError(rounded, expected),
                               io::unitInLastPlace(storage, magnitude))};
}

AttentionTolerances attentionTolerances(const AttentionProblem& problem, io::DType storage,
                                        const AttentionResult& expected) {
  const Probs probs = expected.probs.empty() ? Probs::Skip : Probs::Store;
  std::vector<std::vector<double>> outs, lses, weights;
  for (const PlainFormulation formulation : kPlainFormulations) {
    AttentionResult plain = plainFp32Attention(problem, formulation, probs);
    outs.push_back(std::move(plain.out));
    lses.push_back(std::move(plain.lse));
    weights.push_back(std::move(plain.probs));
  }
  const double magnitude = largestVisibleValue(problem);
  AttentionTolerances tolerances;
  tolerances.out = toleranceFromPlain(storage, expected.out, outs, magnitude);
  tolerances.lse = lseTolerance(expected.lse, lses);
  if (probs == Probs::Store) {
    tolerances.probs = toleranceFromPlain(io::DType::F32, expected.probs, weights, 1);
  }
  tolerances.outRoundedP = tolerances.out;
  if (storage != io::DType::F32) {
    const std::vector<double> roundedP[] = {
        plainFp32Attention(problem, PlainFormulation::Unfused, Probs::Skip, storage).out};
    tolerances.outRoundedP = toleranceFromPlain(storage, expected.out, roundedP, magnitude);
  }
  return tolerances;
}

}  // namespace saccade::reference
