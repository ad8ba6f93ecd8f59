// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include "check/attention_sample.hpp"
#include "reference/visibility.hpp"

namespace saccade::check {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargeBias =
    -9000;  // the contract's bounds hold for biases smaller in magnitude than about 1e4

// The problem without the values of q, k and v, which play no part in what is visible.
reference::OwnedProblem visibilityOf(const io::AttentionCase& problem) {
  io::AttentionCase empty = problem;
  empty.q = empty.k = empty.v = io::TensorData(io::DType::U8, {0, 0, 0, 0}, {});
  return reference::problemFromCase(empty);
}

template <typename Visit>
void forEachVisiblePair(const reference::AttentionProblem& problem, Visit visit) {
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.numHeadsQ; ++h) {
      for (std::int64_t i = 0; i < problem.seqlenQ; ++i) {
        for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
          if (reference::isVisible(problem, b, h, i, j)) {
            visit(b, h, i, j);
          }
        }
      }
    }
  }
}

double poison(Random& random) { return random.pick({kNan, kNan, kInfinity, -kInfinity}); }

// Which elements of a source something visible depends on, channel 0 standing for a whole row.
using Seen = std::vector<bool>;

void poisonRows(AttentionValues::Source& source, const Seen& seen, Random& random) {
  const auto channels = static_cast<std::size_t>(source.shape[3]);
  for (std::size_t i = 0; i < source.values.size(); ++i) {
    if (!seen[i - i % channels]) {
      source.values[i] = poison(random);
    }
  }
}

}  // namespace

void poisonHidden(AttentionValues& values, const io::AttentionCase& problem, Random& random) {
  const reference::OwnedProblem owned = visibilityOf(problem);
  Seen q(values.q.values.size()), k(values.k.values.size()), v(values.v.values.size()),
      bias(values.bias.values.size());
  forEachVisiblePair(owned.problem, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    const std::int64_t kvHead = owned.problem.kvHead(h);
    q[values.q.index(b, h, i, 0)] = true;
    k[values.k.index(b, kvHead, j, 0)] = true;
    v[values.v.index(b, kvHead, j, 0)] = true;
    if (!bias.empty()) {
      bias[values.bias.index(b, h, i, j)] = true;
    }
  });
  poisonRows(values.q, q, random);
  poisonRows(values.k, k, random);
  poisonRows(values.v, v, random);
  for (std::size_t i = 0; i < bias.size(); ++i) {
    // A bias of -inf stays: it may be the very thing that hides its key.
    if (!bias[i] && values.bias.values[i] != -kInfinity) {
      values.bias.values[i] = random.pick({kNan, kInfinity});
    }
  }
}

void keepScoresVisible(AttentionValues& values, const io::AttentionCase& problem) {
  const reference::OwnedProblem owned = visibilityOf(problem);
  const auto rows = static_cast<std::size_t>(problem.batch * problem.numHeadsQ * problem.seqlenQ);
  std::vector<bool> seesKey(rows), seesSmall(rows);
  forEachVisiblePair(owned.problem, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    const auto row = static_cast<std::size_t>((b * problem.numHeadsQ + h) * problem.seqlenQ + i);
    seesKey[row] = true;
    seesSmall[row] = seesSmall[row] || values.bias.values[values.bias.index(b, h, i, j)] > kLargeBias;
  });
  if (seesKey == seesSmall) {
    return;
  }
  for (double& value : values.bias.values) {
    value = value <= kLargeBias && value != -kInfinity ? -5 : value;
  }
}

}  // namespace saccade::check
