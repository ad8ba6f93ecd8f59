// SPDX-License-Identifier: Apache-2.0
#include "reference/plain_fp32.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "io/special_values.hpp"
#include "reference/assemble_rows.hpp"
#include "reference/visibility.hpp"

namespace saccade::reference {

namespace {

// One query row: its visible keys and their scores; then what a formulation makes of them.
struct FloatRow {
  std::vector<std::int64_t> keys;
  std::vector<float> scores;
  std::vector<float> weights;
  std::vector<float> out;
  float lse = -kInfinity;
};

struct Place {
  std::int64_t b, h, i;
};

float floatScore(const AttentionProblem& problem, const Place& at, std::int64_t j, bool scaleQuery) {
  const auto scale = static_cast<float>(problem.scale());
  const double* query = problem.q.row(at.b, at.h, at.i);
  const double* key = problem.k.row(at.b, problem.kvHead(at.h), j);
  float dot = 0;
  for (std::int64_t c = 0; c < problem.headDimQk; ++c) {
    const auto q = static_cast<float>(query[c * problem.q.strides[3]]);
    const auto k = static_cast<float>(key[c * problem.k.strides[3]]);
    dot += (scaleQuery ? q * scale : q) * k;
  }
  float s = scaleQuery ? dot : dot * scale;
  if (problem.softcap > 0) {
    const auto cap = static_cast<float>(problem.softcap);
    s = cap * std::tanh(s / cap);
  }
  if (problem.bias.data != nullptr) {
    s += static_cast<float>(problem.bias.at(at.b, at.h, at.i, j));
  }
  if (!problem.alibiSlopes.empty()) {
    const auto slope = static_cast<float>(
        problem.alibiSlopes[static_cast<std::size_t>(at.b * problem.alibiBatchStride + at.h)]);
    s -= slope * static_cast<float>(std::abs(at.i + diagonalOffset(problem, at.b) - j));
  }
  return s;
}

FloatRow gatherRow(const AttentionProblem& problem, const Place& at, bool scaleQuery) {
  FloatRow row;
  for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
    if (!isVisible(problem, at.b, at.h, at.i, j)) {
      continue;
    }
    const float s = floatScore(problem, at, j, scaleQuery);
    if (s != -kInfinity) {
      row.keys.push_back(j);
      row.scores.push_back(s);
    }
  }
  row.weights.resize(row.keys.size());
  row.out.assign(static_cast<std::size_t>(problem.headDimV), 0.0f);
  return row;
}

class RowComputer {
 public:
  RowComputer(const AttentionProblem& problem, const Place& at, std::optional<io::DType> storage)
      : problem_(problem),
        at_(at),
        storage_(storage),
        sink_(problem.sink.empty() ? -kInfinity
                                   : static_cast<float>(problem.sink[static_cast<std::size_t>(at.h)])) {}

