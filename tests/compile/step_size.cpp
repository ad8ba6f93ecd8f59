// SPDX-License-Identifier: Apache-2.0
#include "step_size.hpp"

#include "attention/choice.hpp"
#include "ops/matmul_choice.hpp"

namespace saccade::compile {
namespace {

// The problem as if no kernel were asked for.
template <class Problem>
Problem free(Problem problem) {
  problem.kernel.clear();
  return problem;
}

StepSize sizeOf(const core::DeviceFacts& facts, const AttentionDesc& desc) {
  const core::AttentionProblem problem = core::validateAttention(desc.toC());
  const core::AttentionChoice choice = core::chooseAttention(facts, problem, "");
  const std::uint32_t rows = choice.tile.rows * choice.tile.fold, keys = choice.tile.keys;
  const double channels = static_cast<double>(problem.headDimQk) + problem.headDimV;
  return {choice.kernel, choice.tileText, choice.tileText == core::chooseAttention(facts, free(problem), "").tileText, rows, keys,
          2.0 * rows * keys * channels, keys * channels * core::dtypeBytes(problem.k.dtype)};
}

StepSize sizeOf(const core::DeviceFacts& facts, const MatmulDesc& desc) {
  const core::MatmulProblem problem = core::validateMatmul(desc.toC());
  const core::MatmulChoice choice = core::chooseMatmul(facts, problem, "");
  return {choice.kernel, choice.tileText, choice.tileText == core::chooseMatmul(facts, free(problem), "").tileText, choice.tile.rows,
          choice.tile.columns, 2.0 * choice.tile.rows * choice.tile.columns * choice.tile.chunk};
}

// The other operators have one kernel each.
StepSize sizeOf(const core::DeviceFacts&, const LayerNormDesc&) { return {.kernel = "layer_norm", .chosen = true}; }
StepSize sizeOf(const core::DeviceFacts&, const SoftmaxDesc&) { return {.kernel = "softmax", .chosen = true}; }
StepSize sizeOf(const core::DeviceFacts&, const ActivationDesc&) { return {.kernel = "activation", .chosen = true}; }
StepSize sizeOf(const core::DeviceFacts&, const PatchEmbedDesc&) { return {.kernel = "patches", .chosen = true}; }

}  // namespace

StepSize stepSizeOf(const core::DeviceFacts& facts, const Case& call) {
  return std::visit([&](const auto& desc) { return sizeOf(facts, desc); }, call.description);
}

}  // namespace saccade::compile
