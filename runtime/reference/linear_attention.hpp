// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reference/attention_problem.hpp"

namespace saccade::reference {

// Linear attention: weights phi(q) . phi(k) with phi(x) = elu(x) + 1, divided by their sum; no scale, no lse.
// A row that sees no key is 0. Of the options only lengths and masks apply. Returns [B,Hq,Tq,Dv].
std::vector<double> linearAttention(const AttentionProblem& problem);

}  // namespace saccade::reference
