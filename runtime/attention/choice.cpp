// SPDX-License-Identifier: Apache-2.0
#include "attention/choice.hpp"

#include <algorithm>
#include <iterator>

namespace saccade::core {
namespace {

// One subgroup per work-group: its invocations share the loads of K and V.
uint32_t subgroupLanes(const DeviceFacts& facts) {
  return std::clamp(facts.subgroupSize, 1u, std::min(facts.maxComputeWorkGroupInvocations, facts.maxComputeWorkGroupSize[0]));
}

// Rows of one query head and one batch entry, in the mean: how packed sequences divide theirs, only the device may know.
uint64_t rowsPerEntry(const AttentionProblem& p) {
  return p.packed ? (p.seqlenQ + std::max(p.batch, 1u) - 1) / std::max(p.batch, 1u) : p.seqlenQ;
}

uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// Work-groups of split_kv before keys are split.
uint64_t blocksOf(const AttentionProblem& p, uint32_t lanes, uint32_t fold) {
  const uint64_t group = p.numHeadsKv == 0 ? 0 : p.numHeadsQ / p.numHeadsKv;
  return uint64_t{p.batch} * p.numHeadsKv * divideUp(group, fold) * divideUp(rowsPerEntry(p), lanes / fold);
}

AttentionTile scalarRowsTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  // Unrolled code grows with keys * head_dim and with the conversions of 16-bit types, and so does the driver's compile time.
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  const uint32_t keys = (widest <= 96 ? 8 : widest <= 192 ? 4 : 2) / (problem.q.dtype == SACCADE_DTYPE_F32 ? 1 : 2);
  const uint32_t lanes = subgroupLanes(facts);
  return {lanes, lanes, keys};
}

AttentionTile splitKvTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  // Enough work-groups to fill the device, whose size Vulkan does not tell; parts long enough to be worth their partial results.
  const uint64_t wanted = isCpu(facts) ? 32 : 512;
  constexpr uint64_t kShortestPart = 64, kMostSplits = 64;
  AttentionTile tile = scalarRowsTile(facts, problem);
  const uint32_t group = problem.numHeadsKv == 0 ? 1 : problem.numHeadsQ / problem.numHeadsKv;
  // Heads that lie in one work-group leave fewer rows to it.
  if (rowsPerEntry(problem) * 2 <= tile.localSize) tile.fold = std::clamp(group, 1u, tile.localSize);
  tile.rows = tile.localSize / tile.fold;
  const uint64_t blocks = std::max<uint64_t>(blocksOf(problem, tile.localSize, tile.fold), 1);
  const uint64_t longest = std::max<uint64_t>(problem.seqlenK / kShortestPart, 1);
  tile.splits = static_cast<uint32_t>(std::min({divideUp(wanted, blocks), longest, kMostSplits}));
  return tile;
}

AttentionTile scalarTiledTile(const DeviceFacts&, const AttentionProblem&) {
  // 128 invocations as 8 x 16: 4 rows and 2 keys each. Fits the 16 KiB of shared memory that every device has.
  return {128, 32, 32, 32};
}

std::string always(const DeviceFacts&, const AttentionProblem&) { return ""; }

Estimate estimateScalarRows(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {1, "a CPU device reads each key once for a whole subgroup"};
  return {4, "on a GPU every invocation of a work-group would wait for its own keys"};
}

Estimate estimateSplitKv(const DeviceFacts& facts, const AttentionProblem& problem) {
  const AttentionTile tile = splitKvTile(facts, problem);
  const bool shortQueries = rowsPerEntry(problem) <= tile.localSize;
  if ((isCpu(facts) && tile.fold > 1) || (shortQueries && tile.splits > 1)) {
    return {0.5, "few query rows: heads of a group share their keys, and work-groups the keys of a row"};
  }
  return {5, "there are query rows enough to fill the device without splitting keys"};
}

Estimate estimateScalarTiled(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {20, "shared memory and barriers cost more than they save on a CPU device"};
  return {2, "tiles in shared memory are read once by a whole work-group"};
}

constexpr Variant<AttentionProblem> kVariants[] = {
    {"scalar_rows", always, estimateScalarRows},
    {"scalar_tiled", always, estimateScalarTiled},
    {"split_kv", always, estimateSplitKv},
};

// In the order of kVariants.
constexpr AttentionTile (*kTiles[])(const DeviceFacts&, const AttentionProblem&) = {scalarRowsTile, scalarTiledTile, splitKvTile};
static_assert(std::size(kVariants) == std::size(kTiles));

}  // namespace

AttentionTile weightsTile(const DeviceFacts& facts) { return {subgroupLanes(facts), subgroupLanes(facts), 1}; }

AttentionChoice chooseAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forced) {
  const Choice choice = choose<AttentionProblem>(kVariants, facts, problem, problem.kernel, forced);
  return {kVariants[choice.index].name, kTiles[choice.index](facts, problem), choice.reason};
}

}  // namespace saccade::core
