// SPDX-License-Identifier: Apache-2.0
#include "attention/choice.hpp"

#include <algorithm>
#include <bit>

#include "attention/coopmat_tile.hpp"
#include "attention/decode_tile.hpp"
#include "attention/lines_tile.hpp"
#include "plan/rounding.hpp"
#include "text/formatted.hpp"

namespace saccade::core {
namespace {

// One subgroup per work-group: its invocations share the loads of K and V.
uint32_t subgroupLanes(const DeviceFacts& facts) {
  return std::clamp(facts.subgroupSize, 1u, std::min(facts.maxComputeWorkGroupInvocations, facts.maxComputeWorkGroupSize[0]));
}

// Work-groups of split_kv before keys are split.
uint64_t blocksOf(const AttentionProblem& p, uint32_t lanes, uint32_t fold) {
  const uint64_t group = p.numHeadsKv == 0 ? 0 : p.numHeadsQ / p.numHeadsKv;
  return uint64_t{p.batch} * p.numHeadsKv * divideUp(group, fold) * divideUp(rowsPerEntry(p), lanes / fold);
}

AttentionTile rowsTile(const DeviceFacts& facts, const AttentionProblem& problem, bool fp32) {
  // Unrolled code grows with keys * head_dim and with the conversions of 16-bit types, and so does the driver's compile time. What each
  // number of keys gives and costs stands in docs/performance.md.
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  const uint32_t keys = (widest <= 96 ? 8 : widest <= 128 ? 5 : widest <= 192 ? 4 : 2) / (fp32 ? 1 : 2);
  const uint32_t lanes = subgroupLanes(facts);
  return {lanes, lanes, keys};
}

AttentionTile scalarRowsTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  return rowsTile(facts, problem, problem.k.dtype == SACCADE_DTYPE_F32);
}

AttentionTile widenedRowsTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  AttentionTile tile = rowsTile(facts, problem, true);
  tile.widened = true;
  return tile;
}

AttentionTile splitKvTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  AttentionTile tile = scalarRowsTile(facts, problem);
  const uint32_t group = problem.numHeadsKv == 0 ? 1 : problem.numHeadsQ / problem.numHeadsKv;
  // Heads that lie in one work-group leave fewer rows to it.
  if (rowsPerEntry(problem) * 2 <= tile.localSize) tile.fold = std::clamp(group, 1u, tile.localSize);
  // Of few rows the time goes into reading K and V, and a CPU reads fewer rows of them at once faster (lavapipe, head dim 128, 32 heads,
  // one row, 2048 keys: 6.8 ms with 4 keys, 4.4 ms with 2). 16-bit types spend it on their conversion, and subgroups of 4
  // (SwiftShader) on arithmetic.
  const bool few = rowsPerEntry(problem) * 2 <= tile.localSize ||
                   (rowsPerEntry(problem) <= tile.localSize && std::max(problem.headDimQk, problem.headDimV) > 96);
  if (few && isCpu(facts) && tile.localSize >= 8 && problem.k.dtype == SACCADE_DTYPE_F32) tile.keys = std::max(tile.keys / 2, 1u);
  tile.rows = tile.localSize / tile.fold;
  tile.splits = splitsOf(facts, problem.seqlenK, blocksOf(problem, tile.localSize, tile.fold), 64);
  return tile;
}

// Channels that scalar_tiled stages of a row: each of the invocations that share it has the same number of pieces of four.
uint32_t roundedChannels(const AttentionProblem& problem, uint32_t columns) {
  const uint32_t widest = std::max({problem.headDimQk, problem.headDimV, 1u});
  return static_cast<uint32_t>(roundUp(widest, uint64_t{4} * columns));
}

uint64_t tiledSharedBytes(const DeviceFacts& facts, const AttentionProblem& problem, const AttentionTile& tile) {
  const uint64_t piece = problem.q.dtype == SACCADE_DTYPE_F16 ? 8 : 16;  // of four channels
  const uint64_t pieces = (tile.rows + tile.keys) * (tile.channels / 4 + 1) + tile.rows * (tile.keys / 4 + 1);
  const uint64_t parts = sharesRowsInSubgroups(facts, tile) ? 1 : uint64_t{tile.rows} * tile.columns + 1;
  return pieces * piece + parts * sizeof(float) + sizeof(uint32_t);
}

