// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <memory>
#include <string_view>

#include "api/context.hpp"
#include "api/message.hpp"

namespace saccade::core {

uint64_t PlanDraft::scratchBytes() const {
  for (const Slot& slot : slots) {
    if (std::string_view(slot.name) == "scratch") return slot.bytes;
  }
  return 0;
}

SaccadePlan realisePlan(Context& context, PlanDraft draft) {
  struct Destroy {
    void operator()(SaccadePlanT* plan) const { destroyPlan(plan); }
  };
  std::unique_ptr<SaccadePlanT, Destroy> plan(new SaccadePlanT{&context, std::move(draft), {}, 0});
  std::vector<Pipelines::Request> requests;
  for (const StepDraft& step : plan->draft.steps) requests.push_back({step.shader, step.specialisation});
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
  return plan.release();
}

void destroyPlan(SaccadePlan plan) noexcept {
  if (plan == nullptr) return;
  for (const Step& step : plan->steps) plan->context->parameters().release(step.params);
  delete plan;
}

}  // namespace saccade::core
