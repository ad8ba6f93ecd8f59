// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_MATMUL_GLSL
#define SACCADE_MATMUL_GLSL
// What all matmul kernels share: parameters, where a work-group works, and the epilogue.

#include "activation.glsl"
#include "dtype.glsl"
#include "push.glsl"
#include "matmul_params.h"

layout(local_size_x_id = MATMUL_SPEC_LOCAL_SIZE) in;
layout(constant_id = MATMUL_SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 8;
layout(constant_id = MATMUL_SPEC_DEPTH) const uint DEPTH = MATMUL_DEPTH_FULL;
layout(constant_id = MATMUL_SPEC_A_LAYOUT) const uint A_LAYOUT = MATMUL_LAYOUT_ANY;
layout(constant_id = MATMUL_SPEC_B_LAYOUT) const uint B_LAYOUT = MATMUL_LAYOUT_ANY;
layout(constant_id = MATMUL_SPEC_BIAS) const uint BIAS = 0;
layout(constant_id = MATMUL_SPEC_RESIDUAL) const uint RESIDUAL = 0;
layout(constant_id = MATMUL_SPEC_ACTIVATION) const uint ACTIVATION = ACTIVATION_NONE;
layout(constant_id = MATMUL_SPEC_ROWS) const uint ROWS = 1;
layout(constant_id = MATMUL_SPEC_COLUMNS) const uint COLUMNS = 16;
layout(constant_id = MATMUL_SPEC_CHUNK) const uint CHUNK = 8;
layout(constant_id = MATMUL_SPEC_TURNS) const uint TURNS = 1;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ParamsIn { MatmulParams value; };

// A block of rows and columns of one product of the batch.
struct Block {
  uint batch0, batch1;
  uint firstRow, firstColumn;
};

// Blocks of rows change fastest: work-groups that run at the same time share their columns of b.
Block blockOf(const MatmulParams p, uint group, uint rows, uint columns) {
  Block b;
  uint columnBlock = group / p.rowBlocks;
  b.firstRow = (group - columnBlock * p.rowBlocks) * rows;
  uint batch = columnBlock / p.columnBlocks;
  b.firstColumn = (columnBlock - batch * p.columnBlocks) * columns;
  b.batch0 = batch / p.batch1;
  b.batch1 = batch - b.batch0 * p.batch1;
  return b;
}

Address aBase(const MatmulParams p, const Block b) {
  return tensorAddress(push.buffers[MATMUL_BUFFER_A], b.batch0 * p.aStrideB0 + b.batch1 * p.aStrideB1);
}

Address bBase(const MatmulParams p, const Block b) {
  return tensorAddress(push.buffers[MATMUL_BUFFER_B], b.batch0 * p.bStrideB0 + b.batch1 * p.bStrideB1);
}

// Of one product of the batch: where its results begin, and what is added to them.
struct Results {
  Address biasBase, residualBase, outBase;
};

Results resultsOf(const MatmulParams p, const Block b) {
  Results results;
  if (BIAS != MATMUL_BIAS_NONE) results.biasBase = push.buffers[MATMUL_BUFFER_BIAS];
  if (RESIDUAL != 0) {
    results.residualBase = tensorAddress(push.buffers[MATMUL_BUFFER_RESIDUAL],
                                         b.batch0 * p.residualStrideB0 + b.batch1 * p.residualStrideB1);
  }
  results.outBase = tensorAddress(push.buffers[MATMUL_BUFFER_OUT], b.batch0 * p.outStrideB0 + b.batch1 * p.outStrideB1);
  return results;
}

// The result for one element: residual + activation(sum + bias). row and column must lie inside the tensors.
float epilogue(const MatmulParams p, const Results results, uint row, uint column, float sum) {
  if (BIAS != MATMUL_BIAS_NONE) {
    uint element = (BIAS == MATMUL_BIAS_ROWS ? row : column) * p.biasStride;
    sum += loadElement(tensorAddress(results.biasBase, element), 0u);
  }
  sum = activate(ACTIVATION, sum);
  if (RESIDUAL != 0) {
    uint element = row * p.residualStrideRow + column * p.residualStrideColumn;
    sum += loadElement(tensorAddress(results.residualBase, element), 0u);
  }
  return sum;
}

void storeOut(const MatmulParams p, const Results results, uint row, uint column, float x) {
  storeElement(tensorAddress(results.outBase, row * p.outStrideRow + column * p.outStrideColumn), 0u, x);
}

#endif  // SACCADE_MATMUL_GLSL
