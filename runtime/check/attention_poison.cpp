// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "check/attention_sample.hpp"
#include "io/special_values.hpp"
#include "reference/visibility.hpp"

namespace saccade::check {

namespace {

constexpr double kLargeBias =
    -9000;  // the contract's bounds hold for biases smaller in magnitude than about 1e4

// The problem without the values of q, k and v, which play no part in what is visible.
reference::OwnedProblem visibilityOf(const io::AttentionCase& problem) {
  io::AttentionCase empty = problem;
  empty.q = empty.k = empty.v = io::TensorData(io::DType::U8, {0, 0, 0, 0}, {});
  empty.kScale.reset();
  empty.vScale.reset();
  return reference::problemFromCase(empty);
}

template <typename Visit>
void visitPairs(const reference::AttentionProblem& problem, std::int64_t firstQuery, std::int64_t firstKey,
                const Visit& visit) {
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.numHeadsQ; ++h) {
      for (std::int64_t i = 0; i < problem.seqlenQ; ++i) {
        for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
          if (reference::isVisible(problem, b, h, i, j)) {
            visit(b, h, firstQuery + i, firstKey + j);
          }
        }
      }
    }
  }
}

// Which elements of a source something visible depends on, channel 0 standing for a whole row.
using Seen = std::vector<bool>;

class Filling {
 public:
  Filling(Hidden hidden, Random& random) : hidden_(hidden), random_(random) {}

  void rows(AttentionValues::Source& source, const Seen& seen) {
    if (source.values.empty()) {
      return;  // scales that are not there have no shape either
    }
    const auto channels = static_cast<std::size_t>(source.shape[3]);
    for (std::size_t i = 0; i < source.values.size(); ++i) {
      if (!seen[i - i % channels]) {
        source.values[i] = hidden_ == Hidden::Zero ? 0 : random_.pick({kNan, kNan, kInfinity, -kInfinity});
      }
    }
  }

  // A bias of -inf stays: it may be the very thing that hides its key.
  void biases(AttentionValues::Source& bias, const Seen& seen) {
    for (std::size_t i = 0; i < bias.values.size(); ++i) {
      if (!seen[i] && bias.values[i] != -kInfinity) {
        bias.values[i] = hidden_ == Hidden::Zero ? 0 : random_.pick({kNan, kInfinity});
      }
    }
  }

 private:
  Hidden hidden_;
  Random& random_;
};

}  // namespace

void forEachVisiblePair(const io::AttentionCase& problem, const PairVisitor& visit) {
  const reference::OwnedProblem owned = visibilityOf(problem);
  if (!problem.packed) {
    visitPairs(owned.problem, 0, 0, visit);
    return;
  }
  for (const reference::Sequence& sequence : reference::splitSequences(owned.problem)) {
    visitPairs(sequence.problem, sequence.firstQuery, sequence.firstKey, visit);
  }
}

void fillHidden(AttentionValues& values, const io::AttentionCase& problem, Hidden hidden, Random& random) {
  if (hidden == Hidden::Ordinary) {
    return;
  }
  Seen q(values.q.values.size()), k(values.k.values.size()), v(values.v.values.size()),
      kScale(values.kScale.values.size()), vScale(values.vScale.values.size()), bias(values.bias.values.size());
  forEachVisiblePair(problem, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    const std::int64_t kvHead = h * problem.numHeadsKv / problem.numHeadsQ;
    q[values.q.index(b, h, i, 0)] = true;
    k[values.k.index(b, kvHead, j, 0)] = true;
    v[values.v.index(b, kvHead, j, 0)] = true;
    const std::int64_t block = problem.scaleBlock == 0 ? 0 : j / problem.scaleBlock;
    if (!kScale.empty()) {
      kScale[values.kScale.index(b, kvHead, block, 0)] = true;
    }
    if (!vScale.empty()) {
      vScale[values.vScale.index(b, kvHead, block, 0)] = true;
    }
    if (!bias.empty()) {
      bias[values.bias.index(b, h, i, j)] = true;
    }
  });
  Filling filling(hidden, random);
  filling.rows(values.q, q);
  filling.rows(values.k, k);
  filling.rows(values.v, v);
  filling.rows(values.kScale, kScale);
  filling.rows(values.vScale, vScale);
  filling.biases(values.bias, bias);
}

void keepScoresVisible(AttentionValues& values, const io::AttentionCase& problem) {
  const auto rows = static_cast<std::size_t>(problem.batch * problem.numHeadsQ * problem.seqlenQ);
  std::vector<bool> seesKey(rows), seesSmall(rows);
  forEachVisiblePair(problem, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
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
