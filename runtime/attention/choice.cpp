// SPDX-License-Identifier: Apache-2.0
#include "attention/choice.hpp"

#include <algorithm>
#include <bit>

#include "api/text.hpp"

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

AttentionTile rowsTile(const DeviceFacts& facts, const AttentionProblem& problem, bool fp32) {
  // Unrolled code grows with keys * head_dim and with the conversions of 16-bit types, and so does the driver's compile time.
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  const uint32_t keys = (widest <= 96 ? 8 : widest <= 192 ? 4 : 2) / (fp32 ? 1 : 2);
  const uint32_t lanes = subgroupLanes(facts);
  return {lanes, lanes, keys};
}

AttentionTile scalarRowsTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  return rowsTile(facts, problem, problem.q.dtype == SACCADE_DTYPE_F32);
}

AttentionTile widenedRowsTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  AttentionTile tile = rowsTile(facts, problem, true);
  tile.widened = true;
  return tile;
}

AttentionTile splitKvTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  // Enough work-groups to fill the device, whose size Vulkan does not tell; parts long enough to be worth their partial results.
  const uint64_t wanted = isCpu(facts) ? 16 : 512;
  constexpr uint64_t kShortestPart = 64, kMostSplits = 64;
  AttentionTile tile = scalarRowsTile(facts, problem);
  const uint32_t group = problem.numHeadsKv == 0 ? 1 : problem.numHeadsQ / problem.numHeadsKv;
  // Heads that lie in one work-group leave fewer rows to it.
  if (rowsPerEntry(problem) * 2 <= tile.localSize) tile.fold = std::clamp(group, 1u, tile.localSize);
  // Of few rows the time goes into reading K and V, and a CPU reads fewer rows of them at once faster (lavapipe, head dim 128, 32 heads,
  // one row, 2048 keys: 6.8 ms with 4 keys, 4.4 ms with 2). 16-bit types spend it on their conversion, and subgroups of 4
  // (SwiftShader) on arithmetic.
  const bool few = rowsPerEntry(problem) * 2 <= tile.localSize ||
                   (rowsPerEntry(problem) <= tile.localSize && std::max(problem.headDimQk, problem.headDimV) > 96);
  if (few && isCpu(facts) && tile.localSize >= 8 && problem.q.dtype == SACCADE_DTYPE_F32) tile.keys = std::max(tile.keys / 2, 1u);
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

// Four rows in every work-group, sixteen channels to an invocation.
AttentionTile channelLanesTile(const DeviceFacts&, const AttentionProblem& problem) {
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  AttentionTile tile{std::max(static_cast<uint32_t>(divideUp(widest, 16)), 4u), 4, 16};
  tile.widened = problem.q.dtype != SACCADE_DTYPE_F32;
  return tile;
}

std::string always(const DeviceFacts&, const AttentionProblem&) { return ""; }

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
  const AttentionTile tile = splitKvTile(facts, problem);
  // A second dispatch costs a CPU device more than a few hundred keys.
  const bool worthIt = !isCpu(facts) || problem.seqlenK >= 1024;
  const bool shortQueries = rowsPerEntry(problem) <= tile.localSize && worthIt;
  if ((isCpu(facts) && tile.fold > 1) || (shortQueries && tile.splits > 1)) {
    return {0.5, "few query rows: heads of a group share their keys, and work-groups the keys of a row"};
  }
  if (isCpu(facts) && tile.keys < scalarRowsTile(facts, problem).keys && worthIt) {
    return {0.5, "few query rows: reading K and V takes the time, and shorter steps read them faster"};
  }
  return {5, "there are query rows enough to fill the device without splitting keys"};
}

Estimate estimateWidenedRows(const DeviceFacts& facts, const AttentionProblem& problem) {
  constexpr uint64_t kFewestRows = 64;
  const uint64_t group = problem.numHeadsKv == 0 ? 0 : problem.numHeadsQ / problem.numHeadsKv;
  if (widenedElements(problem) > kMostWidened) return {6, kTooManyWidened};
  if (isCpu(facts) && problem.q.dtype != SACCADE_DTYPE_F32 && rowsPerEntry(problem) * group >= kFewestRows) {
    return {0.8, "a CPU device converts each key once, not once per block of rows"};
  }
  return {6, "K and V need no conversion, or too few rows read them"};
}

std::string channelLanesRefusal(const DeviceFacts& facts, const AttentionProblem& problem) {
  return problem.q.dtype == SACCADE_DTYPE_F32 ? "" : widenedRowsRefusal(facts, problem);
}

Estimate estimateChannelLanes(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (problem.q.dtype != SACCADE_DTYPE_F32 && widenedElements(problem) > kMostWidened) return {8, kTooManyWidened};
  if (isPlainCpu(facts)) return {0.2, "a CPU driver as plain as this indexes arrays lane by lane, and this kernel has none"};
  return {8, "a step waits for all invocations of a work-group three times"};
}

