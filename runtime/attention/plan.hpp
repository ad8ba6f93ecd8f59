// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/problem.hpp"
#include "device/facts.hpp"
#include "plan/plan.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::core {

// Slots of the record call, in this order.
enum AttentionSlot {
  kSlotQ, kSlotK, kSlotV, kSlotOut, kSlotLse, kSlotProbs, kSlotMask, kSlotBias, kSlotAlibi, kSlotSink, kSlotBlockTable,
  kSlotKScale, kSlotVScale,
  kSlotSeqlensQ, kSlotSeqlensK, kSlotCuSeqlensQ, kSlotCuSeqlensK, kSlotScratch
};

PlanDraft planAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forcedKernel,
                        const TuningTable& tuning = {});

}  // namespace saccade::core
