// SPDX-License-Identifier: Apache-2.0
#include "reference/visibility.hpp"

#include <algorithm>
#include <cmath>

#include "io/special_values.hpp"

namespace saccade::reference {

namespace {

std::int64_t clampedLength(std::span<const std::int32_t> lengths, std::int64_t b, std::int64_t longest) {
  if (lengths.empty()) {
    return longest;
  }
  return std::clamp<std::int64_t>(lengths[static_cast<std::size_t>(b)], 0, longest);
}

}  // namespace

std::int64_t lengthQ(const AttentionProblem& problem, std::int64_t b) {
  return clampedLength(problem.seqlensQ, b, problem.seqlenQ);
}

std::int64_t lengthK(const AttentionProblem& problem, std::int64_t b) {
  return clampedLength(problem.seqlensK, b, problem.seqlenK);
}

std::int64_t diagonalOffset(const AttentionProblem& problem, std::int64_t b) {
  return problem.causal == Causal::TopLeft ? 0 : lengthK(problem, b) - lengthQ(problem, b);
}

bool isVisible(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t j) {
  if (i >= lengthQ(problem, b) || j >= lengthK(problem, b)) {
    return false;
  }
  const std::int64_t ahead = j - (i + diagonalOffset(problem, b));  // of the diagonal; a window may reach up to 2^63 - 1
  if (problem.causal != Causal::None && ahead > 0) {
    return false;
  }
  if (problem.windowLeft >= 0 && -ahead > problem.windowLeft) {
    return false;
  }
  if (problem.windowRight >= 0 && ahead > problem.windowRight) {
    return false;
  }
  if (problem.mask.data != nullptr && problem.mask.at(b, h, i, j) == 0) {
    return false;
  }
  return problem.bias.data == nullptr ||
         problem.bias.at(b, h, i, j) != -kInfinity;
}

bool seesAnyKey(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i) {
  for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
    if (isVisible(problem, b, h, i, j)) {
      return true;
    }
  }
  return false;
}

double score(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i,
             std::int64_t j) {
  const double* q = problem.q.row(b, h, i);
  const double* k = problem.k.row(b, problem.kvHead(h), j);
  double dot = 0;
  for (std::int64_t c = 0; c < problem.headDimQk; ++c) {
    dot += q[c * problem.q.strides[3]] * k[c * problem.k.strides[3]];
  }
  double s = problem.scale() * dot;
  if (problem.softcap > 0) {
    s = problem.softcap * std::tanh(s / problem.softcap);
  }
  if (problem.bias.data != nullptr) {
    s += problem.bias.at(b, h, i, j);
  }
  if (!problem.alibiSlopes.empty()) {
    const double slope = problem.alibiSlopes[static_cast<std::size_t>(b * problem.alibiBatchStride + h)];
    s -= slope * static_cast<double>(std::abs(i + diagonalOffset(problem, b) - j));
  }
  return s;
}

}  // namespace saccade::reference
