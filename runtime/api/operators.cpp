// SPDX-License-Identifier: Apache-2.0
// The C entry points of operators and plans: check, translate, call; nothing else.
#include <array>

#include "api/context.hpp"
#include "api/message.hpp"
#include "attention/plan.hpp"
#include "attention/problem.hpp"
#include "plan/plan.hpp"

using namespace saccade::core;

namespace {

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

template <class Buffers>
void checkRecordCall(VkCommandBuffer commandBuffer, SaccadePlan plan, SaccadeOperator op, const Buffers* buffers) {
  if (commandBuffer == VK_NULL_HANDLE) refuse("commandBuffer", "commandBuffer is null");
  if (plan == nullptr) refuse("plan", "plan is null; create one first");
  if (plan->draft.op != op) refuse("plan", "plan is of another operator: {}", plan->draft.label);
  if (buffers == nullptr) refuse("buffers", "buffers is null");
  if (buffers->structSize != sizeof(Buffers)) {
    refuse("structSize", "structSize is {}, this library expects {}; start from the operator's BuffersDefault function",
           buffers->structSize, sizeof(Buffers));
  }
}

}  // namespace

SaccadeStatus saccadeCreateAttentionPlan(SaccadeContext context, const SaccadeAttentionDesc* desc, SaccadePlan* plan,
                                         SaccadeMessage* message) {
  return createPlan(context, desc, plan, message, [&] {
    return planAttention(context->facts(), validateAttention(*desc), context->forcedKernel());
  });
}

SaccadeStatus saccadeCmdAttention(VkCommandBuffer commandBuffer, SaccadePlan plan, const SaccadeAttentionBuffers* buffers,
                                  SaccadeMessage* message) {
  return guarded(message, [&] {
    checkRecordCall(commandBuffer, plan, SACCADE_OPERATOR_ATTENTION, buffers);
    const auto& b = *buffers;
    const HostLengths& limits = plan->draft.lengths;
    checkHostLengths(b.hostSeqlensQ, limits.seqlensQ, limits.seqlenQ, "seqlens_q", "seqlen_q");
    checkHostLengths(b.hostSeqlensK, limits.seqlensK, limits.seqlenK, "seqlens_k", "seqlen_k");
    record(commandBuffer, *plan, std::array{b.q, b.k, b.v, b.out, b.lse, b.probs, b.mask, b.bias, b.seqlensQ, b.seqlensK, b.scratch});
  });
}

void saccadeDestroyPlan(SaccadePlan plan) { destroyPlan(plan); }

void saccadeGetPlanInfo(SaccadePlan plan, SaccadePlanInfo* info) {
  const PlanDraft& draft = plan->draft;
  *info = {draft.op, draft.kernel.c_str(), draft.label.c_str(), draft.reason.c_str(), draft.flops, draft.bytes,
           draft.scratchBytes(), plan->dispatchCount, plan->barrierCount};
}
