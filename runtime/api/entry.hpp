// SPDX-License-Identifier: Apache-2.0
// What the C entry points of all operators do the same way.
#pragma once

#include "api/context.hpp"
#include "api/message.hpp"
#include "plan/plan.hpp"

namespace saccade::core {

// Creates a plan from the draft that `makeDraft` returns for a checked context and description.
template <class Desc, class Draft>
SaccadeStatus createPlan(SaccadeContext context, const Desc* desc, SaccadePlan* plan, SaccadeMessage* message,
                         Draft&& makeDraft) {
  return guarded(message, [&] {
    if (plan == nullptr) refuse("plan", "plan is null; it must point to a SaccadePlan");
    *plan = nullptr;
    if (context == nullptr) refuse("context", "context is null; create one with saccadeCreateContext");
    if (desc == nullptr) refuse("desc", "desc is null; start from the operator's Default function");
    *plan = realisePlan(*context, makeDraft());
  });
}

// Refuses what no record call of the operator accepts. The ranges themselves are checked by record().
template <class Buffers>
void checkRecordCall(VkCommandBuffer commandBuffer, SaccadePlan plan, SaccadeOperator op,
                     const Buffers* buffers) {
  if (commandBuffer == VK_NULL_HANDLE) refuse("commandBuffer", "commandBuffer is null");
  if (plan == nullptr) refuse("plan", "plan is null; create one first");
  if (plan->draft.op != op) refuse("plan", "plan is of another operator: {}", plan->draft.label);
  if (buffers == nullptr) refuse("buffers", "buffers is null");
  if (buffers->structSize != sizeof(Buffers)) {
    refuse("structSize",
           "structSize is {}, this library expects {}; start from the operator's BuffersDefault function",
           buffers->structSize, sizeof(Buffers));
  }
}

}  // namespace saccade::core
