// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul_choice.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "plan/rounding.hpp"
#include "text/formatted.hpp"

namespace saccade::core {
namespace {

std::string always(const DeviceFacts&, const MatmulProblem&) { return ""; }

Estimate estimateRows(const DeviceFacts& facts, const MatmulProblem&) {
  if (isCpu(facts)) return {1, "a CPU device reads each element of b once for a whole subgroup"};
  return {4, "on a GPU every invocation would read its own rows from memory"};
}

Estimate estimateTiled(const DeviceFacts& facts, const MatmulProblem&) {
  if (isCpu(facts)) return {20, "shared memory and barriers cost more than they save on a CPU device"};
  return {2, "tiles in shared memory are read once by a whole work-group"};
}

std::string matricesRefusal(const DeviceFacts&, const MatmulProblem& problem) {
  if (problem.a.dtype == SACCADE_DTYPE_F16) return "";
  return formatted("multiplies matrices of f16, and these are of {}", dtypeName(problem.a.dtype));
}

Estimate estimateMatrices(const DeviceFacts& facts, const MatmulProblem&) {
  if (isCpu(facts)) return {40, "a CPU device only imitates matrix units"};
  return {1, "matrix units multiply faster than all else"};
}

// Rows and columns of an invocation. The sums of the largest do not fit the registers of a CPU, but stay in
// its cache; more columns cost the driver's compile time and gain nothing. Where each element of b has to be
// converted first, two rows share the conversion.
struct Blocking {
  uint32_t rows, columns;
};
constexpr Blocking kBlockings32[] = {{1, 64}, {1, 16}, {1, 4}, {1, 1}};
constexpr Blocking kBlockings16[] = {{2, 32}, {1, 16}, {1, 4}, {1, 1}};
// An element of a row costs a load for each lane; of wide subgroups more columns share it.
constexpr Blocking kBlockings32Wide[] = {{1, 96}, {1, 64}, {1, 16}, {1, 4}, {1, 1}};
// On a plain CPU all loops over these are unrolled, and code that takes long to compile; reading b costs more than the sums, and rows
// share it.
constexpr Blocking kBlockingsPlain[] = {{2, 4}, {1, 4}, {1, 1}};

std::span<const Blocking> blockingsFor(const DeviceFacts& facts, const MatmulProblem& problem) {
  if (isPlainCpu(facts)) return kBlockingsPlain;
  if (dtypeBytes(problem.a.dtype) != 4) return kBlockings16;
  if (facts.subgroupSize > 8) return kBlockings32Wide;
  return kBlockings32;
}

// Which operand gives the invocations their rows, and how many each computes: the cheapest in work per useful
// element, where reading an element of a row costs as much as kRead products and is shared by the columns, and reading one of a
// column, which the rows share, costs next to nothing but on a plain CPU.
MatmulTile rowsTile(const DeviceFacts& facts, const MatmulProblem& problem) {
  constexpr double kRead = 3;
  const uint32_t chunk = isPlainCpu(facts) ? 4 : dtypeBytes(problem.a.dtype) == 4 ? 16 : 8;
  const uint32_t lanes = std::clamp(facts.subgroupSize, 1u, maxLocalSize(facts));
  const double readColumn = isPlainCpu(facts) ? 2.5 : 0;
  MatmulTile best{};
  double bestCost = 0;
  for (const bool exchanged : {false, true}) {
    const uint32_t rows = exchanged ? problem.columns : problem.rows;
    const uint32_t columns = exchanged ? problem.rows : problem.columns;
    for (const Blocking each : blockingsFor(facts, problem)) {
      const double cost = static_cast<double>(roundUp(rows, uint64_t{lanes} * each.rows)) *
                          static_cast<double>(roundUp(columns, each.columns)) * (1 + kRead / each.columns) *
                          (1 + readColumn / each.rows);
      if (best.localSize != 0 && cost >= bestCost) continue;
      bestCost = cost;
      best = {lanes, lanes * each.rows, each.columns, each.rows, each.columns, chunk, exchanged ? 1u : 0u};
    }
  }
  return best;
}

// 128 invocations as 8 x 16. Big tiles reuse more, small ones give small problems enough work-groups.
// 32 sums and what is at hand beside them are a few registers too many where subgroups are narrow.
MatmulTile tiledTile(const DeviceFacts& facts, const MatmulProblem& problem) {
  const uint32_t rowsEach = facts.minSubgroupSize < 32 ? 7 : 8;
  const MatmulTile big{128, 8 * rowsEach, 64, rowsEach, 4, 16};
  const MatmulTile small{128, 32, 32, 4, 2, 16};
  const uint64_t groups = divideUp(problem.rows, big.rows) * divideUp(problem.columns, big.columns) * problem.batch0 * problem.batch1;
  return groups >= 256 ? big : small;
}

uint64_t workGroups(const MatmulTile& tile, const MatmulProblem& problem) {
  return divideUp(problem.rows, tile.rows) * divideUp(problem.columns, tile.columns) * problem.batch0 * problem.batch1;
}

void settleSizes(MatmulTile& tile) {
  tile.localSize = tile.subgroupsDown * tile.subgroupsAcross * tile.matrix.subgroupSize;
  tile.rows = tile.subgroupsDown * tile.rowsEach * tile.matrix.m;
  tile.columns = tile.subgroupsAcross * tile.columnsEach * tile.matrix.n;
}

// Whether a subgroup has registers for its sums, the operands at hand and 32 other values of each invocation. A register is taken to
// be as wide as the narrowest subgroup, and there to be 256 of them, 128 where they are narrow: what the compilers of real devices
// then take does not spill.
bool fitsRegisters(const DeviceFacts& facts, const MatmulTile& tile) {
  const uint64_t registers = facts.minSubgroupSize < 32 ? 128 : 256;
  const MatrixShape& matrix = tile.matrix;
  const uint64_t sums = uint64_t{tile.rowsEach} * tile.columnsEach * matrix.m * matrix.n * 4;
  const uint64_t operands = (uint64_t{tile.columnsEach} * matrix.n + matrix.m) * matrix.k * 2;
  const uint64_t others = uint64_t{32} * matrix.subgroupSize * 4;
  return sums + operands + others <= registers * facts.minSubgroupSize * 4;
}

// As the shader lays it out: lines of the chunk, later fp32 results of a row of matrices.
uint64_t sharedBytes(const MatmulTile& tile) {
  const uint64_t pitch = tile.chunk / 4 + 1, resultPitch = tile.columnsEach * tile.matrix.n / 2 + 2;
  const uint64_t staged = uint64_t{tile.rows + tile.columns} * pitch;
  const uint64_t results = uint64_t{tile.subgroupsDown} * tile.subgroupsAcross * tile.matrix.m * resultPitch;
  return std::max(staged, results) * 8;
}

// 2 x 2 subgroups, each with as many matrices as it can hold. Small problems get more and smaller work-groups, and so do CPU
// devices, which take long to compile large ones. Deep chunks mean fewer barriers, and registers to read ahead with.
MatmulTile matricesTile(const DeviceFacts& facts, const MatmulProblem& problem) {
  MatmulTile tile{};
  tile.matrix = *pickMatrixShape(facts, VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR);
  tile.subgroupsDown = tile.subgroupsAcross = 2;
  tile.chunk = std::max(facts.minSubgroupSize < 32 ? 16u : 32u, tile.matrix.k);
  for (const Blocking each : {Blocking{4, 4}, {4, 2}, {3, 2}, {2, 2}, {1, 1}}) {
    tile.rowsEach = each.rows;
    tile.columnsEach = each.columns;
    settleSizes(tile);
    const bool tooLarge = !fitsRegisters(facts, tile) || sharedBytes(tile) > facts.maxComputeSharedMemorySize;
    if (each.rows > 1 && (tooLarge || (isCpu(facts) && each.rows > 2))) continue;
    if (workGroups(tile, problem) >= 128 || each.rows == 2) break;
  }
  return tile;
}

// An invocation holds all its sums, and its code is unrolled over them.
constexpr uint32_t kMostSums = 64;
constexpr uint32_t kMostSumsRows = 96;
constexpr uint32_t kMostSumsPlain = 16;

std::string settleRows(const DeviceFacts& facts, const MatmulProblem&, MatmulTile& tile) {
  const uint32_t most = isPlainCpu(facts) ? kMostSumsPlain : kMostSumsRows;
  if (tile.rowsEach * tile.columnsEach > most) {
    return formatted("rows_each is {} and columns_each {}; their product must be at most {} here", tile.rowsEach, tile.columnsEach, most);
  }
  tile.rows = tile.localSize * tile.rowsEach;
  tile.columns = tile.columnsEach;
  return "";
}

std::string settleTiled(const DeviceFacts& facts, const MatmulProblem&, MatmulTile& tile) {
  if (tile.rowsEach * tile.columnsEach > kMostSums) {
    return formatted("rows_each is {} and columns_each {}; their product must be at most {}", tile.rowsEach, tile.columnsEach, kMostSums);
  }
  tile.rows = 8 * tile.rowsEach;
  tile.columns = 16 * tile.columnsEach;
  const uint64_t bytes = uint64_t{tile.rows + tile.columns} * (tile.chunk + 1) * sizeof(float);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("rows_each is {}, columns_each {} and chunk {}, which needs {} bytes of shared memory; this device has {}",
                     tile.rowsEach, tile.columnsEach, tile.chunk, bytes, facts.maxComputeSharedMemorySize);
}

std::string settleMatrices(const DeviceFacts& facts, const MatmulProblem&, MatmulTile& tile) {
  if (tile.chunk % tile.matrix.k != 0) {
    return formatted("chunk is {}; it must be a multiple of {}, the depth of a matrix on this device", tile.chunk, tile.matrix.k);
  }
  settleSizes(tile);
  if (!fitsRegisters(facts, tile)) {
    return formatted("rows_each is {} and columns_each {}; a subgroup of {} has no registers for the sums of {} matrices of {} x {}",
                     tile.rowsEach, tile.columnsEach, tile.matrix.subgroupSize, tile.rowsEach * tile.columnsEach, tile.matrix.m,
                     tile.matrix.n);
  }
  const uint64_t bytes = sharedBytes(tile);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("rows_each is {}, columns_each {} and chunk {}, which needs {} bytes of shared memory; this device has {}",
                     tile.rowsEach, tile.columnsEach, tile.chunk, bytes, facts.maxComputeSharedMemorySize);
}

std::vector<MatmulTile> otherRowsTiles(const DeviceFacts& facts, const MatmulProblem& problem) {
  constexpr Blocking kOthers[] = {{1, 96}, {1, 64}, {1, 32}, {1, 16}, {1, 4}, {2, 32}, {2, 16}, {4, 16}};
  constexpr Blocking kOthersPlain[] = {{1, 8}, {1, 4}, {2, 8}, {2, 4}, {3, 4}, {4, 4}};
  std::vector<MatmulTile> tiles;
  for (const uint32_t exchanged : {0u, 1u}) {
    for (const Blocking each : isPlainCpu(facts) ? std::span<const Blocking>(kOthersPlain) : kOthers) {
      MatmulTile tile = rowsTile(facts, problem);
      tile.rowsEach = each.rows;
      tile.columnsEach = each.columns;
      tile.exchanged = exchanged;
      tiles.push_back(tile);
    }
  }
  return tiles;
}

// `tile` with other blocks and chunks.
std::vector<MatmulTile> chunkedTiles(MatmulTile tile, std::span<const Blocking> blocks, std::span<const uint32_t> chunks) {
  std::vector<MatmulTile> tiles;
  for (const Blocking each : blocks) {
    for (const uint32_t chunk : chunks) {
      tile.rowsEach = each.rows;
      tile.columnsEach = each.columns;
      tile.chunk = chunk;
      tiles.push_back(tile);
    }
  }
  return tiles;
}

std::vector<MatmulTile> otherTiledTiles(const DeviceFacts& facts, const MatmulProblem& problem) {
  constexpr Blocking kBlocks[] = {{2, 2}, {4, 2}, {4, 4}, {8, 4}, {8, 8}};
  constexpr uint32_t kChunks[] = {8, 16, 32};
  return chunkedTiles(tiledTile(facts, problem), kBlocks, kChunks);
}

std::vector<MatmulTile> otherMatricesTiles(const DeviceFacts& facts, const MatmulProblem& problem) {
  constexpr Blocking kBlocks[] = {{1, 1}, {2, 2}, {4, 2}, {2, 4}, {4, 4}};
  constexpr uint32_t kChunks[] = {32, 64};
  return chunkedTiles(matricesTile(facts, problem), kBlocks, kChunks);
}

using Field = TileField<MatmulTile>;
constexpr Field kRowsFields[] = {{"rows_each", &MatmulTile::rowsEach, 1, 8, 1},
                                 {"columns_each", &MatmulTile::columnsEach, 1, kMostSumsRows, 1},
                                 {"exchanged", &MatmulTile::exchanged, 0, 1, 1}};
constexpr Field kTiledFields[] = {{"rows_each", &MatmulTile::rowsEach, 1, 8, 1},
                                  {"columns_each", &MatmulTile::columnsEach, 1, 8, 1},
                                  {"chunk", &MatmulTile::chunk, 4, 64, 4}};
constexpr Field kMatricesFields[] = {{"rows_each", &MatmulTile::rowsEach, 1, 8, 1},
                                     {"columns_each", &MatmulTile::columnsEach, 1, 8, 1},
                                     {"chunk", &MatmulTile::chunk, 8, 64, 8}};

using MatmulVariant = Variant<MatmulProblem, MatmulTile>;
constexpr MatmulVariant kMatmulVariants[] = {
    {"matmul_rows", always, estimateRows, rowsTile, kRowsFields, settleRows, otherRowsTiles},
    {"matmul_tiled", always, estimateTiled, tiledTile, kTiledFields, settleTiled, otherTiledTiles},
    {"matmul_coopmat", matricesRefusal, estimateMatrices, matricesTile, kMatricesFields, settleMatrices, otherMatricesTiles},
};

}  // namespace

MatmulChoice chooseMatmul(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& forced, const TuningTable& tuning) {
  const KernelRequest* tuned = tuning.empty() ? nullptr : tuning.find(tuningKey(problem));
  const auto choice = choose<MatmulProblem, MatmulTile>(kMatmulVariants, facts, problem, problem.kernel, forced, tuned);
  const MatmulVariant& variant = kMatmulVariants[choice.index];
  return {variant.name, choice.tile, tileText(variant.name, variant.fields, choice.tile), choice.reason};
}

std::string tuningKey(const MatmulProblem& p) {
  // Which axis of an operand is contiguous decides how it is read.
  const auto layout = [](const Tensor& tensor) { return tensor.strides[3] == 1 ? "" : "t"; };
  return formatted("matmul {} m{} n{} k{} batch{} a{} b{}", dtypeName(p.a.dtype), std::bit_ceil(uint64_t{p.rows}), std::bit_ceil(uint64_t{p.columns}),
                     std::bit_ceil(uint64_t{p.depth}), std::bit_ceil(uint64_t{p.batch0} * p.batch1), layout(p.a), layout(p.b));
}

std::vector<std::string> matmulCandidates(const DeviceFacts& facts, const MatmulProblem& problem) {
  return listCandidates<MatmulProblem, MatmulTile>(kMatmulVariants, facts, problem);
}

VariantInfo matmulVariantInfo(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& kernel) {
  return describeVariant<MatmulProblem, MatmulTile>(kMatmulVariants, kernel, facts, problem);
}

std::string matmulRequestRefusal(const DeviceFacts& facts, const KernelRequest& request) {
  const size_t index = findVariant<MatmulProblem, MatmulTile>(kMatmulVariants, request.kernel);
  return index == std::size(kMatmulVariants) ? "it is not a variant of matmul" : tileRefusal(facts, kMatmulVariants[index].fields, request);
}

}  // namespace saccade::core
