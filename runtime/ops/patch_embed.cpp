// SPDX-License-Identifier: Apache-2.0
#include "ops/patch_embed.hpp"

#include "kernels/registry.hpp"
#include "ops/common.hpp"
#include "ops/matmul_plan.hpp"
#include "text/formatted.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "ops_params.h"

namespace {

enum PatchEmbedSlot { kImage, kWeight, kBias, kResidual, kOut, kScratch };

void checkPatchSize(uint32_t patchSize, const Tensor& image) {
  if (patchSize == 0) refuse("patchSize", "patchSize is 0; it must be at least 1");
  for (const size_t axis : {size_t{2}, size_t{3}}) {
    if (image.sizes[axis] % patchSize != 0) {
      refuse("patchSize",
             "patchSize is {}, which does not divide the {} of the image, {} (image.sizes[{}]); resize or "
             "pad the image",
             patchSize, axis == 2 ? "height" : "width", image.sizes[axis], axis);
    }
  }
}

StepDraft makePatchesStep(const DeviceFacts& facts, const PatchEmbedProblem& p) {
  PatchesParams params{};
  params.channels = p.image.sizes[1];
  params.height = p.image.sizes[2];
  params.width = p.image.sizes[3];
  params.imageStrideB = p.image.strides[0];
  params.imageStrideC = p.image.strides[1];
  params.imageStrideH = p.image.strides[2];
  StepDraft step;
  step.shader = &shaderFor("patches", p.image.dtype, facts);
  step.specialisation = {groupSize(facts, 64), p.patchSize};
  step.setParams(params);
  step.groups = uint64_t{p.image.sizes[0]} * params.channels * params.height;
  step.slots = {kImage, kScratch};
  return step;
}

}  // namespace

PatchEmbedProblem validatePatchEmbed(const SaccadePatchEmbedDesc& desc) {
  checkStructSize(desc, "saccadePatchEmbedDescDefault");
  PatchEmbedProblem problem;
  problem.image = checkInput(desc.image, "image", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16});
  const SaccadeDtype dtype = problem.image.dtype;
  problem.weight = checkInput(desc.weight, "weight", {dtype});
  problem.patchSize = desc.patchSize;
  checkPatchSize(desc.patchSize, problem.image);
  const int64_t batch = problem.image.sizes[0], channels = problem.image.sizes[1], size = desc.patchSize;
  const int64_t patches = (problem.image.sizes[2] / size) * (problem.image.sizes[3] / size);
  const int64_t width = problem.weight.sizes[0];
  const int64_t depth = channels * size * size;
  // At most the elements of the image, unless that broadcasts by strides.
  if (batch * patches * depth > int64_t{0xffffffff}) {
    refuse("image.sizes",
           "image.sizes is {}: its patches hold more than the 4294967295 elements that scratch may; split "
           "the batch",
           sizesText(problem.image));
  }
  requireSizes(problem.weight, "weight", {width, channels, size, size},
               "channels come from image, the others from patchSize");

  // From here on it is the product of rows of patches and the weight, whose last three axes are one.
  SaccadeMatmulDesc product = saccadeMatmulDescDefault();
  product.a = {dtype, {batch, 1, patches, depth}, {}};
  product.b = {dtype, {1, 1, width, depth}, {}};
  product.bias = desc.bias;
  product.residual = desc.residual;
  product.out = desc.out;
  product.kernel = desc.kernel;
  problem.product = validateMatmul(product);

  Tensor packed = problem.weight;
  uint64_t stride = 1;
  for (size_t axis = 4; axis-- > 0; stride *= problem.weight.sizes[axis]) {
    if (packed.sizes[axis] > 1 && packed.strides[axis] != stride && problem.weight.elements() > 0) {
      refuse("weight.strides", "weight.strides[{}] is {}; the weight must be contiguous, so it must be {}",
             axis, packed.strides[axis], stride);
    }
  }
  return problem;
}

PlanDraft planPatchEmbed(const DeviceFacts& facts, const PatchEmbedProblem& p,
                         const std::string& forcedKernel, const TuningTable& tuning) {
  const MatmulProblem& product = p.product;
  const MatmulChoice choice = chooseMatmul(facts, product, forcedKernel, tuning);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_PATCH_EMBED;
  draft.kernel = choice.kernel;
  draft.reason = choice.reason;
  draft.tile = choice.tileText;
  draft.label =
      formatted("patch_embed {} {} image{} patch{} E{}{}{}", choice.kernel, dtypeName(p.image.dtype),
                  sizesText(p.image), p.patchSize, product.columns, product.bias.present() ? " bias" : "",
                  product.residual.present() ? " residual" : "");
  draft.flops = matmulFlops(product);
  const bool something = !product.empty();
  addSlot(draft, "image", p.image, something);
  addSlot(draft, "weight", p.weight, something);
  addSlot(draft, "bias", product.bias, something);
  addSlot(draft, "residual", product.residual, something);
  addSlot(draft, "out", product.out, something);
  draft.slots.push_back({"scratch", something ? product.a.bytes() : 0, 16});
  if (!something) return draft;

  const bool patches = product.a.elements() > 0;
  if (patches) draft.steps.push_back(makePatchesStep(facts, p));
  StepDraft step = makeMatmulStep(facts, product, choice, {kScratch, kWeight, kBias, kResidual, kOut});
  step.barrierBefore = patches;
  draft.steps.push_back(std::move(step));
  return draft;
}

}  // namespace saccade::core
