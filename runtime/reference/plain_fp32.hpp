// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "io/tensor_data.hpp"
#include "reference/attention.hpp"

// Attention in single precision as ordinary programs write it, without care and without tricks. Their errors
// measure what fp32 can give on given inputs; tolerances are multiples of them.

namespace saccade::reference {

enum class PlainFormulation {
  Unfused,      // scores, maximum, exponentials, sum, division, product with V
  ScaledQuery,  // scale applied to q first; the product with V is divided at the end
  Online,       // one pass over the keys with a running maximum and rescaling
  Exp2,         // base 2: scores minus maximum times log2(e); sums over tiles of 32 keys
};

inline constexpr PlainFormulation kPlainFormulations[] = {PlainFormulation::Unfused,
                                                          PlainFormulation::ScaledQuery,
                                                          PlainFormulation::Online, PlainFormulation::Exp2};

// Softmax, sigmoid or ReLU attention with every intermediate value in fp32, widened to double at the end.
// With `storage`, weights are rounded to that dtype before the product with V. Sigmoid and ReLU have no
// maximum and no sum, so all formulations but ScaledQuery are one. Result as attention() gives it.
AttentionResult plainFp32Attention(const AttentionProblem& problem, PlainFormulation formulation, Probs probs,
                                   std::optional<io::DType> storage = std::nullopt);

}  // namespace saccade::reference