  void unfused(FloatRow& row) const {
    const float highest = maximum(row);
    float sum = std::exp(sink_ - highest);
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      row.weights[n] = std::exp(row.scores[n] - highest);
      sum += row.weights[n];
    }
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      row.weights[n] /= sum;
      addValue(row.out, row.weights[n], row.keys[n]);
    }
    row.lse = highest + std::log(sum);
  }

  void dividedLast(FloatRow& row) const {
    const float highest = maximum(row);
    float sum = std::exp(sink_ - highest);
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      row.weights[n] = std::exp(row.scores[n] - highest);
      sum += row.weights[n];
      addValue(row.out, row.weights[n], row.keys[n]);
    }
    divide(row, sum);
    row.lse = highest + std::log(sum);
  }

  void online(FloatRow& row) const {
    float highest = sink_;
    float sum = sink_ == -kInfinity ? 0.0f : 1.0f;
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      const float raised = std::max(highest, row.scores[n]);
      const float rescale = std::exp(highest - raised);
      const float weight = std::exp(row.scores[n] - raised);
      for (float& value : row.out) {
        value *= rescale;
      }
      addValue(row.out, weight, row.keys[n]);
      sum = sum * rescale + weight;
      highest = raised;
    }
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      row.weights[n] = std::exp(row.scores[n] - highest);
    }
    divide(row, sum);
    row.lse = highest + std::log(sum);
  }

  void exp2Tiles(FloatRow& row) const {
    constexpr std::size_t kTile = 32;
    constexpr float kLog2E = std::numbers::log2e_v<float>;
    const float highest = maximum(row);
    float sum = std::exp2((sink_ - highest) * kLog2E);
    for (std::size_t first = 0; first < row.keys.size(); first += kTile) {
      float tileSum = 0;
      std::vector<float> tileOut(row.out.size(), 0.0f);
      for (std::size_t n = first; n < std::min(first + kTile, row.keys.size()); ++n) {
        row.weights[n] = std::exp2((row.scores[n] - highest) * kLog2E);
        tileSum += row.weights[n];
        addValue(tileOut, row.weights[n], row.keys[n]);
      }
      sum += tileSum;
      std::transform(row.out.begin(), row.out.end(), tileOut.begin(), row.out.begin(), std::plus<>());
    }
    divide(row, sum);
    row.lse = highest + std::log(sum);
  }

  void withoutSoftmax(FloatRow& row) const {
    const auto bias = static_cast<float>(problem_.sigmoidBias);
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      row.weights[n] = problem_.normalizer == Normalizer::Sigmoid
                           ? 1 / (1 + std::exp(-(row.scores[n] + bias)))
                           : std::max(row.scores[n], 0.0f) / static_cast<float>(row.keys.size());
      addValue(row.out, row.weights[n], row.keys[n]);
    }
  }

 private:
  float maximum(const FloatRow& row) const {
    return std::max(*std::max_element(row.scores.begin(), row.scores.end()), sink_);
  }

  void addValue(std::vector<float>& out, float weight, std::int64_t j) const {
    if (storage_) {
      weight = static_cast<float>(io::roundedTo(*storage_, double{weight}));
    }
    const double* value = problem_.v.row(at_.b, problem_.kvHead(at_.h), j);
    for (std::int64_t c = 0; c < problem_.headDimV; ++c) {
      out[static_cast<std::size_t>(c)] += weight * static_cast<float>(value[c * problem_.v.strides[3]]);
    }
  }

  static void divide(FloatRow& row, float sum) {
    for (float& value : row.out) {
      value /= sum;
    }
    for (float& weight : row.weights) {
      weight /= sum;
    }
  }

  const AttentionProblem& problem_;
  Place at_;
  std::optional<io::DType> storage_;
  float sink_;
};

FloatRow computeRow(const AttentionProblem& problem, const Place& at, PlainFormulation formulation,
                    std::optional<io::DType> storage) {
  FloatRow row = gatherRow(problem, at, formulation == PlainFormulation::ScaledQuery);
  const RowComputer computer(problem, at, storage);
  if (row.keys.empty()) {
    row.lse =
        problem.sink.empty() ? -kInfinity : static_cast<float>(problem.sink[static_cast<std::size_t>(at.h)]);
  } else if (problem.normalizer != Normalizer::Softmax) {
    computer.withoutSoftmax(row);
  } else {
    switch (formulation) {
      case PlainFormulation::Unfused: computer.unfused(row); break;
      case PlainFormulation::ScaledQuery: computer.dividedLast(row); break;
      case PlainFormulation::Online: computer.online(row); break;
      case PlainFormulation::Exp2: computer.exp2Tiles(row); break;
    }
  }
  return row;
}

}  // namespace

AttentionResult plainFp32Attention(const AttentionProblem& problem, PlainFormulation formulation, Probs probs,
                                   std::optional<io::DType> storage) {
  return assembleRows(problem, probs,
                      [&](const AttentionProblem& part, std::int64_t b, std::int64_t h, std::int64_t i) {
                        FloatRow row = computeRow(part, {b, h, i}, formulation, storage);
                        return RowResult{std::move(row.keys),
                                         {row.weights.begin(), row.weights.end()},
                                         {row.out.begin(), row.out.end()},
                                         double{row.lse}};
                      });
}

}  // namespace saccade::reference