AttentionTile scalarTiledTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  const auto tileOf = [&](uint32_t localSize, uint32_t columns, uint32_t rowsEach, uint32_t keys, uint32_t channels) {
    AttentionTile tile{localSize, localSize / columns * rowsEach, keys, std::min(channels, roundedChannels(problem, columns))};
    tile.columns = columns;
    tile.rowsEach = rowsEach;
    return tile;
  };
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  constexpr uint32_t kAll = UINT32_MAX;
  if (isCpu(facts)) return tileOf(32, 8, 1, 32, 64);  // short code: see PRODUCTS in the shader
  // Where shared memory of 64 KiB speaks of many registers too: of subgroups of 32 three or more, of wider ones two shall find room
  // beside each other, so that work-groups are the larger the more a block takes of shared memory.
  const bool half = problem.q.dtype == SACCADE_DTYPE_F16, wideSubgroups = facts.minSubgroupSize >= 64;
  const bool large = facts.maxComputeSharedMemorySize >= 65536;
  if (large && half && maxLocalSize(facts) >= 256 && widest <= 128 && !wideSubgroups) {
    AttentionTile tile = widest <= 64 ? tileOf(128, 8, 8, 32, kAll) : tileOf(192, 16, 8, 64, kAll);
    if (subgroupSizeRefusal(facts, 32).empty()) tile.subgroupSize = 32;
    return tile;
  }
  // Where scalar_lines cannot run or would be slow: of larger work-groups one subgroup is resident where two have room.
  if (wideSubgroups && maxLocalSize(facts) >= 256 && widest <= 128 && (large || !facts.shaderFloat16)) {
    for (const AttentionTile& tile :
         {tileOf(256, 8, 4, 32, kAll), tileOf(256, 8, 2, 32, kAll), tileOf(256, 8, 2, 32, 32), tileOf(256, 8, 1, 32, 32)}) {
      if (2 * tiledSharedBytes(facts, problem, tile) <= facts.maxComputeSharedMemorySize) return tile;
    }
  }
  for (const AttentionTile& tile : {tileOf(128, 16, widest <= 64 ? 4 : 2, 64, kAll), tileOf(128, 8, 2, 32, 128), tileOf(128, 8, 2, 32, 64)}) {
    if (tiledSharedBytes(facts, problem, tile) <= facts.maxComputeSharedMemorySize) return tile;
  }
  return tileOf(128, 8, 2, 32, 32);  // within the 16 KiB that every device has
}

// Four rows in every work-group, sixteen channels to an invocation.
AttentionTile channelLanesTile(const DeviceFacts&, const AttentionProblem& problem) {
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  AttentionTile tile{std::max(static_cast<uint32_t>(divideUp(widest, 16)), 4u), 4, 16};
  tile.widened = problem.k.dtype != SACCADE_DTYPE_F32;
  return tile;
}

// Of kernels that load K and V by loadKeyQuad or loadKeyElement and multiply by their scales, as shaders/include/quantised.glsl says.
std::string neverRefuses(const DeviceFacts&, const AttentionProblem&) { return ""; }

// Elements of the copies of K and V.
uint64_t widenedElements(const AttentionProblem& problem) {
  return widenedSizes(problem, problem.headDimQk).elements + widenedSizes(problem, problem.headDimV).elements;
}

constexpr uint64_t kMostWidened = 8 << 20;  // elements that are worth it: 32 MiB of scratch memory
constexpr const char* kTooManyWidened = "copies of K and V in fp32 take more than 32 MiB";

std::string widenedRowsRefusal(const DeviceFacts&, const AttentionProblem& problem) {
  const uint64_t elements = widenedElements(problem);
  if (elements <= UINT32_MAX) return "";
  return formatted("copies of K and V in fp32 have {} elements, more than 4294967295", elements);
}

Estimate estimateScalarRows(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {1, "a CPU device reads each key once for a whole subgroup"};
  return {4, "on a GPU every invocation of a work-group would wait for its own keys"};
}

Estimate estimateSplitKv(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (!isCpu(facts)) return {5, "one query row per invocation leaves a GPU's registers and lanes to little use"};
  const AttentionTile tile = splitKvTile(facts, problem);
  // A second dispatch costs a CPU device more than a few hundred keys.
  const bool worthIt = problem.seqlenK >= 1024;
  const bool shortQueries = rowsPerEntry(problem) <= tile.localSize && worthIt;
  if (tile.fold > 1 || (shortQueries && tile.splits > 1)) {
    return {0.5, "few query rows: heads of a group share their keys, and work-groups the keys of a row"};
  }
  if (tile.keys < scalarRowsTile(facts, problem).keys && worthIt) {
    return {0.5, "few query rows: reading K and V takes the time, and shorter steps read them faster"};
  }
  return {5, "there are query rows enough to fill the device without splitting keys"};
}

