// SPDX-License-Identifier: Apache-2.0
#include "reference/linear_attention.hpp"

#include <cmath>
#include <utility>

#include "reference/assemble_rows.hpp"
#include "reference/visibility.hpp"

namespace saccade::reference {

namespace {

double phi(double x) { return x > 0 ? x + 1 : std::exp(x); }

RowResult linearRow(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t g = problem.kvHead(h);
  RowResult row;
  row.out.assign(static_cast<std::size_t>(problem.headDimV), 0.0);
  double sum = 0;
  for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
    if (!isVisible(problem, b, h, i, j)) {
      continue;
    }
    double weight = 0;
    for (std::int64_t c = 0; c < problem.headDimQk; ++c) {
      weight += phi(problem.q.at(b, h, i, c)) * phi(problem.k.at(b, g, j, c));
    }
    for (std::int64_t c = 0; c < problem.headDimV; ++c) {
      row.out[static_cast<std::size_t>(c)] += weight * problem.v.at(b, g, j, c);
    }
    sum += weight;
    row.keys.push_back(j);
  }
  for (std::size_t c = 0; c < row.out.size() && !row.keys.empty(); ++c) {
    row.out[c] /= sum;
  }
  return row;
}

}  // namespace

std::vector<double> linearAttention(const AttentionProblem& problem) {
  return std::move(assembleRows(problem, Probs::Skip, linearRow).out);
}

}  // namespace saccade::reference
