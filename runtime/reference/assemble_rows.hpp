// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "reference/attention.hpp"

namespace saccade::reference {

// What attention computes for one query row.
struct RowResult {
  std::vector<std::int64_t> keys;  // the visible ones
  std::vector<double> weights;     // one per visible key
  std::vector<double> out;         // [Dv]
  double lse = 0;
};

// Computes query row i of head h of batch entry b of a problem that is not packed.
using RowFunction =
    std::function<RowResult(const AttentionProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i)>;

// Calls `rowFunction` for every row that is not padding and puts the parts together; packed problems are
// split into sequences first. Padding rows get out 0, lse -inf and weights 0.
AttentionResult assembleRows(const AttentionProblem& problem, Probs probs, const RowFunction& rowFunction);

}  // namespace saccade::reference
