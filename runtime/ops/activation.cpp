// SPDX-License-Identifier: Apache-2.0
#include "ops/activation.hpp"

#include "kernels/choose.hpp"
#include "ops/common.hpp"
#include "ops/rows.hpp"
#include "text/formatted.hpp"

namespace saccade::core {

namespace {

std::string always(const DeviceFacts&, const ActivationProblem&) { return ""; }
Estimate estimate(const DeviceFacts&, const ActivationProblem&) {
  return {1, "the only kernel of this operator"};
}
const Variant<ActivationProblem> kActivationVariants[] = {{"activation", always, estimate}};

// Rows that follow each other without a gap in both tensors become one long row.
void foldRows(Tensor& x, const Tensor& out) {
  for (size_t axis = 3; axis-- > 0;) {
    const bool follows = x.strides[axis] == x.sizes[3] && out.strides[axis] == x.sizes[3];
    if (x.sizes[axis] != 1 && !follows) return;
    x.sizes[3] *= x.sizes[axis];
    x.sizes[axis] = 1;
  }
}

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

PlanDraft planActivation(const DeviceFacts& facts, const ActivationProblem& p,
                         const std::string& forcedKernel) {
  const auto choice = choose<ActivationProblem, NoTile>(kActivationVariants, facts, p, p.kernel, forcedKernel);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_ACTIVATION;
  draft.kernel = kActivationVariants[choice.index].name;
  draft.reason = choice.reason;
  draft.label = formatted("{} {} {} x{}", draft.kernel, activationName(p.activation), dtypeName(p.x.dtype),
                            sizesText(p.x));
  draft.flops = static_cast<double>(p.x.elements());  // one evaluation per element, whatever it costs
  const bool something = p.x.elements() > 0;
  addSlot(draft, "x", p.x, something);
  addSlot(draft, "out", p.out, something);
  if (!something) return draft;

  Tensor x = p.x;
  foldRows(x, p.out);
  draft.steps.push_back(makeChunkedRowsStep(facts, draft.kernel.c_str(), x, p.out, {0, -1, -1, 1}));
  draft.steps.back().specialisation.push_back(static_cast<uint32_t>(p.activation));
  return draft;
}

}  // namespace saccade::core
