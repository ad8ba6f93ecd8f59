// SPDX-License-Identifier: Apache-2.0
// The attention problem: a description after validation. Every size, stride and default is filled in.
#pragma once

#include <string>

#include "plan/tensor.hpp"

namespace saccade::core {

struct AttentionProblem {
  uint32_t batch = 0, numHeadsQ = 0, numHeadsKv = 0;
  uint32_t seqlenQ = 0, seqlenK = 0;
  uint32_t headDimQk = 0, headDimV = 0;
  Tensor q, k, v, out;
  Tensor lse, probs, mask, bias;  // absent: !present(). mask and bias are broadcast: stride 0 where the size was 1
  bool hasSeqlensQ = false, hasSeqlensK = false;
  SaccadeCausal causal = SACCADE_CAUSAL_NONE;
  float scale = 0;  // softmax_scale / temperature
  std::string kernel;

  // Nothing to write: a successful no-op.
  bool empty() const { return batch == 0 || numHeadsQ == 0 || seqlenQ == 0; }
};

// Refuses what semantics or this version rules out; names the field.
AttentionProblem validateAttention(const SaccadeAttentionDesc& desc);

}  // namespace saccade::core
