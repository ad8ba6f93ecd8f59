// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "reference/attention.hpp"
#include "reference/compare.hpp"

// Tolerances computed from the inputs, so that no test has one chosen by hand.

namespace saccade::reference {

// The largest |got - expected| over elements where both are finite.
double worstError(std::span<const double> got, std::span<const double> expected);

// What a result in `storage` may be off by. `plainFp32` holds results that plain fp32 programs give for the
// same inputs, the first one's values before they are rounded to `storage`; `magnitude` is the size of the
// values that were added up. F32: the larger of 2e-6 * max(1, magnitude) and 4 times the worst plain error.
// F16, BF16: the larger of twice the error of the first plain result after rounding, and one unit in the last
// place at `magnitude`.
TensorTolerance toleranceFromPlain(io::DType storage, std::span<const double> expected,
                                   std::span<const std::vector<double>> plainFp32, double magnitude);

// The largest |value| that is finite, 0 if there is none.
double largestMagnitude(std::span<const double> values);

struct AttentionTolerances {
  TensorTolerance out;          // for kernels that keep softmax weights in fp32
  TensorTolerance outRoundedP;  // for kernels that round them to the storage type before the product with V
  TensorTolerance lse;          // fp32, whatever the storage type
  TensorTolerance probs;        // for weights written as F32
};

// `expected` is what attention() gives for `problem`; probs has a tolerance only if `expected` has them.
// `storage` is the dtype of q, k, v and out.
AttentionTolerances attentionTolerances(const AttentionProblem& problem, io::DType storage,
                                        const AttentionResult& expected);

}  // namespace saccade::reference
