// SPDX-License-Identifier: Apache-2.0
#include "ops/activation.hpp"

#include "kernels/registry.hpp"
#include "ops/common.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "ops_params.h"

namespace {

std::string always(const DeviceFacts&, const ActivationProblem&) { return ""; }
Estimate estimate(const DeviceFacts&, const ActivationProblem&) { return {1, "the only kernel of this operator"}; }
const Variant<ActivationProblem> kVariants[] = {{"activation", always, estimate}};

}  // namespace

ActivationProblem validateActivation(const SaccadeActivationDesc& desc) {
  checkStructSize(desc, "saccadeActivationDescDefault");
  checkActivation(desc.activation);
  ActivationProblem problem;
  problem.x = checkInput(desc.x, "x", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16});
  const auto& sizes = problem.x.sizes;
  problem.out = checkOutput(desc.out, "out", {problem.x.dtype}, {sizes[0], sizes[1], sizes[2], sizes[3]});
  problem.activation = desc.activation;
  problem.kernel = kernelName(desc.kernel);
  return problem;
}

PlanDraft planActivation(const DeviceFacts& facts, const ActivationProblem& p, const std::string& forcedKernel) {
  const Choice choice = choose<ActivationProblem>(kVariants, facts, p, p.kernel, forcedKernel);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_ACTIVATION;
  draft.kernel = kVariants[choice.index].name;
  draft.reason = choice.reason;
  draft.label = std::format("{} {} {} x{}", draft.kernel, activationName(p.activation), dtypeName(p.x.dtype), sizesText(p.x));
  draft.flops = static_cast<double>(p.x.elements());  // one evaluation per element, whatever it costs
  const bool something = p.x.elements() > 0;
  addSlot(draft, "x", p.x, something);
  addSlot(draft, "out", p.out, something);
  if (!something) return draft;

  ElementsParams params{};
  params.count = static_cast<uint32_t>(p.out.elements());
  params.size1 = p.x.sizes[1];
  params.size2 = p.x.sizes[2];
  params.size3 = p.x.sizes[3];
  params.xStride0 = p.x.strides[0];
  params.xStride1 = p.x.strides[1];
  params.xStride2 = p.x.strides[2];
  params.outStride0 = p.out.strides[0];
  params.outStride1 = p.out.strides[1];
  params.outStride2 = p.out.strides[2];
  StepDraft step;
  step.shader = &shaderFor(draft.kernel.c_str(), p.x.dtype, facts);
  const uint32_t localSize = elementwiseLocalSize(facts, 128);
  step.specialisation = {localSize, static_cast<uint32_t>(p.activation)};
  step.setParams(params);
  step.groups = (p.out.elements() + localSize - 1) / localSize;
  step.slots = {0, 1};
  draft.steps.push_back(std::move(step));
  return draft;
}

}  // namespace saccade::core