Estimate estimateScalarTiled(const DeviceFacts& facts, const AttentionProblem&) {
  if (isCpu(facts)) return {20, "shared memory and barriers cost more than they save on a CPU device"};
  return {2, "tiles in shared memory are read once by a whole work-group"};
}

// Tiles beside the built-in ones. The unrolled code of a step grows with keys * head_dim, and no tile may cost the driver
// seconds, so that product is bounded.
std::vector<uint32_t> keysWorthTrying(const AttentionProblem& problem) {
  constexpr uint32_t kLongestStep = 1024;
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV) * (problem.q.dtype == SACCADE_DTYPE_F32 ? 1 : 2);
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
  if (!isCpu(facts) || problem.q.dtype == SACCADE_DTYPE_F32) return {};
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

std::vector<AttentionTile> otherLanesTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  std::vector<AttentionTile> tiles;
  for (const uint32_t keys : {4u, 8u, 32u}) {
    AttentionTile tile = channelLanesTile(facts, problem);
    tile.keys = keys;
    tiles.push_back(tile);
  }
  return tiles;
}

std::vector<AttentionTile> otherTiledTiles(const DeviceFacts& facts, const AttentionProblem& problem) {
  std::vector<AttentionTile> tiles;
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  for (const uint32_t keys : {16u, 32u, 64u, 128u}) {
    for (const uint32_t channels : {16u, 32u, 64u, 128u}) {
      if (channels != 16 && channels >= 2 * widest) continue;
      AttentionTile tile = scalarTiledTile(facts, problem);
      tile.keys = keys;
      tile.channels = channels;
      tiles.push_back(tile);
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

std::string settleTiled(const DeviceFacts& facts, const AttentionProblem&, AttentionTile& tile) {
  constexpr uint32_t kRows = 32, kSharers = 4;
  const uint64_t floats = uint64_t{kRows + tile.keys} * (tile.channels + 1) + kRows * (tile.keys + 1) + kSharers * kRows + kRows + 1;
  const uint64_t bytes = floats * sizeof(float);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("keys is {} and channels {}, which needs {} bytes of shared memory; this device has {}", tile.keys, tile.channels,
                     bytes, facts.maxComputeSharedMemorySize);
}

std::string settleLanes(const DeviceFacts& facts, const AttentionProblem&, AttentionTile& tile) {
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
constexpr Field kLanesFields[] = {{"keys", &AttentionTile::keys, 1, 64, 1}};
constexpr Field kTiledFields[] = {{"keys", &AttentionTile::keys, 16, 128, 16}, {"channels", &AttentionTile::channels, 16, 128, 16}};

using AttentionVariant = Variant<AttentionProblem, AttentionTile>;
constexpr AttentionVariant kVariants[] = {
    {"scalar_rows", always, estimateScalarRows, scalarRowsTile, kRowsFields, settleRows, otherRowsTiles},
    {"scalar_tiled", always, estimateScalarTiled, scalarTiledTile, kTiledFields, settleTiled, otherTiledTiles},
    {"split_kv", always, estimateSplitKv, splitKvTile, kSplitKvFields, settleSplitKv, otherSplitKvTiles},
    {"widened_rows", widenedRowsRefusal, estimateWidenedRows, widenedRowsTile, kRowsFields, settleRows, otherWidenedTiles},
    {"channel_lanes", channelLanesRefusal, estimateChannelLanes, channelLanesTile, kLanesFields, settleLanes, otherLanesTiles},
};

}  // namespace

WidenedSizes widenedSizes(const AttentionProblem& p, uint32_t headDim) {
  const uint64_t width = divideUp(headDim, 4) * 4;
  const bool entries = !p.packed || p.paged();  // else all sequences lie in one
  return {width, width * p.seqlenK, entries ? width * p.seqlenK * p.numHeadsKv : 0,
          width * p.seqlenK * p.numHeadsKv * (entries ? p.batch : 1)};
}

AttentionTile weightsTile(const DeviceFacts& facts) { return {subgroupLanes(facts), subgroupLanes(facts), 1}; }

AttentionChoice chooseAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forced,
                                const TuningTable& tuning) {
  const KernelRequest* tuned = tuning.empty() ? nullptr : tuning.find(tuningKey(problem));
  const auto choice = choose<AttentionProblem, AttentionTile>(kVariants, facts, problem, problem.kernel, forced, tuned);
  const AttentionVariant& variant = kVariants[choice.index];
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
  return key;
}

std::vector<std::string> attentionCandidates(const DeviceFacts& facts, const AttentionProblem& problem) {
  return listCandidates<AttentionProblem, AttentionTile>(kVariants, facts, problem);
}

std::string attentionRequestRefusal(const DeviceFacts& facts, const KernelRequest& request) {
  const size_t index = findVariant<AttentionProblem, AttentionTile>(kVariants, request.kernel);
  return index == std::size(kVariants) ? "it is not a variant of attention" : tileRefusal(facts, kVariants[index].fields, request);
}

}  // namespace saccade::core
