// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm.hpp"

#include <cmath>

#include "kernels/choose.hpp"
#include "ops/common.hpp"
#include "ops/rows.hpp"
#include "plan/rounding.hpp"
#include "text/formatted.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "ops_params.h"

namespace {

std::string always(const DeviceFacts&, const LayerNormProblem&) { return ""; }
Estimate estimate(const DeviceFacts&, const LayerNormProblem&) {
  return {1, "the only kernel of this operator"};
}
const Variant<LayerNormProblem> kLayerNormVariants[] = {{"layer_norm", always, estimate}};

}  // namespace

LayerNormProblem validateLayerNorm(const SaccadeLayerNormDesc& desc) {
  checkStructSize(desc, "saccadeLayerNormDescDefault");
  if (!std::isfinite(desc.epsilon) || desc.epsilon < 0) {
    refuse("epsilon", "epsilon is {}; it must be finite and >= 0", desc.epsilon);
  }
  LayerNormProblem problem;
  problem.x = checkInput(desc.x, "x", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16});
  const auto& sizes = problem.x.sizes;
  const SaccadeDtype dtype = problem.x.dtype;
  problem.out = checkOutput(desc.out, "out", {dtype}, {sizes[0], sizes[1], sizes[2], sizes[3]});
  if ((desc.weight.dtype == SACCADE_DTYPE_NONE) != (desc.bias.dtype == SACCADE_DTYPE_NONE)) {
    const bool bias = desc.bias.dtype == SACCADE_DTYPE_NONE;
    refuse(bias ? "bias.dtype" : "weight.dtype", "{} is absent, but {} is given; give both or neither",
           bias ? "bias" : "weight", bias ? "weight" : "bias");
  }
  if (desc.weight.dtype != SACCADE_DTYPE_NONE) {
    problem.weight = checkInput(desc.weight, "weight", {dtype});
    problem.bias = checkInput(desc.bias, "bias", {dtype});
    requireSizes(problem.weight, "weight", {1, 1, 1, sizes[3]}, "N comes from x");
    requireSizes(problem.bias, "bias", {1, 1, 1, sizes[3]}, "N comes from x");
  }
  problem.epsilon = desc.epsilon;
  problem.kernel = kernelName(desc.kernel);
  return problem;
}

PlanDraft planLayerNorm(const DeviceFacts& facts, const LayerNormProblem& p,
                        const std::string& forcedKernel) {
  const auto choice = choose<LayerNormProblem, NoTile>(kLayerNormVariants, facts, p, p.kernel, forcedKernel);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_LAYER_NORM;
  draft.kernel = kLayerNormVariants[choice.index].name;
  draft.reason = choice.reason;
  draft.label = formatted("{} {} x{}{}", draft.kernel, dtypeName(p.x.dtype), sizesText(p.x),
                            p.weight.present() ? " weight bias" : "");
  // Sum, difference, square and its sum, normalisation; two more for weight and bias.
  draft.flops = static_cast<double>(p.x.elements()) * (p.weight.present() ? 8 : 6);
  const bool something = p.x.elements() > 0;
  addSlot(draft, "x", p.x, something);
  addSlot(draft, "weight", p.weight, something);
  addSlot(draft, "bias", p.bias, something);
  addSlot(draft, "out", p.out, something);
  if (something) {
    StepDraft step = makeRowsStep(facts, draft.kernel.c_str(), p.x, p.out, p.epsilon, {0, 1, 2, 3});
    const uint32_t localSize = step.specialisation[0];
    if (localSize <= LAYER_NORM_NARROW) step.groups = divideUp(step.groups, localSize);
    step.specialisation.push_back(p.weight.present());
    draft.steps.push_back(std::move(step));
  }
  return draft;
}

}  // namespace saccade::core
