// SPDX-License-Identifier: Apache-2.0
#include "reference/assemble_rows.hpp"

#include <algorithm>

#include "io/special_values.hpp"
#include "reference/visibility.hpp"

namespace saccade::reference {

namespace {

// Packed results lie token by token: out [totalQ,Hq,Dv], lse [Hq,totalQ].
AttentionResult assemblePacked(const AttentionProblem& packed, const RowFunction& rowFunction) {
  AttentionResult result;
  const std::int64_t heads = packed.numHeadsQ;
  const std::int64_t headDim = packed.headDimV;
  result.out.assign(static_cast<std::size_t>(packed.seqlenQ * heads * headDim), 0.0);
  result.lse.assign(static_cast<std::size_t>(heads * packed.seqlenQ), -kInfinity);
  for (const Sequence& sequence : splitSequences(packed)) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < sequence.problem.seqlenQ; ++i) {
        const RowResult row = rowFunction(sequence.problem, 0, h, i);
        const std::int64_t token = sequence.firstQuery + i;
        std::copy(row.out.begin(), row.out.end(), result.out.begin() + (token * heads + h) * headDim);
        result.lse[static_cast<std::size_t>(h * packed.seqlenQ + token)] = row.lse;
      }
    }
  }
  return result;
}

AttentionResult assemblePadded(const AttentionProblem& problem, Probs probs, const RowFunction& rowFunction) {
  AttentionResult result;
  const std::int64_t rows = problem.batch * problem.numHeadsQ * problem.seqlenQ;
  result.out.assign(static_cast<std::size_t>(rows * problem.headDimV), 0.0);
  result.lse.assign(static_cast<std::size_t>(rows), -kInfinity);
  result.probs.assign(probs == Probs::Store ? static_cast<std::size_t>(rows * problem.seqlenK) : 0, 0.0);
  if (rows == 0) {
    return result;  // where one size is 0 the others may be anything: no loop could count to them
  }
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.numHeadsQ; ++h) {
      for (std::int64_t i = 0; i < lengthQ(problem, b); ++i) {
        const RowResult row = rowFunction(problem, b, h, i);
        const std::int64_t flatRow = (b * problem.numHeadsQ + h) * problem.seqlenQ + i;
        std::copy(row.out.begin(), row.out.end(), result.out.begin() + flatRow * problem.headDimV);
        result.lse[static_cast<std::size_t>(flatRow)] = row.lse;
        for (std::size_t n = 0; n < row.keys.size() && probs == Probs::Store; ++n) {
          result.probs[static_cast<std::size_t>(flatRow * problem.seqlenK + row.keys[n])] = row.weights[n];
        }
      }
    }
  }
  return result;
}

}  // namespace

AttentionResult assembleRows(const AttentionProblem& problem, Probs probs, const RowFunction& rowFunction) {
  AttentionResult result =
      problem.packed() ? assemblePacked(problem, rowFunction) : assemblePadded(problem, probs, rowFunction);
  if (problem.normalizer != Normalizer::Softmax) {
    result.lse.clear();
  }
  return result;
}

}  // namespace saccade::reference
