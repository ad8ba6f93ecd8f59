// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax.hpp"

#include "kernels/choose.hpp"
#include "ops/common.hpp"
#include "ops/rows.hpp"
#include "text/formatted.hpp"

namespace saccade::core {
namespace {

std::string always(const DeviceFacts&, const SoftmaxProblem&) { return ""; }
Estimate estimate(const DeviceFacts&, const SoftmaxProblem&) {
  return {1, "the only kernel of this operator"};
}
const Variant<SoftmaxProblem> kSoftmaxVariants[] = {{"softmax", always, estimate}};

}  // namespace

SoftmaxProblem validateSoftmax(const SaccadeSoftmaxDesc& desc) {
  checkStructSize(desc, "saccadeSoftmaxDescDefault");
  SoftmaxProblem problem;
  problem.x = checkInput(desc.x, "x", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16});
  const auto& sizes = problem.x.sizes;
  problem.out = checkOutput(desc.out, "out", {problem.x.dtype}, {sizes[0], sizes[1], sizes[2], sizes[3]});
  problem.kernel = kernelName(desc.kernel);
  return problem;
}

PlanDraft planSoftmax(const DeviceFacts& facts, const SoftmaxProblem& p, const std::string& forcedKernel) {
  const auto choice = choose<SoftmaxProblem, NoTile>(kSoftmaxVariants, facts, p, p.kernel, forcedKernel);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_SOFTMAX;
  draft.kernel = kSoftmaxVariants[choice.index].name;
  draft.reason = choice.reason;
  draft.label = formatted("{} {} x{}", draft.kernel, dtypeName(p.x.dtype), sizesText(p.x));
  draft.flops = static_cast<double>(p.x.elements()) * 5;  // maximum, difference, exponential, sum, quotient
  const bool something = p.x.elements() > 0;
  addSlot(draft, "x", p.x, something);
  addSlot(draft, "out", p.out, something);
  if (something) {
    draft.steps.push_back(makeRowsStep(facts, draft.kernel.c_str(), p.x, p.out, 0, {0, -1, -1, 1}));
  }
  return draft;
}

}  // namespace saccade::core
