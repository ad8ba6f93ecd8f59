// SPDX-License-Identifier: Apache-2.0
#include "reference/attention.hpp"

#include <utility>

#include "io/special_values.hpp"
#include "reference/assemble_rows.hpp"
#include "reference/normalizers.hpp"
#include "reference/visibility.hpp"

namespace saccade::reference {

namespace {

// The keys that a row sees, with their scores. A score of -inf hides its key, wherever it comes from.
Row gatherRow(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i) {
  Row row;
  for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
    if (!isVisible(problem, b, h, i, j)) {
      continue;
    }
    const double s = score(problem, b, h, i, j);
    if (s != -kInfinity) {
      row.keys.push_back(j);
      row.weights.push_back(s);
    }
  }
  return row;
}

// Turns the scores of a row into weights; returns its lse (0 where there is none).
double normalize(const AttentionProblem& problem, std::int64_t h, Row& row) {
  switch (problem.normalizer) {
    case Normalizer::Sigmoid: sigmoidWeights(row, problem.sigmoidBias); return 0;
    case Normalizer::Relu: reluWeights(row); return 0;
    case Normalizer::Softmax: break;
  }
  return softmaxWeights(row, problem.sink.empty() ? -kInfinity : problem.sink[static_cast<std::size_t>(h)]);
}

RowResult attentionRow(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i) {
  Row row = gatherRow(problem, b, h, i);
  RowResult result;
  result.lse = normalize(problem, h, row);
  result.out.assign(static_cast<std::size_t>(problem.headDimV), 0.0);
  for (std::size_t n = 0; n < row.keys.size(); ++n) {
    const double* v = problem.v.row(b, problem.kvHead(h), row.keys[n]);
    for (std::int64_t c = 0; c < problem.headDimV; ++c) {
      result.out[static_cast<std::size_t>(c)] += row.weights[n] * v[c * problem.v.strides[3]];
    }
  }
  result.keys = std::move(row.keys);
  result.weights = std::move(row.weights);
  return result;
}

}  // namespace

AttentionResult attention(const AttentionProblem& problem, Probs probs) {
  return assembleRows(problem, probs, attentionRow);
}

}  // namespace saccade::reference
