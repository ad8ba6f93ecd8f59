// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reference/attention_problem.hpp"

namespace saccade::reference {

// Lengths of batch entry b, clamped to what the tensors hold. Not for packed problems: split those first.
std::int64_t lengthQ(const AttentionProblem& problem, std::int64_t b);
std::int64_t lengthK(const AttentionProblem& problem, std::int64_t b);

// How far the diagonal of batch entry b lies to the right: row i stands at key i + offset. 0 with top_left.
std::int64_t diagonalOffset(const AttentionProblem& problem, std::int64_t b);

// Whether query row i of head h sees key j: lengths, causal mask, window, boolean mask, and no bias of -inf.
// The values of q, k and v play no part.
bool isVisible(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t j);

// Whether it sees any key at all.
bool seesAnyKey(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i);

// scale, softcap, bias, ALiBi: the score that the softmax gets. Only for visible pairs.
double score(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j);

}  // namespace saccade::reference
