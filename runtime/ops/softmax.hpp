// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/facts.hpp"
#include "plan/plan.hpp"
#include "plan/tensor.hpp"

namespace saccade::core {

struct SoftmaxProblem {
  Tensor x, out;
  std::string kernel;
};

SoftmaxProblem validateSoftmax(const SaccadeSoftmaxDesc& desc);
PlanDraft planSoftmax(const DeviceFacts& facts, const SoftmaxProblem& problem,
                      const std::string& forcedKernel);

}  // namespace saccade::core
