// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace saccade::reference {

// The visible keys of one query row, and for each its score, which the functions below replace by its weight.
// None of the scores is -inf. A score that is NaN or +inf makes every weight of the row NaN.
struct Row {
  std::vector<std::int64_t> keys;
  std::vector<double> weights;
};

// weight = exp(score - lse); returns lse, the logarithm of the sum of exp(score) and exp(sink). A sink of
// -inf is none. A row without keys has the lse `sink`.
double softmaxWeights(Row& row, double sink);

// weight = sigmoid(score + bias).
void sigmoidWeights(Row& row, double bias);

// weight = max(score, 0) / number of visible keys.
void reluWeights(Row& row);

}  // namespace saccade::reference
