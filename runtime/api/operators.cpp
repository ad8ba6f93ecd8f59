// SPDX-License-Identifier: Apache-2.0
// The C entry points of attention and plans: check, translate, call; nothing else.
#include <array>

#include "api/entry.hpp"
#include "attention/plan.hpp"
#include "attention/problem.hpp"

using namespace saccade::core;

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
