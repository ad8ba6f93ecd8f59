// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul_plan.hpp"

#include <utility>

#include "kernels/parameter_pool.hpp"
#include "ops/common.hpp"
#include "plan/rounding.hpp"
#include "text/formatted.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "matmul_params.h"

namespace {

static_assert(sizeof(MatmulParams) <= ParameterPool::kBlockBytes);

// An axis of 1 row or column is contiguous in every layout; depth comes first, because it suits all kernels.
uint32_t layoutOf(uint32_t strideAcross, uint32_t strideDepth) {
  if (strideDepth == 1) return MATMUL_LAYOUT_DEPTH;
  return strideAcross == 1 ? MATMUL_LAYOUT_ACROSS : MATMUL_LAYOUT_ANY;
}

uint32_t blocks(uint32_t size, uint32_t step) { return static_cast<uint32_t>(divideUp(size, step)); }

// A batch axis whose products follow each other like rows, with one b for all, becomes more rows of one
// product.
void foldBatch(MatmulProblem& p, size_t axis) {
  uint32_t& count = axis == 0 ? p.batch0 : p.batch1;
  if (count == 1 || p.b.strides[axis] != 0) return;
  Tensor* const tensors[] = {&p.a, &p.residual, &p.out};
  for (Tensor* tensor : tensors) {
    if (p.rows == 1) tensor->strides[2] = tensor->strides[axis];  // of a single row, the stride is free
    if (tensor->present() && tensor->strides[axis] != uint64_t{tensor->strides[2]} * p.rows) return;
  }
  p.rows *= count;
  count = 1;
}

// Columns whose sums grow in turns: 8, unless that many rows of b would meet in one set of a first-level cache, whose sets
// are usually 4096 bytes apart and hold 8 lines.
uint32_t turns(const MatmulTile& tile, uint64_t columnPitch) {
  uint32_t turns = columnPitch % 4096 == 0 ? 4 : 8;
  while (tile.columnsEach % turns != 0) turns /= 2;
  return turns;
}

MatmulParams makeParams(const MatmulProblem& p, const MatmulTile& tile) {
  MatmulParams params{};
  params.rows = tile.exchanged ? p.columns : p.rows;
  params.columns = tile.exchanged ? p.rows : p.columns;
  params.depth = p.depth;
  params.rowBlocks = blocks(params.rows, tile.rows);
  params.columnBlocks = blocks(params.columns, tile.columns);
  params.batch1 = p.batch1;
  const Tensor& a = tile.exchanged ? p.b : p.a;
  const Tensor& b = tile.exchanged ? p.a : p.b;
  params.aStrideB0 = a.strides[0];
  params.aStrideB1 = a.strides[1];
  params.aStrideRow = a.strides[2];
  params.aStrideDepth = a.strides[3];
  params.bStrideB0 = b.strides[0];
  params.bStrideB1 = b.strides[1];
  params.bStrideColumn = b.strides[2];
  params.bStrideDepth = b.strides[3];
  params.biasStride = p.bias.strides[3];
  params.residualStrideB0 = p.residual.strides[0];
  params.residualStrideB1 = p.residual.strides[1];
  params.residualStrideRow = p.residual.strides[2];
  params.residualStrideColumn = p.residual.strides[3];
  params.outStrideB0 = p.out.strides[0];
  params.outStrideB1 = p.out.strides[1];
  params.outStrideRow = p.out.strides[2];
  params.outStrideColumn = p.out.strides[3];
  if (tile.exchanged) {
    std::swap(params.residualStrideRow, params.residualStrideColumn);
    std::swap(params.outStrideRow, params.outStrideColumn);
  }
  return params;
}

std::string makeLabel(const MatmulProblem& p, const char* kernel) {
  std::string label = formatted("matmul {} {} B{}x{} M{} N{} K{}", kernel, dtypeName(p.a.dtype), p.batch0,
                                  p.batch1, p.rows, p.columns, p.depth);
  if (p.bias.present()) label += " bias";
  if (p.activation != SACCADE_ACTIVATION_NONE) label += std::string(" ") + activationName(p.activation);
  if (p.residual.present()) label += " residual";
  return label;
}

}  // namespace

