// SPDX-License-Identifier: Apache-2.0
// What the C entry points of all operators do the same way.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

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
  }, context == nullptr ? nullptr : &context->log());
}

struct CandidateList {
  std::string problem;
  std::vector<std::string> kernels;
};

// The count pattern: how many there are, or as many as there is room for.
template <class Desc, class List>
SaccadeStatus getCandidates(SaccadeContext context, const Desc* desc, uint32_t* count, SaccadeCandidate* candidates,
                            SaccadeMessage* message, List&& list) {
  return guarded(message, [&] {
    if (context == nullptr) refuse("context", "context is null; create one with saccadeCreateContext");
    if (desc == nullptr) refuse("desc", "desc is null; start from the operator's Default function");
    if (count == nullptr) refuse("count", "count is null; it is required");
    const CandidateList found = list();
    const auto available = static_cast<uint32_t>(found.kernels.size());
    *count = candidates == nullptr ? available : std::min(*count, available);
    for (uint32_t i = 0; candidates != nullptr && i < *count; i++) {
      copyText(candidates[i].problem, found.problem);
      copyText(candidates[i].kernel, found.kernels[i]);
    }
  });
}

// Refuses what no record call of the operator accepts. The ranges themselves are checked by record().
template <class Buffers>
void checkRecordCall(VkCommandBuffer commandBuffer, SaccadePlan plan, SaccadeOperator op,
                     const Buffers* buffers) {
  if (commandBuffer == VK_NULL_HANDLE) refuse("commandBuffer", "commandBuffer is null");
  if (plan == nullptr) refuse("plan", "plan is null; create one first");
  if (!planExists(plan)) refuse("plan", "plan is a handle of no plan that exists; was it destroyed?");
  if (plan->draft.op != op) refuse("plan", "plan is of another operator: {}", plan->draft.label);
  if (buffers == nullptr) refuse("buffers", "buffers is null");
  if (buffers->structSize != sizeof(Buffers)) {
    refuse("structSize",
           "structSize is {}, this library expects {}; start from the operator's BuffersDefault function",
           buffers->structSize, sizeof(Buffers));
  }
}

}  // namespace saccade::core
