// SPDX-License-Identifier: Apache-2.0
// Planning of the kernels that work along rows of axis 3: layer norm, softmax and activation.
#pragma once

#include "device/facts.hpp"
#include "plan/plan.hpp"
#include "plan/tensor.hpp"

namespace saccade::core {

// One dispatch with a work-group per row of x; `slots` in the order x, weight, bias, out. The caller adds its
// own specialisation constants.
StepDraft makeRowsStep(const DeviceFacts& facts, const char* kernel, const Tensor& x, const Tensor& out,
                       float epsilon, const std::vector<int>& slots);

// The same for kernels whose elements don't depend on each other: rows are divided among work-groups.
StepDraft makeChunkedRowsStep(const DeviceFacts& facts, const char* kernel, const Tensor& x,
                              const Tensor& out, const std::vector<int>& slots);

}  // namespace saccade::core
