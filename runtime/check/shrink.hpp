// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "check/attention_spec.hpp"

namespace saccade::check {

struct ShrinkLimits {
  unsigned tries = 400;
  std::chrono::milliseconds time{12000};
};

struct Shrunk {
  AttentionSpec spec;
  unsigned tries = 0;
};

// Makes a failing problem smaller, one step after the other, as long as it keeps failing: fewer tokens, heads
// and batch entries, which need no new pipeline; then options switched off one by one; then smaller head
// dims. The result is such that no single step makes it smaller, unless a limit ended the search. `fails`
// runs a problem. Nothing if the very first steps all pass.
std::optional<Shrunk> shrinkSpec(const AttentionSpec& failing,
                                 const std::function<bool(const AttentionSpec&)>& fails,
                                 const ShrinkLimits& limits = {});

}  // namespace saccade::check