Estimate estimateFlashDecode(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (isCpu(facts)) return {40, "a CPU device reads keys faster through uniform loads"};
  constexpr uint64_t kMostRows = 16;
  if (rowsPerEntry(problem) <= kMostRows) return {0.5, "few query rows: the time goes into reading K and V, which it does once"};
  return {5, "there are query rows enough for tiles"};
}

Estimate estimateWidenedRows(const DeviceFacts& facts, const AttentionProblem& problem) {
  constexpr uint64_t kFewestRows = 64;
  const uint64_t group = problem.numHeadsKv == 0 ? 0 : problem.numHeadsQ / problem.numHeadsKv;
  if (widenedElements(problem) > kMostWidened) return {6, kTooManyWidened};
  if (isCpu(facts) && problem.k.dtype != SACCADE_DTYPE_F32 && rowsPerEntry(problem) * group >= kFewestRows) {
    return {0.8, "a CPU device converts each key once, not once per block of rows"};
  }
  return {6, "K and V need no conversion, or too few rows read them"};
}

std::string channelLanesRefusal(const DeviceFacts& facts, const AttentionProblem& problem) {
  return problem.k.dtype == SACCADE_DTYPE_F32 ? "" : widenedRowsRefusal(facts, problem);
}

Estimate estimateChannelLanes(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (problem.k.dtype != SACCADE_DTYPE_F32 && widenedElements(problem) > kMostWidened) return {8, kTooManyWidened};
  if (isPlainCpu(facts)) return {0.2, "a CPU driver as plain as this indexes arrays lane by lane, and this kernel has none"};
  return {8, "a step waits for all invocations of a work-group three times"};
}

Estimate estimateScalarTiled(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {20, "shared memory and barriers cost more than they save on a CPU device"};
  return {2, "tiles in shared memory are read once by a whole work-group"};
}

Estimate estimateCoopmat(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {30, "a CPU device has no matrix units and takes an element of a matrix at a time"};
  return {1, "both products run on matrix units"};
}

// It takes less of shared memory's time, but more of the arithmetic units' where a conversion has to trade elements. No fact tells, so
// this is for tuning to find out. See docs/kernels.md.
Estimate estimateCoopmat2(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (isCpu(facts)) return estimateCoopmat(facts, problem);
  return {1.1, "conversions cost some devices more than shared memory does: to be measured"};
}

// Tiles beside the built-in ones. The unrolled code of a step grows with keys * head_dim, and no tile may cost the driver
// seconds, so that product is bounded.
std::vector<uint32_t> keysWorthTrying(const AttentionProblem& problem) {
  constexpr uint32_t kLongestStep = 1024;
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV) * (problem.k.dtype == SACCADE_DTYPE_F32 ? 1 : 2);
  std::vector<uint32_t> all;
  for (const uint32_t keys : {1u, 2u, 4u, 8u, 16u}) {
    if (keys * widest <= kLongestStep || keys == 1) all.push_back(keys);
  }
  return all;
}

std::vector<AttentionTile> otherRowsTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  std::vector<AttentionTile> tiles;
  for (const uint32_t keys : keysWorthTrying(problem)) {
    for (uint32_t factor = 1; factor <= (isCpu(facts) ? 1 : 4); factor *= 2) {
      const uint32_t lanes = subgroupLanes(facts) * factor;
      if (lanes <= maxLocalSize(facts)) tiles.push_back({lanes, lanes, keys});
    }
  }
  return tiles;
}

std::vector<AttentionTile> otherWidenedTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (!isCpu(facts) || problem.k.dtype == SACCADE_DTYPE_F32) return {};
  std::vector<AttentionTile> tiles = otherRowsTiles(facts, problem);
  for (AttentionTile& tile : tiles) tile.widened = true;
  return tiles;
}

