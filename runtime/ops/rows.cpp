// SPDX-License-Identifier: Apache-2.0
#include "ops/rows.hpp"

#include "kernels/registry.hpp"
#include "ops/common.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "ops_params.h"

StepDraft makeRowsStep(const DeviceFacts& facts, const char* kernel, const Tensor& x, const Tensor& out, float epsilon,
                       const std::vector<int>& slots) {
  RowsParams params{};
  params.size1 = x.sizes[1];
  params.size2 = x.sizes[2];
  params.size3 = x.sizes[3];
  params.xStride0 = x.strides[0];
  params.xStride1 = x.strides[1];
  params.xStride2 = x.strides[2];
  params.outStride0 = out.strides[0];
  params.outStride1 = out.strides[1];
  params.outStride2 = out.strides[2];
  params.epsilon = epsilon;

  StepDraft step;
  step.shader = &shaderFor(kernel, x.dtype, facts);
  step.specialisation = {elementwiseLocalSize(facts, x.sizes[3] > 512 ? 256 : 64)};
  step.setParams(params);
  step.groups = uint64_t{x.sizes[0]} * x.sizes[1] * x.sizes[2];
  step.slots = slots;
  return step;
}

}  // namespace saccade::core
