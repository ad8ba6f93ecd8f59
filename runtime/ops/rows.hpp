// SPDX-License-Identifier: Apache-2.0
// Planning of the kernels that give each row along axis 3 a work-group: layer norm and softmax.
#pragma once

#include "device/facts.hpp"
#include "plan/plan.hpp"
#include "plan/tensor.hpp"

namespace saccade::core {

// The one dispatch; `slots` in the order x, weight, bias, out. The caller adds its own specialisation constants.
StepDraft makeRowsStep(const DeviceFacts& facts, const char* kernel, const Tensor& x, const Tensor& out, float epsilon,
                       const std::vector<int>& slots);

}  // namespace saccade::core
