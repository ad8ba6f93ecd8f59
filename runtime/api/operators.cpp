// SPDX-License-Identifier: Apache-2.0
// The C entry points of attention and plans: check, translate, call; nothing else.
#include <array>

#include "api/entry.hpp"
#include "attention/choice.hpp"
#include "attention/plan.hpp"
#include "attention/problem.hpp"

using namespace saccade::core;

SaccadeStatus saccadeCreateAttentionPlan(SaccadeContext context, const SaccadeAttentionDesc* desc, SaccadePlan* plan,
                                         SaccadeMessage* message) {
  return createPlan(context, desc, plan, message, [&] {
    return planAttention(context->facts(), validateAttention(*desc), context->forcedKernel(), context->tuning());
  });
}

SaccadeStatus saccadeGetAttentionCandidates(SaccadeContext context, const SaccadeAttentionDesc* desc, uint32_t* count,
                                            SaccadeCandidate* candidates, SaccadeMessage* message) {
  return getCandidates(context, desc, count, candidates, message, [&] {
    const AttentionProblem problem = validateAttention(*desc);
    return CandidateList{tuningKey(problem), attentionCandidates(context->facts(), problem)};
  });
}

SaccadeStatus saccadeCmdAttention(VkCommandBuffer commandBuffer, SaccadePlan plan, const SaccadeAttentionBuffers* buffers,
                                  SaccadeMessage* message) {
  return guarded(message, [&] {
    checkRecordCall(commandBuffer, plan, SACCADE_OPERATOR_ATTENTION, buffers);
    const auto& b = *buffers;
    checkHostValues(plan->draft.hostValues, b);
    record(commandBuffer, *plan,
           std::array{b.q, b.k, b.v, b.out, b.lse, b.probs, b.mask, b.bias, b.alibiSlopes, b.sink, b.blockTable, b.kScale, b.vScale, b.seqlensQ, b.seqlensK,
                      b.cuSeqlensQ, b.cuSeqlensK, b.scratch});
  });
}

void saccadeDestroyPlan(SaccadePlan plan) { destroyPlan(plan); }

void saccadeGetPlanInfo(SaccadePlan plan, SaccadePlanInfo* info) {
  const PlanDraft& draft = plan->draft;
  *info = {draft.op, draft.kernel.c_str(), draft.label.c_str(), draft.reason.c_str(), draft.flops, draft.bytes,
           draft.scratchBytes(), dispatchCount(*plan), plan->barrierCount, draft.tile.c_str(),
           estimatedMilliseconds(*plan)};
}

void saccadeReportTime(SaccadePlan plan, double milliseconds) { reportTime(*plan, milliseconds); }
