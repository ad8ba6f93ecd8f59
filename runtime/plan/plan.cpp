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

uint64_t dispatchesFor(uint64_t groups, uint32_t maxGroups) { return (groups + maxGroups - 1) / maxGroups; }

SaccadePlan realisePlan(Context& context, PlanDraft draft) {
  struct Destroy {
    void operator()(SaccadePlanT* plan) const { destroyPlan(plan); }
  };
  std::unique_ptr<SaccadePlanT, Destroy> plan(new SaccadePlanT{&context, std::move(draft), {}, 0, 0});
  const uint32_t maxGroups = context.facts().maxComputeWorkGroupCount[0];
  for (const StepDraft& stepDraft : plan->draft.steps) {
    Step step{};
    step.pipeline = context.pipelines().get(*stepDraft.shader, stepDraft.specialisation);
    step.params = context.parameters().store(stepDraft.params);
    step.groups = static_cast<uint32_t>(stepDraft.groups);
    step.slots.fill(-1);
    std::transform(stepDraft.slots.begin(), stepDraft.slots.end(), step.slots.begin(),
                   [](int slot) { return static_cast<int8_t>(slot); });
    step.barrierBefore = stepDraft.barrierBefore;
    plan->steps.push_back(step);
    plan->dispatchCount += static_cast<uint32_t>(dispatchesFor(stepDraft.groups, maxGroups));
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
