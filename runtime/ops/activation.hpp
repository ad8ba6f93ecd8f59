// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/facts.hpp"
#include "plan/plan.hpp"
#include "plan/tensor.hpp"

namespace saccade::core {

struct ActivationProblem {
  Tensor x, out;
  SaccadeActivation activation = SACCADE_ACTIVATION_NONE;
  std::string kernel;
};

ActivationProblem validateActivation(const SaccadeActivationDesc& desc);
PlanDraft planActivation(const DeviceFacts& facts, const ActivationProblem& problem,
                         const std::string& forcedKernel);

}  // namespace saccade::core
