// SPDX-License-Identifier: Apache-2.0
#include "attention/choice.hpp"

#include <algorithm>

namespace saccade::core {
namespace {

std::string always(const DeviceFacts&, const AttentionProblem&) { return ""; }

Estimate estimateScalarRows(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {1, "a CPU device reads each key once for a whole subgroup"};
  return {4, "on a GPU every invocation of a work-group would wait for its own keys"};
}

Estimate estimateScalarTiled(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {20, "shared memory and barriers cost more than they save on a CPU device"};
  return {2, "tiles in shared memory are read once by a whole work-group"};
}

const Variant<AttentionProblem> kVariants[] = {
    {"scalar_rows", always, estimateScalarRows},
    {"scalar_tiled", always, estimateScalarTiled},
};

// One subgroup per work-group: its invocations share the loads of K and V.
uint32_t rowsPerGroup(const DeviceFacts& facts) {
  return std::clamp(facts.subgroupSize, 1u, std::min(facts.maxComputeWorkGroupInvocations, facts.maxComputeWorkGroupSize[0]));
}

AttentionTile scalarRowsTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  // Unrolled code grows with keys * head_dim and with the conversions of 16-bit types, and so does the driver's compile time.
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  const uint32_t keys = (widest <= 96 ? 8 : widest <= 192 ? 4 : 2) / (problem.q.dtype == SACCADE_DTYPE_F32 ? 1 : 2);
  const uint32_t lanes = rowsPerGroup(facts);
  return {lanes, lanes, keys};
}

AttentionTile scalarTiledTile(const DeviceFacts&, const AttentionProblem&) {
  // 128 invocations as 8 x 16: 4 rows and 2 keys each. Fits the 16 KiB of shared memory that every device has.
  return {128, 32, 32, 32};
}

}  // namespace

AttentionTile weightsTile(const DeviceFacts& facts) { return {rowsPerGroup(facts), rowsPerGroup(facts), 1}; }

AttentionChoice chooseAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forced) {
  const Choice choice = choose<AttentionProblem>(kVariants, facts, problem, problem.kernel, forced);
  const bool rows = choice.index == 0;
  return {kVariants[choice.index].name, rows ? scalarRowsTile(facts, problem) : scalarTiledTile(facts, problem),
          choice.reason};
}

}  // namespace saccade::core
