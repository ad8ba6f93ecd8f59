// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reference/attention_problem.hpp"

// The attention operator as a textbook writes it, in double precision: the definition of right for every
// kernel.

namespace saccade::reference {

struct AttentionResult {
  std::vector<double> out;    // [B,Hq,Tq,Dv]; packed: [totalQ,Hq,Dv]
  std::vector<double> lse;    // softmax only: [B,Hq,Tq], natural logarithm; packed: [Hq,totalQ]
  std::vector<double> probs;  // on request: [B,Hq,Tq,Tk], the weights of the keys; not for packed problems
};

enum class Probs { Skip, Store };

AttentionResult attention(const AttentionProblem& problem, Probs probs = Probs::Skip);

}  // namespace saccade::reference