std::vector<AttentionTile> otherSplitKvTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  const AttentionTile builtIn = splitKvTile(facts, problem);
  const uint32_t group = problem.numHeadsKv == 0 ? 1 : problem.numHeadsQ / problem.numHeadsKv;
  std::vector<AttentionTile> tiles;
  const auto add = [&](uint32_t fold, uint32_t splits, uint32_t keys) {
    if (splits == 0 || splits > std::max(problem.seqlenK, 1u)) return;
    if (fold == 1 && splits == 1) return;  // scalar_rows by another name
    AttentionTile tile = builtIn;
    tile.fold = fold;
    tile.splits = splits;
    tile.keys = keys;
    tiles.push_back(tile);
  };
  for (const uint32_t splits : {builtIn.splits / 2, builtIn.splits * 2, builtIn.splits / 4, builtIn.splits * 4, 1u, builtIn.splits}) {
    for (const uint32_t fold : {builtIn.fold, std::clamp(group, 1u, builtIn.localSize), 1u}) add(fold, splits, builtIn.keys);
  }
  for (const uint32_t keys : keysWorthTrying(problem)) add(builtIn.fold, builtIn.splits, keys);
  return tiles;
}

std::vector<AttentionTile> otherChannelLanesTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  std::vector<AttentionTile> tiles;
  for (const uint32_t keys : {4u, 8u, 32u}) {
    AttentionTile tile = channelLanesTile(facts, problem);
    tile.keys = keys;
    tiles.push_back(tile);
  }
  return tiles;
}

std::vector<AttentionTile> otherTiledTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  const AttentionTile builtIn = scalarTiledTile(facts, problem);
  std::vector<AttentionTile> tiles;
  const auto add = [&](uint32_t localSize, uint32_t columns, uint32_t rowsEach, uint32_t keys) {
    if (localSize > maxLocalSize(facts)) return;
    AttentionTile tile = builtIn;
    tile.localSize = localSize;
    tile.columns = columns;
    tile.rowsEach = rowsEach;
    tile.keys = keys;
    tile.channels = roundedChannels(problem, columns);
    tiles.push_back(tile);
  };
  for (const uint32_t columns : {8u, 16u}) {
    for (const uint32_t rowsEach : {2u, 4u, 8u}) {
      for (const uint32_t localSize : {128u, 256u}) {
        for (const uint32_t keys : {4 * columns, 8 * columns}) add(localSize, columns, rowsEach, keys);
      }
    }
  }
  return tiles;
}

std::string settleRows(const DeviceFacts&, const AttentionProblem&, AttentionTile& tile) {
  tile.rows = tile.localSize;
  return "";
}

std::string settleSplitKv(const DeviceFacts&, const AttentionProblem& problem, AttentionTile& tile) {
  if (tile.fold > tile.localSize) return formatted("fold is {}, more than the {} invocations of local_size", tile.fold, tile.localSize);
  tile.rows = tile.localSize / tile.fold;
  const uint64_t groups = blocksOf(problem, tile.localSize, tile.fold) * tile.splits;
  if (groups > UINT32_MAX) return formatted("splits is {}, which makes {} work-groups, more than 4294967295", tile.splits, groups);
  return "";
}

std::string settleTiled(const DeviceFacts& facts, const AttentionProblem& problem, AttentionTile& tile) {
  if (!std::has_single_bit(tile.columns)) return formatted("columns is {}, not a power of 2", tile.columns);
  if (tile.keys % (4 * tile.columns) != 0) {
    return formatted("keys is {}, not a multiple of {}, four for each of the columns", tile.keys, 4 * tile.columns);
  }
  if (tile.channels % (4 * tile.columns) != 0) {
    return formatted("channels is {}, not a multiple of {}, four for each of the columns", tile.channels, 4 * tile.columns);
  }
  if (tile.localSize % tile.columns != 0) return formatted("local_size is {}, not a multiple of the {} columns", tile.localSize, tile.columns);
  if (tile.subgroupSize != 0 && tile.localSize % tile.subgroupSize != 0) tile.subgroupSize = 0;
  tile.rows = tile.localSize / tile.columns * tile.rowsEach;
  const uint64_t bytes = tiledSharedBytes(facts, problem, tile);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("keys is {} and channels {}, which needs {} bytes of shared memory; this device has {}", tile.keys, tile.channels,
                     bytes, facts.maxComputeSharedMemorySize);
}

