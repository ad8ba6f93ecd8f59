// SPDX-License-Identifier: Apache-2.0
// Lengths and block tables that the host can see when it records: what they must fulfil, and the check.
#pragma once

#include "saccade/saccade.h"

namespace saccade::core {

struct AttentionProblem;

// What a plan keeps for the check.
struct HostValueLimits {
  uint32_t batch = 0;  // entries or sequences; 0: nothing is checked
  bool hasSeqlensQ = false, hasSeqlensK = false, hasCuSeqlens = false;
  uint32_t seqlenQ = 0, seqlenK = 0;                 // of the tensors
  uint32_t pages = 0, pageSize = 0, maxPages = 0;    // pageSize 0: contiguous
};

HostValueLimits hostValueLimits(const AttentionProblem& problem);

// Refuses a value of the host arrays in `buffers` that is outside its limits, naming the entry. Arrays that the plan does not
// use are ignored.
void checkHostValues(const HostValueLimits& limits, const SaccadeAttentionBuffers& buffers);

}  // namespace saccade::core
