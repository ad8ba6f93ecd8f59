// SPDX-License-Identifier: Apache-2.0
#include "reference/normalizers.hpp"

#include <algorithm>
#include <cmath>

#include "io/special_values.hpp"

namespace saccade::reference {

namespace {

// Makes the whole row NaN if one score is NaN or +inf; says whether it did.
bool poison(Row& row) {
  const bool poisoned =
      std::any_of(row.weights.begin(), row.weights.end(), [](double s) { return !std::isfinite(s); });
  if (poisoned) {
    std::fill(row.weights.begin(), row.weights.end(), kNan);
  }
  return poisoned;
}

}  // namespace

double softmaxWeights(Row& row, double sink) {
  if (row.keys.empty()) {
    return sink;
  }
  if (poison(row)) {
    return kNan;
  }
  const double highest = std::max(*std::max_element(row.weights.begin(), row.weights.end()), sink);
  double sum = std::exp(sink - highest);
  for (double& weight : row.weights) {
    weight = std::exp(weight - highest);
    sum += weight;
  }
  for (double& weight : row.weights) {
    weight /= sum;
  }
  return highest + std::log(sum);
}

void sigmoidWeights(Row& row, double bias) {
  if (poison(row)) {
    return;
  }
  for (double& weight : row.weights) {
    weight = 1 / (1 + std::exp(-(weight + bias)));
  }
}

void reluWeights(Row& row) {
  if (poison(row)) {
    return;
  }
  for (double& weight : row.weights) {
    weight = std::max(weight, 0.0) / static_cast<double>(row.keys.size());
  }
}

}  // namespace saccade::reference
