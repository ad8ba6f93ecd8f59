// SPDX-License-Identifier: Apache-2.0
#include "api/live_plans.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "plan/plan.hpp"

namespace saccade::core {
namespace {

struct LivePlans {
  std::shared_mutex mutex;
  std::unordered_set<SaccadePlan> plans;
};

// Never destroyed: a host may destroy its plans in a destructor that runs after those of this library.
LivePlans& live() {
  static LivePlans& plans = *new LivePlans;
  return plans;
}

std::atomic<int> contextsThatCheck = 0;

}  // namespace

void listPlan(SaccadePlan plan) {
  const std::lock_guard lock(live().mutex);
  live().plans.insert(plan);
}

void unlistPlan(SaccadePlan plan) noexcept {
  const std::lock_guard lock(live().mutex);
  live().plans.erase(plan);
}

CheckedUse::CheckedUse(bool on) : on_(on) { contextsThatCheck += on_; }
CheckedUse::~CheckedUse() { contextsThatCheck -= on_; }

bool planExists(SaccadePlan plan) noexcept {
  if (contextsThatCheck.load(std::memory_order_relaxed) == 0) return true;
  const std::shared_lock lock(live().mutex);
  return live().plans.contains(plan);
}

std::string labelOfAPlan(const Context& context) {
  const std::shared_lock lock(live().mutex);
  const auto found = std::find_if(live().plans.begin(), live().plans.end(), [&](SaccadePlan plan) { return plan->context == &context; });
  return found == live().plans.end() ? std::string() : (*found)->draft.label;
}

}  // namespace saccade::core