StepDraft makeMatmulStep(const DeviceFacts& facts, const MatmulProblem& p, const MatmulChoice& choice,
                         const MatmulSlots& slots) {
  const MatmulTile& tile = choice.tile;
  const MatmulParams params = makeParams(p, tile);
  StepDraft step;
  step.shader = &shaderFor(choice.kernel, p.a.dtype, facts);
  step.specialisation.resize(MATMUL_SPEC_COUNT);
  step.specialisation[MATMUL_SPEC_LOCAL_SIZE] = tile.localSize;
  step.specialisation[MATMUL_SPEC_DEPTH] = p.depth == 0           ? MATMUL_DEPTH_NONE
                                           : p.depth < tile.chunk ? MATMUL_DEPTH_SHORT
                                                                  : MATMUL_DEPTH_FULL;
  step.specialisation[MATMUL_SPEC_A_LAYOUT] = layoutOf(params.aStrideRow, params.aStrideDepth);
  uint32_t layoutB = layoutOf(params.bStrideColumn, params.bStrideDepth);
  if (layoutB == MATMUL_LAYOUT_ACROSS && params.columns < tile.columns) layoutB = MATMUL_LAYOUT_ANY;
  step.specialisation[MATMUL_SPEC_B_LAYOUT] = layoutB;
  step.specialisation[MATMUL_SPEC_BIAS] = !p.bias.present() ? MATMUL_BIAS_NONE
                                          : tile.exchanged  ? MATMUL_BIAS_ROWS
                                                            : MATMUL_BIAS_COLUMNS;
  step.specialisation[MATMUL_SPEC_RESIDUAL] = p.residual.present();
  step.specialisation[MATMUL_SPEC_ACTIVATION] = static_cast<uint32_t>(p.activation);
  step.specialisation[MATMUL_SPEC_ROWS] = tile.rowsEach;
  step.specialisation[MATMUL_SPEC_COLUMNS] = tile.columnsEach;
  step.specialisation[MATMUL_SPEC_CHUNK] = tile.chunk;
  step.specialisation[MATMUL_SPEC_TURNS] = turns(tile, params.bStrideColumn * dtypeBytes(p.a.dtype));
  step.specialisation[MATMUL_SPEC_M] = tile.matrix.m;
  step.specialisation[MATMUL_SPEC_N] = tile.matrix.n;
  step.specialisation[MATMUL_SPEC_K] = tile.matrix.k;
  step.specialisation[MATMUL_SPEC_SUBGROUPS_DOWN] = tile.subgroupsDown;
  step.specialisation[MATMUL_SPEC_SUBGROUPS_ACROSS] = tile.subgroupsAcross;
  step.subgroupSize = tile.matrix.subgroupSize;
  step.setParams(params);
  step.groups = uint64_t{params.rowBlocks} * params.columnBlocks * p.batch0 * p.batch1;
  const int a = tile.exchanged ? slots.b : slots.a;
  const int b = tile.exchanged ? slots.a : slots.b;
  step.slots = {a, b, slots.bias, slots.residual, slots.out};
  return step;
}

double matmulFlops(const MatmulProblem& p) {
  return 2.0 * p.batch0 * p.batch1 * p.rows * p.columns * p.depth;
}

MatmulProblem foldBatches(MatmulProblem problem) {
  if (problem.empty()) return problem;
  foldBatch(problem, 1);
  if (problem.batch1 == 1) foldBatch(problem, 0);
  return problem;
}

PlanDraft planMatmul(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& forcedKernel,
                     const TuningTable& tuning) {
  const MatmulProblem folded = foldBatches(problem);
  const MatmulChoice choice = chooseMatmul(facts, folded, forcedKernel, tuning);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_MATMUL;
  draft.kernel = choice.kernel;
  draft.reason = choice.reason;
  draft.tile = choice.tileText;
  draft.label = makeLabel(problem, choice.kernel);
  draft.flops = matmulFlops(problem);
  const bool something = !problem.empty();
  addSlot(draft, "a", problem.a, something);
  addSlot(draft, "b", problem.b, something);
  addSlot(draft, "bias", problem.bias, something);
  addSlot(draft, "residual", problem.residual, something);
  addSlot(draft, "out", problem.out, something);
  if (something) draft.steps.push_back(makeMatmulStep(facts, folded, choice, {0, 1, 2, 3, 4}));
  return draft;
}

}  // namespace saccade::core
