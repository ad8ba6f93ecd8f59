// SPDX-License-Identifier: Apache-2.0
// The C entry points of the operators around attention: check, translate, call; nothing else.
#include <array>

#include "api/entry.hpp"
#include "ops/activation.hpp"
#include "ops/layer_norm.hpp"
#include "ops/matmul_plan.hpp"
#include "ops/patch_embed.hpp"
#include "ops/softmax.hpp"

using namespace saccade::core;

SaccadeStatus saccadeCreateMatmulPlan(SaccadeContext context, const SaccadeMatmulDesc* desc,
                                      SaccadePlan* plan, SaccadeMessage* message) {
  return createPlan(context, desc, plan, message, [&] {
    return planMatmul(context->facts(), validateMatmul(*desc), context->forcedKernel(), context->tuning());
  });
}

SaccadeStatus saccadeGetMatmulCandidates(SaccadeContext context, const SaccadeMatmulDesc* desc, uint32_t* count,
                                         SaccadeCandidate* candidates, SaccadeMessage* message) {
  return getCandidates(context, desc, count, candidates, message, [&] {
    const MatmulProblem problem = foldBatches(validateMatmul(*desc));
    return CandidateList{tuningKey(problem), matmulCandidates(context->facts(), problem)};
  });
}

SaccadeStatus saccadeCmdMatmul(VkCommandBuffer commandBuffer, SaccadePlan plan,
                               const SaccadeMatmulBuffers* buffers, SaccadeMessage* message) {
  return guarded(message, [&] {
    checkRecordCall(commandBuffer, plan, SACCADE_OPERATOR_MATMUL, buffers);
    record(commandBuffer, *plan,
           std::array{buffers->a, buffers->b, buffers->bias, buffers->residual, buffers->out});
  });
}

SaccadeStatus saccadeCreateLayerNormPlan(SaccadeContext context, const SaccadeLayerNormDesc* desc,
                                         SaccadePlan* plan, SaccadeMessage* message) {
  return createPlan(context, desc, plan, message, [&] {
    return planLayerNorm(context->facts(), validateLayerNorm(*desc), context->forcedKernel());
  });
}

SaccadeStatus saccadeCmdLayerNorm(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                  const SaccadeLayerNormBuffers* buffers, SaccadeMessage* message) {
  return guarded(message, [&] {
    checkRecordCall(commandBuffer, plan, SACCADE_OPERATOR_LAYER_NORM, buffers);
    record(commandBuffer, *plan, std::array{buffers->x, buffers->weight, buffers->bias, buffers->out});
  });
}

SaccadeStatus saccadeCreateSoftmaxPlan(SaccadeContext context, const SaccadeSoftmaxDesc* desc,
                                       SaccadePlan* plan, SaccadeMessage* message) {
  return createPlan(context, desc, plan, message, [&] {
    return planSoftmax(context->facts(), validateSoftmax(*desc), context->forcedKernel());
  });
}

SaccadeStatus saccadeCmdSoftmax(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                const SaccadeSoftmaxBuffers* buffers, SaccadeMessage* message) {
  return guarded(message, [&] {
    checkRecordCall(commandBuffer, plan, SACCADE_OPERATOR_SOFTMAX, buffers);
    record(commandBuffer, *plan, std::array{buffers->x, buffers->out});
  });
}

SaccadeStatus saccadeCreateActivationPlan(SaccadeContext context, const SaccadeActivationDesc* desc,
                                          SaccadePlan* plan, SaccadeMessage* message) {
  return createPlan(context, desc, plan, message, [&] {
    return planActivation(context->facts(), validateActivation(*desc), context->forcedKernel());
  });
}

SaccadeStatus saccadeCmdActivation(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                   const SaccadeActivationBuffers* buffers, SaccadeMessage* message) {
  return guarded(message, [&] {
    checkRecordCall(commandBuffer, plan, SACCADE_OPERATOR_ACTIVATION, buffers);
    record(commandBuffer, *plan, std::array{buffers->x, buffers->out});
  });
}

SaccadeStatus saccadeCreatePatchEmbedPlan(SaccadeContext context, const SaccadePatchEmbedDesc* desc,
                                          SaccadePlan* plan, SaccadeMessage* message) {
  return createPlan(context, desc, plan, message, [&] {
    return planPatchEmbed(context->facts(), validatePatchEmbed(*desc), context->forcedKernel(), context->tuning());
  });
}

SaccadeStatus saccadeCmdPatchEmbed(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                   const SaccadePatchEmbedBuffers* buffers, SaccadeMessage* message) {
  return guarded(message, [&] {
    checkRecordCall(commandBuffer, plan, SACCADE_OPERATOR_PATCH_EMBED, buffers);
    const auto& b = *buffers;
    record(commandBuffer, *plan, std::array{b.image, b.weight, b.bias, b.residual, b.out, b.scratch});
  });
}
