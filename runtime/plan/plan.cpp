// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <memory>
#include <string_view>

#include "api/context.hpp"
#include "api/message.hpp"

namespace saccade::core {

namespace {

struct Release {
  void operator()(SaccadePlanT* plan) const {
    for (const Step& step : plan->steps) plan->context->parameters().release(step.params);
    plan->context->planCount()--;
    delete plan;
  }
};

}  // namespace

uint64_t PlanDraft::scratchBytes() const {
  for (const Slot& slot : slots) {
    if (std::string_view(slot.name) == "scratch") return slot.bytes;
  }
  return 0;
}

SaccadePlan realisePlan(Context& context, PlanDraft draft) {
  std::unique_ptr<SaccadePlanT, Release> plan(new SaccadePlanT{&context, std::move(draft)});
  context.planCount()++;
  std::vector<Pipelines::Request> requests;
  for (const StepDraft& step : plan->draft.steps) requests.push_back({step.shader, step.specialisation, step.subgroupSize});
  context.pipelines().get(requests);
  plan->steps.reserve(plan->draft.steps.size());
  for (size_t i = 0; i < requests.size(); i++) {
    const StepDraft& stepDraft = plan->draft.steps[i];
    Step step{};
    step.pipeline = requests[i].pipeline;
    step.params = context.parameters().store(stepDraft.params);
    step.groups = static_cast<uint32_t>(stepDraft.groups);
    step.slots.fill(-1);
    std::transform(stepDraft.slots.begin(), stepDraft.slots.end(), step.slots.begin(),
                   [](int slot) { return static_cast<int8_t>(slot); });
    step.barrierBefore = stepDraft.barrierBefore;
    const double share = std::max(plan->draft.flops, plan->draft.bytes) / static_cast<double>(requests.size());
    step.work = stepDraft.work > 0 ? stepDraft.work : share;
    step.workOfGroup = step.work * stepDraft.costliestGroup / static_cast<double>(std::max<uint64_t>(stepDraft.groups, 1));
    plan->steps.push_back(step);
    plan->barrierCount += stepDraft.barrierBefore;
  }
  if (context.debugUtils().on()) plan->commandLabel = "saccade " + plan->draft.label;
  listPlan(plan.get());
  context.log().write(SACCADE_SEVERITY_DEBUG, "plan {}: {}", plan->draft.label, plan->draft.reason);
  return plan.release();
}

void destroyPlan(SaccadePlan plan) noexcept {
  if (plan == nullptr) return;
  if (!planExists(plan)) {
    Log().write(SACCADE_SEVERITY_ERROR, "saccadeDestroyPlan got a handle that is no plan, or one that was destroyed before");
    return;
  }
  if (plan->recorders > 0) {
    plan->context->log().write(SACCADE_SEVERITY_ERROR, "plan \"{}\" is not destroyed, because a thread is recording it", plan->draft.label);
    return;
  }
  unlistPlan(plan);
  Release()(plan);
}

}  // namespace saccade::core
