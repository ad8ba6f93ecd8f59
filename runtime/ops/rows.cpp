// SPDX-License-Identifier: Apache-2.0
#include "ops/rows.hpp"

#include "kernels/registry.hpp"
#include "ops/common.hpp"
#include "plan/rounding.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "ops_params.h"

namespace {

uint64_t rowsOf(const Tensor& x) { return uint64_t{x.sizes[0]} * x.sizes[1] * x.sizes[2]; }

RowsParams makeParams(const Tensor& x, const Tensor& out) {
  RowsParams params{};
  params.rows = static_cast<uint32_t>(rowsOf(x));
  params.size1 = x.sizes[1];
  params.size2 = x.sizes[2];
  params.size3 = x.sizes[3];
  params.xStride0 = x.strides[0];
  params.xStride1 = x.strides[1];
  params.xStride2 = x.strides[2];
  params.outStride0 = out.strides[0];
  params.outStride1 = out.strides[1];
  params.outStride2 = out.strides[2];
  return params;
}

}  // namespace

StepDraft makeRowsStep(const DeviceFacts& facts, const char* kernel, const Tensor& x, const Tensor& out,
                       float epsilon, const std::vector<int>& slots) {
  RowsParams params = makeParams(x, out);
  params.epsilon = epsilon;
  StepDraft step;
  step.shader = &shaderFor(kernel, x.dtype, facts);
  step.specialisation = {groupSize(facts, x.sizes[3] > 512 ? 256 : 64)};
  step.setParams(params);
  step.groups = rowsOf(x);
  step.slots = slots;
  return step;
}

StepDraft makeChunkedRowsStep(const DeviceFacts& facts, const char* kernel, const Tensor& x,
                              const Tensor& out, const std::vector<int>& slots) {
  // A CPU device pays for starting a work-group about as much as for 20 steps of it.
  const uint32_t localSize = groupSize(facts, 128), steps = isCpu(facts) ? 64 : 4;
  const uint64_t chunk = uint64_t{localSize} * steps;
  RowsParams params = makeParams(x, out);
  params.chunks = static_cast<uint32_t>(divideUp(x.sizes[3], chunk));
  StepDraft step;
  step.shader = &shaderFor(kernel, x.dtype, facts);
  step.specialisation = {localSize, steps};
  step.setParams(params);
  step.groups = rowsOf(x) * params.chunks;
  step.slots = slots;
  return step;
}

}  // namespace saccade::core
