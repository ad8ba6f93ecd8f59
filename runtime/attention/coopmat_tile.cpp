// SPDX-License-Identifier: Apache-2.0
#include "attention/coopmat_tile.hpp"

#include <algorithm>
#include <cmath>

#include "plan/rounding.hpp"
#include "text/formatted.hpp"

namespace saccade::core {
namespace {

// Q and the sums of a row stay in registers, whose number no device tells. No driver whose figures are known spills below this.
constexpr uint32_t kMostHeadDim = 128;

uint32_t stepKeys(const AttentionTile& tile) { return tile.keyTiles * tile.matrix.m; }

// Of a row of K in shared memory, in groups of 4 channels.
uint64_t keyPitch(const AttentionProblem& problem, const AttentionTile& tile) {
  return roundUp(problem.headDimQk, tile.matrix.k) / 4 + 1;
}

// The arrays of shaders/attention/coopmat.comp and of what it includes, shaders/include/matrix_*.glsl.
uint64_t sharedBytes(const AttentionProblem& problem, const AttentionTile& tile) {
  const MatrixShape& matrix = tile.matrix;
  const uint64_t teams = tile.subgroups / tile.team;
  const uint64_t valuePitch = tile.keys / 4 + 1;
  const uint64_t exchange = std::max<uint64_t>(tile.queryTiles * (stepKeys(tile) / 4 + 1), tile.team * matrix.m / 2 + 2);
  const uint64_t queries = tile.sharedQ != 0 ? tile.rows : 1;
  const uint64_t pairs = tile.keys * keyPitch(problem, tile) + roundUp(problem.headDimV, matrix.m * tile.team) * valuePitch +
                         teams * matrix.n * exchange + queries * keyPitch(problem, tile);
  const uint64_t floats = tile.rows + teams * matrix.n + tile.localSize + std::max(matrix.m, matrix.n) + 10;
  return pairs * 8 + floats * 4;
}

uint64_t blocksOf(const AttentionProblem& problem, uint32_t rows) {
  return uint64_t{problem.batch} * problem.numHeadsQ * divideUp(problem.seqlenQ, rows);
}

// Registers per invocation: narrow subgroups have few, and share the sums of a row.
bool hasFewRegisters(const DeviceFacts& facts) { return !isCpu(facts) && matrixSubgroupSize(facts) <= 16; }

AttentionTile makeTile(const DeviceFacts& facts, uint32_t subgroups, uint32_t queryTiles, uint32_t keyTiles, uint32_t steps,
                       uint32_t team = 1) {
  AttentionTile tile{};
  tile.matrix = pickMatrixShape(facts, VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR).value_or(MatrixShape{16, 16, 16, 32});
  tile.subgroups = subgroups;
  tile.queryTiles = queryTiles;
  tile.keyTiles = keyTiles;
  tile.team = team;
  tile.keys = stepKeys(tile) * steps;
  tile.sharedQ = hasFewRegisters(facts);
  tile.rolled = isCpu(facts);
  return tile;
}

// Large work-groups read K and V less often; small ones leave work for the whole device.
constexpr uint64_t kEnoughBlocks = 256;

AttentionTile tileOfTeams(const DeviceFacts& facts, const AttentionProblem& problem) {
  constexpr uint32_t kTeam = 4;
  AttentionTile tile{};
  for (const uint32_t teams : {8u, 4u, 2u, 1u}) {
    tile = makeTile(facts, teams * kTeam, 1, 2 * kTeam, 1, kTeam);
    const std::string refusal = settleCoopmat(facts, problem, tile);
    if (refusal.empty() && blocksOf(problem, tile.rows) >= kEnoughBlocks) break;
  }
  return tile;
}

}  // namespace

std::string coopmatRefusal(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (problem.q.dtype != SACCADE_DTYPE_F16) return formatted("multiplies matrices of f16, and these are of {}", dtypeName(problem.q.dtype));
  if (problem.quantised()) return formatted("multiplies matrices of f16, and k and v are quantised, of {}", dtypeName(problem.k.dtype));
  const uint32_t widest = std::max(problem.headDimQk, problem.headDimV);
  if (widest > kMostHeadDim) {
    return formatted("takes head dims up to {}, and one is {}: it keeps a row in registers", kMostHeadDim, widest);
  }
  AttentionTile tile = coopmatTile(facts, problem);
  return settleCoopmat(facts, problem, tile);
}

std::string coopmat2Refusal(const DeviceFacts& facts, const AttentionProblem& problem) {
  if (std::string refusal = coopmatRefusal(facts, problem); !refusal.empty()) return refusal;
  const AttentionTile tile = coopmatTile(facts, problem);
  const MatrixShape& matrix = tile.matrix;
  if (tile.team != 1) {
    return formatted("gives each subgroup rows of its own, and subgroups of {} have too few registers for them", matrix.subgroupSize);
  }
  if (matrix.m == matrix.k) return "";
  return formatted("converts {} keys of a matrix of scores to an operand of as many, and operands have {} here", matrix.m, matrix.k);
}

std::string settleCoopmat(const DeviceFacts& facts, const AttentionProblem& problem, AttentionTile& tile) {
  const MatrixShape& matrix = tile.matrix;
  if (matrix.m % 8 != 0 || matrix.k % 8 != 0 || matrix.subgroupSize % matrix.n != 0 || matrix.m * 2 % matrix.k != 0) {
    return formatted("has no way to pass matrices of {} x {} x {} between subgroups of {}", matrix.m, matrix.n, matrix.k, matrix.subgroupSize);
  }
  if (tile.keys % stepKeys(tile) != 0) {
    return formatted("keys is {}, but must be a multiple of the {} keys of key_tiles {}", tile.keys, stepKeys(tile), tile.keyTiles);
  }
  if (tile.team != 1 && (tile.team % 2 != 0 || tile.subgroups % tile.team != 0 || tile.keyTiles % (2 * tile.team) != 0 ||
                         tile.keys != stepKeys(tile) || tile.sharedQ == 0)) {
    return formatted("team is {}, but must be 1, or 2 or 4 with a multiple of it as subgroups ({}), of twice as many as key_tiles ({}), "
                     "keys {} and shared_q 1", tile.team, tile.subgroups, tile.keyTiles, stepKeys(tile));
  }
  // Where a driver of a CPU meets the barrier of a subgroup in a branch, all subgroups of the work-group have to. Teams have no such.
  if (isCpu(facts) && tile.team == 1 && tile.subgroups > 1) {
    return formatted("subgroups is {}, but must be 1 on a CPU device", tile.subgroups);
  }
  tile.localSize = tile.subgroups * matrix.subgroupSize;
  tile.rows = tile.subgroups / tile.team * tile.queryTiles * matrix.n;
  if (tile.localSize > maxLocalSize(facts)) {
    return formatted("subgroups is {}, which makes {} invocations; work-groups have at most {} on this device", tile.subgroups,
                     tile.localSize, maxLocalSize(facts));
  }
  // A team's totals pass through the memory of the tile's keys.
  const uint64_t mostRows = tile.keys * keyPitch(problem, tile) * 2 / (tile.team * matrix.m);
  if (tile.team > 1 && tile.rows > mostRows) {
    return formatted("subgroups is {}, which makes {} rows; teams of {} have at most {} here", tile.subgroups, tile.rows, tile.team,
                     mostRows);
  }
  const uint64_t bytes = sharedBytes(problem, tile);
  if (bytes <= facts.maxComputeSharedMemorySize) return "";
  return formatted("keys is {} and subgroups {}, which needs {} bytes of shared memory; this device has {}", tile.keys, tile.subgroups,
                   bytes, facts.maxComputeSharedMemorySize);
}

AttentionTile coopmatTile(const DeviceFacts& facts, const AttentionProblem& problem) {
  // A CPU driver takes seconds for unrolled code, and more for each barrier in it: Q in registers has two for each of its matrices.
  if (isCpu(facts)) {
    AttentionTile tile = makeTile(facts, 1, 1, 2, 1);
    settleCoopmat(facts, problem, tile);
    return tile;
  }
  if (hasFewRegisters(facts)) return tileOfTeams(facts, problem);
  const bool narrow = std::max(problem.headDimQk, problem.headDimV) <= 64;
  AttentionTile tile{};
  for (const uint32_t subgroups : {8u, 4u, 2u}) {
    if (narrow && subgroups == 8) {
      tile = makeTile(facts, 4, 2, 2, 2);
    } else {
      tile = makeTile(facts, subgroups, 1, 2, narrow && subgroups > 2 ? 2 : 1);
    }
    const std::string refusal = settleCoopmat(facts, problem, tile);
    if (refusal.empty() && blocksOf(problem, tile.rows) >= kEnoughBlocks) break;
    // Two subgroups are for few rows: as many of four are resident, and read less.
    if (refusal.empty() && subgroups == 4 && rowsPerEntry(problem) > tile.rows / 2) break;
  }
  return tile;
}

std::vector<AttentionTile> otherCoopmatTiles(const DeviceFacts& facts, const AttentionProblem&) {
  std::vector<AttentionTile> tiles;
  for (const uint32_t subgroups : {8u, 4u, 2u, 1u}) {
    for (const uint32_t queryTiles : {1u, 2u}) {
      for (const uint32_t keyTiles : {2u, 4u}) {
        for (const uint32_t steps : {1u, 2u}) tiles.push_back(makeTile(facts, subgroups, queryTiles, keyTiles, steps));
      }
    }
  }
  if (!hasFewRegisters(facts)) return tiles;
  for (const uint32_t team : {2u, 4u}) {
    for (const uint32_t teams : {8u, 4u, 2u, 1u}) tiles.push_back(makeTile(facts, teams * team, 1, 2 * team, 1, team));
  }
  return tiles;
}

bool needsNaturalScores(const AttentionProblem& problem) {
  constexpr float kLargestScale = 1e25f;  // times 65504^2 * 256 is below the largest fp32
  return problem.bias.present() || problem.softcap > 0 || problem.alibiSlopes.present() || std::abs(problem.scale) > kLargestScale;
}

}  // namespace saccade::core
