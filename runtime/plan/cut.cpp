// SPDX-License-Identifier: Apache-2.0
// Long work in dispatches that no watchdog minds.
#include <algorithm>
#include <cmath>

#include "api/context.hpp"
#include "plan/plan.hpp"
#include "plan/rounding.hpp"

namespace saccade::core {

uint64_t dispatchesFor(uint64_t groups, uint32_t maxGroups) { return divideUp(groups, maxGroups); }

uint32_t groupsPerDispatch(const Step& step, double budget, uint32_t maxGroups) {
  const double fit = budget / (step.workOfGroup * step.pipeline->pace.millisecondsPerUnit());
  if (!(fit < step.groups)) return std::min(step.groups, maxGroups);
  // A CPU device gives each of its threads the same number of work-groups if that divides.
  constexpr uint32_t kMultiple = 16;
  const uint32_t most = std::max(static_cast<uint32_t>(fit), 1u);
  return std::min(most >= kMultiple ? most / kMultiple * kMultiple : most, maxGroups);
}

uint32_t dispatchCount(const SaccadePlanT& plan) {
  const uint32_t maxGroups = plan.context->facts().maxComputeWorkGroupCount[0];
  uint32_t count = 0;
  for (const Step& step : plan.steps) {
    if (step.groups == 0) continue;
    const uint32_t most = groupsPerDispatch(step, plan.context->dispatchBudget(), maxGroups);
    count += static_cast<uint32_t>(dispatchesFor(step.groups, most));
  }
  return count;
}

double estimatedMilliseconds(const SaccadePlanT& plan) {
  double sum = 0;
  for (const Step& step : plan.steps) sum += step.work * step.pipeline->pace.millisecondsPerUnit();
  return sum;
}

void reportTime(const SaccadePlanT& plan, double milliseconds) {
  const double factor = milliseconds / estimatedMilliseconds(plan);
  // What is unknown of the shares of several steps is taken to be as it was.
  if (!std::isfinite(factor) || !(factor > 0)) return;
  for (size_t i = 0; i < plan.steps.size(); i++) {
    Pace& pace = plan.steps[i].pipeline->pace;
    pace.learn(pace.millisecondsPerUnit() * factor, plan.draft.steps[i].workIsAtMost);
  }
}

}  // namespace saccade::core
