// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/problem.hpp"
#include "device/facts.hpp"
#include "plan/plan.hpp"

namespace saccade::core {

// Slots of the record call, in this order.
enum AttentionSlot {
  kSlotQ, kSlotK, kSlotV, kSlotOut, kSlotLse, kSlotProbs, kSlotMask, kSlotBias, kSlotSeqlensQ, kSlotSeqlensK, kSlotScratch
};

PlanDraft planAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forcedKernel);

// Lengths that the host can see, at record time. Refuses one outside [0, limit], naming the batch entry.
void checkHostLengths(const int32_t* lengths, uint32_t batch, uint32_t limit, const char* field, const char* limitName);

}  // namespace saccade::core
