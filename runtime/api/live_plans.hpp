// SPDX-License-Identifier: Apache-2.0
// Plans that exist, of all contexts: what a host does with a handle can be checked against it.
#pragma once

#include <string>

#include "saccade/saccade.h"

namespace saccade::core {

class Context;

// A plan is listed from its creation until destroyPlan. Thread-safe. May throw for want of memory.
void listPlan(SaccadePlan plan);
void unlistPlan(SaccadePlan plan) noexcept;

// While a context that checks handles lives, so are those of all contexts: a stale handle does not say whose it was.
struct CheckedUse {
  explicit CheckedUse(bool on);
  ~CheckedUse();
  CheckedUse(const CheckedUse&) = delete;
  CheckedUse& operator=(const CheckedUse&) = delete;

  bool on() const { return on_; }

 private:
  bool on_;
};

// Whether the handle is a plan that exists; true where nobody checks.
bool planExists(SaccadePlan plan) noexcept;

// The label of one plan of a context, for messages; "" if it has none.
std::string labelOfAPlan(const Context& context);

}  // namespace saccade::core
