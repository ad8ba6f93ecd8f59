// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <gtest/gtest.h>

#include "attention/plan.hpp"

namespace saccade::core {
using uint = uint32_t;
#include "attention_params.h"
}  // namespace saccade::core

namespace saccade::test {

// What a step of an attention plan tells its kernel.
inline core::AttentionParams paramsOf(const core::StepDraft& step) {
  core::AttentionParams params{};
  EXPECT_EQ(step.params.size(), sizeof params);
  std::copy(step.params.begin(), step.params.end(), reinterpret_cast<std::byte*>(&params));
  return params;
}

}  // namespace saccade::test