std::string settleChannelLanes(const DeviceFacts& facts, const AttentionProblem&, AttentionTile& tile) {
  const uint64_t floats = uint64_t{tile.rows} * (16 * tile.localSize + tile.keys * (tile.localSize + 2));
  const uint64_t bytes = floats * sizeof(float);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("keys is {}, which needs {} bytes of shared memory; this device has {}", tile.keys, bytes,
                   facts.maxComputeSharedMemorySize);
}

using Field = TileField<AttentionTile>;
constexpr Field kRowsFields[] = {{"local_size", &AttentionTile::localSize, 1, 1024, 1}, {"keys", &AttentionTile::keys, 1, 16, 1}};
constexpr Field kSplitKvFields[] = {{"local_size", &AttentionTile::localSize, 1, 1024, 1},
                                    {"keys", &AttentionTile::keys, 1, 16, 1},
                                    {"fold", &AttentionTile::fold, 1, 1024, 1},
                                    {"splits", &AttentionTile::splits, 1, 1024, 1}};
constexpr Field kChannelLanesFields[] = {{"keys", &AttentionTile::keys, 1, 64, 1}};
constexpr Field kCoopmatFields[] = {{"subgroups", &AttentionTile::subgroups, 1, 32, 1},
                                    {"query_tiles", &AttentionTile::queryTiles, 1, 2, 1},
                                    {"key_tiles", &AttentionTile::keyTiles, 2, 8, 2},
                                    {"shared_q", &AttentionTile::sharedQ, 0, 1, 1},
                                    {"keys", &AttentionTile::keys, 16, 256, 16},
                                    {"team", &AttentionTile::team, 1, 4, 1}};
constexpr auto kCoopmat2Fields = std::span(kCoopmatFields).first<std::size(kCoopmatFields) - 1>();  // it has no teams
constexpr Field kDecodeFields[] = {{"local_size", &AttentionTile::localSize, 16, 256, 16},
                                   {"columns", &AttentionTile::columns, 4, 16, 4},
                                   {"rows_each", &AttentionTile::rowsEach, 1, 16, 1},
                                   {"keys", &AttentionTile::keys, 1, 512, 1},
                                   {"sharers", &AttentionTile::sharers, 1, 4, 1},
                                   {"splits", &AttentionTile::splits, 1, 1024, 1}};
constexpr Field kTiledFields[] = {{"local_size", &AttentionTile::localSize, 32, 1024, 32},
                                  {"columns", &AttentionTile::columns, 8, 32, 8},
                                  {"rows_each", &AttentionTile::rowsEach, 1, 8, 1},
                                  {"keys", &AttentionTile::keys, 8, 128, 8},
                                  {"channels", &AttentionTile::channels, 32, 256, 32}};
constexpr Field kLinesFields[] = {{"subgroups", &AttentionTile::subgroups, 1, 32, 1},
                                  {"columns", &AttentionTile::columns, 4, 16, 4},
                                  {"team", &AttentionTile::team, 1, 4, 1},
                                  {"keys", &AttentionTile::keys, 4, 128, 4}};

using AttentionVariant = Variant<AttentionProblem, AttentionTile>;
constexpr AttentionVariant kAttentionVariants[] = {
    {"scalar_rows", neverRefuses, estimateScalarRows, scalarRowsTile, kRowsFields, settleRows, otherRowsTiles},
    {"scalar_tiled", neverRefuses, estimateScalarTiled, scalarTiledTile, kTiledFields, settleTiled, otherTiledTiles},
    {"scalar_lines", scalarLinesRefusal, estimateScalarLines, scalarLinesTile, kLinesFields, settleLines, otherLineTiles},
    {"flash_decode", neverRefuses, estimateFlashDecode, flashDecodeTile, kDecodeFields, settleDecode, otherDecodeTiles},
    {"split_kv", neverRefuses, estimateSplitKv, splitKvTile, kSplitKvFields, settleSplitKv, otherSplitKvTiles},
    {"widened_rows", widenedRowsRefusal, estimateWidenedRows, widenedRowsTile, kRowsFields, settleRows, otherWidenedTiles},
    {"coopmat", coopmatRefusal, estimateCoopmat, coopmatTile, kCoopmatFields, settleCoopmat, otherCoopmatTiles},
    {"coopmat2", coopmat2Refusal, estimateCoopmat2, coopmatTile, kCoopmat2Fields, settleCoopmat, otherCoopmatTiles},
    {"channel_lanes", channelLanesRefusal, estimateChannelLanes, channelLanesTile, kChannelLanesFields, settleChannelLanes, otherChannelLanesTiles},
};

}  // namespace

