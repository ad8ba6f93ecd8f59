// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul_choice.hpp"

#include <algorithm>

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

const Variant<MatmulProblem> kVariants[] = {
    {"matmul_rows", always, estimateRows},
    {"matmul_tiled", always, estimateTiled},
};

uint64_t roundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

// Rows and columns of an invocation. The sums of the largest do not fit the registers of a CPU, but stay in
// its cache; more columns cost the driver's compile time and gain nothing. Where each element of b has to be
// converted first, two rows share the conversion.
struct Blocking {
  uint32_t rows, columns;
};
constexpr Blocking kBlockings32[] = {{1, 64}, {1, 16}, {1, 4}, {1, 1}};
constexpr Blocking kBlockings16[] = {{2, 32}, {1, 16}, {1, 4}, {1, 1}};

// Which operand gives the invocations their rows, and how many each computes: the cheapest in work per useful
// element, where reading an element of a row costs as much as kRead products and is shared by the columns.
MatmulTile rowsTile(const DeviceFacts& facts, const MatmulProblem& problem) {
  constexpr double kRead = 3;
  constexpr uint32_t kChunk = 8;
  const uint32_t lanes =
      std::clamp(facts.subgroupSize, 1u,
                 std::min(facts.maxComputeWorkGroupInvocations, facts.maxComputeWorkGroupSize[0]));
  MatmulTile best{};
  double bestCost = 0;
  for (const bool exchanged : {false, true}) {
    const uint32_t rows = exchanged ? problem.columns : problem.rows;
    const uint32_t columns = exchanged ? problem.rows : problem.columns;
    for (const Blocking each : dtypeBytes(problem.a.dtype) == 4 ? kBlockings32 : kBlockings16) {
      const double cost = static_cast<double>(roundUp(rows, uint64_t{lanes} * each.rows)) *
                          static_cast<double>(roundUp(columns, each.columns)) * (1 + kRead / each.columns);
      if (best.localSize != 0 && cost >= bestCost) continue;
      bestCost = cost;
      best = {lanes, lanes * each.rows, each.columns, each.rows, each.columns, kChunk, exchanged};
    }
  }
  return best;
}

// 128 invocations as 8 x 16. Big tiles reuse more, small ones give small problems enough work-groups.
MatmulTile tiledTile(const MatmulProblem& problem) {
  const MatmulTile big{128, 64, 64, 8, 4, 16};
  const MatmulTile small{128, 32, 32, 4, 2, 16};
  const uint64_t groups = (roundUp(problem.rows, big.rows) / big.rows) *
                          (roundUp(problem.columns, big.columns) / big.columns) * problem.batch0 *
                          problem.batch1;
  return groups >= 256 ? big : small;
}

}  // namespace

MatmulChoice chooseMatmul(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& forced) {
  const Choice choice = choose<MatmulProblem>(kVariants, facts, problem, problem.kernel, forced);
  const bool rows = choice.index == 0;
  return {kVariants[choice.index].name, rows ? rowsTile(facts, problem) : tiledTile(problem), choice.reason};
}

}  // namespace saccade::core
