// SPDX-License-Identifier: Apache-2.0
// Patch embedding: pictures are cut into rows of one patch each, which a matrix product then embeds.
#pragma once

#include <string>

#include "device/facts.hpp"
#include "ops/matmul_problem.hpp"
#include "plan/plan.hpp"
#include "plan/tensor.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::core {

struct PatchEmbedProblem {
  Tensor image, weight;
  uint32_t patchSize = 0;
  MatmulProblem product;  // a: the patches, contiguous in scratch
};

PatchEmbedProblem validatePatchEmbed(const SaccadePatchEmbedDesc& desc);
PlanDraft planPatchEmbed(const DeviceFacts& facts, const PatchEmbedProblem& problem,
                         const std::string& forcedKernel, const TuningTable& tuning = {});

}  // namespace saccade::core