uint64_t rowsPerEntry(const AttentionProblem& p) {
  return p.packed ? divideUp(p.seqlenQ, std::max(p.batch, 1u)) : p.seqlenQ;
}

uint32_t splitsOf(const DeviceFacts& facts, uint64_t keys, uint64_t blocks, uint64_t shortestPart) {
  const uint64_t wanted = isCpu(facts) ? 16 : 512;
  constexpr uint64_t kMostSplits = 64;
  const uint64_t longest = std::max<uint64_t>(keys / shortestPart, 1);
  return static_cast<uint32_t>(std::min({divideUp(wanted, std::max<uint64_t>(blocks, 1)), longest, kMostSplits}));
}

WidenedSizes widenedSizes(const AttentionProblem& p, uint32_t headDim) {
  const uint64_t width = divideUp(headDim, 4) * 4;
  const bool entries = !p.packed || p.paged();  // else all sequences lie in one
  return {width, width * p.seqlenK, entries ? width * p.seqlenK * p.numHeadsKv : 0,
          width * p.seqlenK * p.numHeadsKv * (entries ? p.batch : 1)};
}

// The parts of a row lie in neighbouring invocations of one subgroup. Where that can't be, they pass through shared memory.
bool sharesRowsInSubgroups(const DeviceFacts& facts, const AttentionTile& tile) {
  const uint32_t smallest = tile.subgroupSize != 0 ? tile.subgroupSize : facts.minSubgroupSize;
  const uint32_t largest = tile.subgroupSize != 0 ? tile.subgroupSize : facts.maxSubgroupSize;
  return tile.columns != 0 && hasNativeAccess(facts) && smallest >= tile.columns && tile.localSize % std::max(largest, 1u) == 0;
}

AttentionTile weightsTile(const DeviceFacts& facts) { return {subgroupLanes(facts), subgroupLanes(facts), 8, 16}; }

AttentionChoice chooseAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forced,
                                const TuningTable& tuning) {
  const KernelRequest* tuned = tuning.empty() ? nullptr : tuning.find(tuningKey(problem));
  const auto choice = choose<AttentionProblem, AttentionTile>(kAttentionVariants, facts, problem, problem.kernel, forced, tuned);
  const AttentionVariant& variant = kAttentionVariants[choice.index];
  return {variant.name, choice.tile, tileText(variant.name, variant.fields, choice.tile), choice.reason};
}

std::string tuningKey(const AttentionProblem& p) {
  const uint64_t entries = std::max(p.batch, 1u);
  const uint64_t keys = p.packed ? divideUp(p.seqlenK, entries) : p.seqlenK;
  const uint32_t group = p.numHeadsKv == 0 ? 1 : p.numHeadsQ / p.numHeadsKv;
  std::string key = formatted("attention {} dqk{} dv{} tq{} tk{} heads{} group{}", dtypeName(p.q.dtype), p.headDimQk, p.headDimV,
                                std::bit_ceil(rowsPerEntry(p)), std::bit_ceil(keys), std::bit_ceil(entries * p.numHeadsQ), group);
  if (p.windowLeft >= 0 || p.windowRight > 0) {
    key += " window";
  } else if (p.windowRight == 0) {
    key += " causal";
  }
  if (p.mask.present() || p.bias.present()) key += " mask";
  if (p.packed || p.hasSeqlensQ || p.hasSeqlensK) key += " lengths";
  if (p.paged()) key += " paged";
  if (p.quantised()) key += std::string(" kv_") + dtypeName(p.k.dtype);
  return key;
}

std::vector<std::string> attentionCandidates(const DeviceFacts& facts, const AttentionProblem& problem) {
  return listCandidates<AttentionProblem, AttentionTile>(kAttentionVariants, facts, problem);
}

VariantInfo attentionVariantInfo(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& kernel) {
  return describeVariant<AttentionProblem, AttentionTile>(kAttentionVariants, kernel, facts, problem);
}

std::string attentionRequestRefusal(const DeviceFacts& facts, const KernelRequest& request) {
  const size_t index = findVariant<AttentionProblem, AttentionTile>(kAttentionVariants, request.kernel);
  return index == std::size(kAttentionVariants) ? "it is not a variant of attention" : tileRefusal(facts, kAttentionVariants[index].fields, request);
}

}  // namespace saccade::core
