// SPDX-License-Identifier: Apache-2.0
#include "attention/lines_tile.hpp"

#include <algorithm>

#include "plan/rounding.hpp"
#include "text/formatted.hpp"

namespace saccade::core {
namespace {

// The sums of a line's rows stay in registers, whose number no device tells. No driver whose figures are known spills below this.
constexpr uint32_t kWidestRow = 128;

uint32_t widestHead(const AttentionProblem& problem) { return std::max(problem.headDimQk, problem.headDimV); }

// The narrowest: more rows come from as many invocations.
uint32_t subgroupOf(const DeviceFacts& facts) { return facts.subgroupSizeControl ? facts.minSubgroupSize : facts.subgroupSize; }

// Channels of V of an invocation.
uint32_t widthOf(const AttentionProblem& problem, uint32_t subgroup) {
  return static_cast<uint32_t>(std::max<uint64_t>(divideUp(problem.headDimV, subgroup), 1));
}

// The arrays of shaders/attention/scalar_lines.comp.
uint64_t linesSharedBytes(const AttentionProblem& problem, const AttentionTile& tile) {
  const uint64_t width = widthOf(problem, tile.subgroupSize);
  const uint64_t widest = std::max({roundUp(problem.headDimQk, 4), roundUp(problem.headDimV, 4), roundUp(problem.headDimV, width)});
  const uint64_t pitch = roundUp(widest, 8) / 4 + 1;
  const uint64_t weights = uint64_t{tile.subgroups} * tile.columns * (tile.keys / tile.team + 4);
  return (tile.rows + tile.keys) * pitch * 16 + (weights + 1) * 4;
}

// Where shared memory of 64 KiB speaks of many registers too.
bool hasManyRegisters(const DeviceFacts& facts) { return !isCpu(facts) && facts.maxComputeSharedMemorySize >= 65536; }

// Invocations that a line may have: as many as there are lines in a subgroup at least, for each line keeps scores of some rows.
std::vector<uint32_t> linesOf(uint32_t subgroup) {
  std::vector<uint32_t> all;
  for (const uint32_t columns : {4u, 8u, 16u}) {
    if (columns <= subgroup && columns * columns >= subgroup) all.push_back(columns);
  }
  return all;
}

AttentionTile tileOfLines(const DeviceFacts& facts, uint32_t subgroups, uint32_t columns, uint32_t team, uint32_t keys) {
  AttentionTile tile{};
  tile.subgroups = subgroups;
  tile.columns = columns;
  tile.team = team;
  tile.keys = keys;
  tile.subgroupSize = subgroupOf(facts);
  tile.rolled = !hasManyRegisters(facts);
  return tile;
}

}  // namespace

std::string scalarLinesRefusal(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (widestHead(problem) > kWidestRow) {
    return formatted("takes head dims up to {}, and one is {}: it keeps rows in registers", kWidestRow, widestHead(problem));
  }
  AttentionTile tile = scalarLinesTile(facts, problem);
  return settleLines(facts, problem, tile);
}

Estimate estimateScalarLines(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (isCpu(facts)) return {25, "a CPU device has no registers that others read, and every rotation passes through memory"};
  if (!hasManyRegisters(facts)) return {3, "registers or shared memory hold too few rows"};
  // GPUs without subgroups narrower than 64 convert fp16 at a quarter of the rate of products, and have no instruction that does both.
  const bool wideSubgroups = facts.minSubgroupSize >= 64;
  if (!wideSubgroups && problem.q.dtype == SACCADE_DTYPE_F16) {
    return {3, "products widen fp16 by themselves, and read it from shared memory in half the time"};
  }
  // Those without fp16 arithmetic are older still, and pass what they rotate through shared memory.
  if (wideSubgroups && !facts.shaderFloat16) return {3, "the device is older than reading another invocation's register"};
  return {1.5, "a line of invocations hands rows round in registers, which takes less time than shared memory"};
}

std::string settleLines(const DeviceFacts& facts, const AttentionProblem& problem, AttentionTile& tile) {
  const uint32_t subgroup = tile.subgroupSize;
  if (std::string refusal = subgroupSizeRefusal(facts, subgroup); !refusal.empty()) return refusal;
  const std::vector<uint32_t> lines = linesOf(subgroup);
  if (std::find(lines.begin(), lines.end(), tile.columns) == lines.end()) {
    std::string choice;
    for (const uint32_t columns : lines) choice += formatted("{}{}", choice.empty() ? "" : " or ", columns);
    return formatted("columns is {}, but must be {} in subgroups of {}", tile.columns, choice, subgroup);
  }
  if (tile.subgroups % tile.team != 0 || tile.keys % (tile.columns * tile.team) != 0) {
    return formatted("team is {}, but subgroups ({}) must be a multiple of it, and keys ({}) one of {} for each of it", tile.team,
                     tile.subgroups, tile.keys, tile.columns);
  }
  tile.localSize = tile.subgroups * subgroup;
  tile.rows = tile.subgroups / tile.team * tile.columns;
  if (tile.localSize > maxLocalSize(facts)) {
    return formatted("subgroups is {}, which makes {} invocations; work-groups have at most {} on this device", tile.subgroups,
                     tile.localSize, maxLocalSize(facts));
  }
  const uint64_t bytes = linesSharedBytes(problem, tile);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("keys is {} and subgroups {}, which needs {} bytes of shared memory; this device has {}", tile.keys, tile.subgroups,
                   bytes, facts.maxComputeSharedMemorySize);
}

AttentionTile scalarLinesTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (isCpu(facts)) {  // short code
    const uint32_t columns = facts.subgroupSize <= 16 ? 4 : 8;
    AttentionTile tile = tileOfLines(facts, 4, columns, 2, 2 * columns);
    settleLines(facts, problem, tile);
    return tile;
  }
  const bool wide = widestHead(problem) > 64;
  AttentionTile tile{};
  for (const uint32_t subgroups : {8u, 4u, 2u, 1u}) {
    // Of wide heads shared memory holds half as many rows; two subgroups share them then, so that as many are at work.
    const uint32_t team = wide ? std::min(subgroups, 2u) : 1;
    tile = tileOfLines(facts, subgroups, 16, team, subgroups > 2 ? 32 : 16 * team);
    if (settleLines(facts, problem, tile).empty()) break;
  }
  return tile;
}

std::vector<AttentionTile> otherLineTiles(const DeviceFacts& facts, const AttentionProblem&) {
  std::vector<AttentionTile> tiles;
  for (const uint32_t subgroups : {8u, 4u}) {
    for (const uint32_t columns : {16u, 8u}) {
      for (const uint32_t team : {1u, 2u}) {
        for (const uint32_t keys : {32u, 64u}) tiles.push_back(tileOfLines(facts, subgroups, columns, team, keys));
      }
    }
  }
  return tiles;
}

}  // namespace saccade::core
