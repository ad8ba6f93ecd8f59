// SPDX-License-Identifier: Apache-2.0
#include "kernels/matrix_shape.hpp"

#include <algorithm>

namespace saccade::core {
namespace {

// Subgroups of this size cost the least by the compilers' figures, on devices that offer smaller and larger ones: half as many
// cycles as 32. Where the smallest is larger, the smallest costs the least.
constexpr uint32_t kBestSubgroupSize = 16;

}  // namespace

uint32_t matrixSubgroupSize(const DeviceFacts& facts) {
  if (!facts.subgroupSizeControl) return facts.subgroupSize;
  return std::clamp(kBestSubgroupSize, facts.minSubgroupSize, facts.maxSubgroupSize);
}

std::optional<MatrixShape> pickMatrixShape(const DeviceFacts& facts, uint32_t aType, uint32_t resultType) {
  if (!facts.cooperativeMatrix) return std::nullopt;
  std::optional<MatrixShape> best;
  for (uint32_t i = 0; i < facts.cooperativeMatrixShapeCount; i++) {
    const SaccadeCooperativeMatrixShape& shape = facts.cooperativeMatrixShapes[i];
    if (shape.scope != VK_SCOPE_SUBGROUP_KHR || shape.saturatingAccumulation) continue;
    if (shape.aType != aType || shape.bType != aType || shape.cType != resultType || shape.resultType != resultType) continue;
    const uint64_t products = uint64_t{shape.mSize} * shape.nSize * shape.kSize;
    if (best && products <= uint64_t{best->m} * best->n * best->k) continue;
    best = {shape.mSize, shape.nSize, shape.kSize, matrixSubgroupSize(facts)};
  }
  return best;
}

const char* matrixUnitsRefusal(const DeviceFacts& facts) {
  if (!facts.cooperativeMatrix) return "needs cooperative matrices (VK_KHR_cooperative_matrix and its feature, enabled)";
  if (!facts.vulkanMemoryModel || !facts.shaderFloat16) return "needs the features vulkanMemoryModel and shaderFloat16, enabled";
  if (!hasNativeAccess(facts)) return kNeedsNativeAccess;
  if (!pickMatrixShape(facts, VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR)) {
    return "needs cooperative matrices of fp16 with fp32 sums in subgroups, and this device lists no such shape";
  }
  return "";
}

}  // namespace saccade::core
