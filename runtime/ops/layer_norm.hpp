// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/facts.hpp"
#include "plan/plan.hpp"
#include "plan/tensor.hpp"

namespace saccade::core {

struct LayerNormProblem {
  Tensor x, weight, bias, out;  // weight and bias: both present or neither
  float epsilon = 0;
  std::string kernel;
};

LayerNormProblem validateLayerNorm(const SaccadeLayerNormDesc& desc);
PlanDraft planLayerNorm(const DeviceFacts& facts, const LayerNormProblem& problem,
                        const std::string& forcedKernel);

}  // namespace saccade::core
