// SPDX-License-Identifier: Apache-2.0
#include "attention/decode_tile.hpp"

#include <algorithm>
#include <bit>

#include "plan/rounding.hpp"
#include "text/formatted.hpp"

namespace saccade::core {
namespace {

// Work-groups before keys are split.
uint64_t decodeBlocks(const AttentionProblem& p, const AttentionTile& tile) {
  const uint64_t group = p.numHeadsKv == 0 ? 0 : p.numHeadsQ / p.numHeadsKv;
  return uint64_t{p.batch} * p.numHeadsKv * divideUp(group, tile.fold) * divideUp(rowsPerEntry(p), tile.rows);
}

// Channels of an invocation: whole units of 16 bytes.
uint32_t decodeChannels(const AttentionProblem& problem, uint32_t columns) {
  const uint32_t unit = 16 / dtypeBytes(problem.q.dtype);
  return static_cast<uint32_t>(divideUp(std::max({problem.headDimQk, problem.headDimV, 1u}), uint64_t{columns} * unit)) * unit;
}

uint64_t decodeSharedBytes(const DeviceFacts& facts, const AttentionProblem& problem, const AttentionTile& tile) {
  const uint64_t lines = tile.localSize / tile.columns, merged = uint64_t{tile.localSize} * decodeChannels(problem, tile.columns);
  const uint64_t scores = sharesRowsInSubgroups(facts, tile) ? 0 : uint64_t{tile.rowsEach} * (tile.keys / lines) * tile.localSize;
  const uint64_t q = uint64_t{tile.rowsEach} * tile.columns * decodeChannels(problem, tile.columns);
  return (std::max({q, merged, scores}) + 2 * (lines + 1) * tile.rowsEach + 1) * sizeof(float);
}

// As many neighbours as the keys of a step can be dealt out to.
void setSharers(const DeviceFacts& facts, uint32_t most, AttentionTile& tile) {
  const uint32_t each = tile.keys / (tile.localSize / tile.columns);
  tile.sharers = sharesRowsInSubgroups(facts, tile) ? most : 1;
  while (each % tile.sharers != 0) tile.sharers /= 2;
}

// The rows of a block: `fold` heads of a group, as many rows of each as `most` allows.
void setDecodeRows(const AttentionProblem& problem, uint32_t most, AttentionTile& tile) {
  const uint32_t group = problem.numHeadsKv == 0 ? 1 : std::max(problem.numHeadsQ / problem.numHeadsKv, 1u);
  tile.fold = static_cast<uint32_t>(divideUp(group, divideUp(group, most)));
  tile.rows = 1;
  while (tile.rows < rowsPerEntry(problem) && 2 * tile.rows * tile.fold <= most) tile.rows *= 2;
  tile.rowsEach = tile.partialRows = tile.rows * tile.fold;
}

}  // namespace

AttentionTile flashDecodeTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  constexpr uint32_t kMostRows = 8;
  AttentionTile tile{isCpu(facts) ? 32u : 128u, 1, 0};
  // Sums of an invocation. Those of narrow subgroups have few registers, and portable access takes more of them; shared memory of 48 KiB
  // speaks of many; in wide subgroups two should find room beside each other.
  const bool many = facts.minSubgroupSize == 32 && facts.maxComputeSharedMemorySize >= 49152;
  const bool wide = facts.minSubgroupSize >= 64 && facts.maxComputeSharedMemorySize >= 65536;
  const uint32_t most = facts.minSubgroupSize < 32 || !hasNativeAccess(facts) ? 16 : many ? 64 : 32;
  if (facts.minSubgroupSize == 32 && subgroupSizeRefusal(facts, 32).empty()) tile.subgroupSize = 32;
  // Fewer channels in more invocations, where that lets all rows share the loads of their keys.
  setDecodeRows(problem, kMostRows, tile);
  tile.columns = 8;
  const bool narrow = facts.minSubgroupSize < 16 && hasNativeAccess(facts);
  if ((wide || tile.rowsEach * decodeChannels(problem, 8) > most) && decodeChannels(problem, 16) < decodeChannels(problem, 8) && !narrow) tile.columns = 16;
  const uint32_t channels = decodeChannels(problem, tile.columns);
  setDecodeRows(problem, std::clamp(most / channels, 1u, kMostRows), tile);
  // Keys of which an invocation has the loads in flight.
  const uint32_t room = (many ? 4 : wide ? 2 : 1) * most / (tile.rowsEach * channels);
  tile.keys = tile.localSize / tile.columns * (isCpu(facts) ? 1 : std::clamp(std::bit_floor(room), 1u, many || wide ? 4u : 2u));
  for (; decodeSharedBytes(facts, problem, tile) > facts.maxComputeSharedMemorySize; tile.keys /= 2) tile.localSize /= 2;
  // Narrow subgroups exchange less cheaply than each invocation makes all weights of its line.
  setSharers(facts, facts.minSubgroupSize >= 32 ? 4 : 1, tile);
  tile.splits = splitsOf(facts, problem.seqlenK, decodeBlocks(problem, tile), 128);
  return tile;
}

std::vector<AttentionTile> otherDecodeTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  const AttentionTile builtIn = flashDecodeTile(facts, problem);
  std::vector<AttentionTile> tiles;
  for (const uint32_t splits : {builtIn.splits / 2, builtIn.splits * 2, builtIn.splits / 4, builtIn.splits * 4}) {
    AttentionTile tile = builtIn;
    tile.splits = splits;
    if (splits != 0 && splits <= std::max(problem.seqlenK, 1u)) tiles.push_back(tile);
  }
  for (const uint32_t columns : {4u, 8u, 16u}) {
    for (const uint32_t keys : {builtIn.keys / 2, builtIn.keys, builtIn.keys * 2}) {
      AttentionTile tile = builtIn;
      tile.columns = columns;
      tile.keys = keys;
      tiles.push_back(tile);
    }
  }
  return tiles;
}

std::string settleDecode(const DeviceFacts& facts, const AttentionProblem& problem, AttentionTile& tile) {
  const uint32_t lines = tile.localSize / tile.columns;
  if (!std::has_single_bit(tile.columns)) return formatted("columns is {}, not a power of 2", tile.columns);
  if (tile.keys % lines != 0) return formatted("keys is {}, not a multiple of the {} lines of {} invocations", tile.keys, lines, tile.columns);
  // Sums and loads in the registers of an invocation.
  constexpr uint32_t kMostSums = 256;
  const uint32_t channels = decodeChannels(problem, tile.columns), loads = tile.keys / lines * channels;
  setDecodeRows(problem, tile.rowsEach, tile);
  setSharers(facts, std::bit_floor(tile.sharers), tile);
  if (tile.rowsEach * channels > kMostSums || loads > kMostSums) {
    return formatted("columns is {}, rows_each {} and keys {}, which makes {} sums and {} channels of keys in an invocation; it has room for {}",
                     tile.columns, tile.rowsEach, tile.keys, tile.rowsEach * channels, loads, kMostSums);
  }
  if (const uint64_t groups = decodeBlocks(problem, tile) * tile.splits; groups > UINT32_MAX) {
    return formatted("splits is {}, which makes {} work-groups, more than 4294967295", tile.splits, groups);
  }
  if (tile.subgroupSize != 0 && tile.localSize % tile.subgroupSize != 0) tile.subgroupSize = 0;
  const uint64_t bytes = decodeSharedBytes(facts, problem, tile);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("local_size is {} and keys {}, which needs {} bytes of shared memory; this device has {}", tile.localSize, tile.keys, bytes,
                   facts.maxComputeSharedMemorySize);
}

}  // namespace saccade::core
