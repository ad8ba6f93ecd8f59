#version 460
// SPDX-License-Identifier: Apache-2.0
// Matrix product, one row of a per invocation. COLUMNS sums live in registers. Elements of b have one address for the whole
// subgroup, so that a CPU device reads each once and broadcasts it into the multiplication; the invocation's own row of a is
// gathered CHUNK elements at a time, each of which serves COLUMNS products.

#extension GL_GOOGLE_include_directive : require
#include "matmul.glsl"

void main() {
  MatmulParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), LOCAL_SIZE, COLUMNS);
  uint row = b.firstRow + gl_LocalInvocationID.x;
  uint safeRow = min(row, p.rows - 1u);
  // Where columns are contiguous they share one address: the last block moves back so that it ends at the last column,
  // and computes some columns for a second time.
  uint firstColumn = B_LAYOUT == MATMUL_LAYOUT_ACROSS ? min(b.firstColumn, p.columns - COLUMNS) : b.firstColumn;

  float sums[COLUMNS];
  [[unroll]] for (uint c = 0; c < COLUMNS; c++) sums[c] = 0.0;

  if (DEPTH != MATMUL_DEPTH_NONE) {
    Address aRow = tensorAddress(aBase(p, b), safeRow * p.aStrideRow);
    // Devices may execute a load with a uniform address although every invocation is switched off, so addresses
    // stay inside the tensor even past the last column and past the last step.
    Address bColumn[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
      bColumn[c] = tensorAddress(bBase(p, b), min(firstColumn + c, p.columns - 1u) * p.bStrideColumn);
    }

    uint k = 0;
    if (DEPTH == MATMUL_DEPTH_FULL) {
      do {
        float x[CHUNK];
        Address aStep = tensorAddress(aRow, k * p.aStrideDepth);
        [[unroll]] for (uint i = 0; i < CHUNK; i++) {
          if (A_LAYOUT == MATMUL_LAYOUT_DEPTH) x[i] = loadElement(aStep, i);
          else x[i] = loadElement(tensorAddress(aStep, i * p.aStrideDepth), 0u);
        }
        if (B_LAYOUT == MATMUL_LAYOUT_DEPTH) {
          [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
            Address bStep = tensorAddress(bColumn[c], k);
            [[unroll]] for (uint i = 0; i < CHUNK; i++) sums[c] = fma(x[i], loadElement(bStep, i), sums[c]);
          }
        } else {
          [[unroll]] for (uint i = 0; i < CHUNK; i++) {
            Address bStep = tensorAddress(bColumn[0], (k + i) * p.bStrideDepth);
            [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
              if (B_LAYOUT == MATMUL_LAYOUT_ACROSS) sums[c] = fma(x[i], loadElement(bStep, c), sums[c]);
              else sums[c] = fma(x[i], loadElement(tensorAddress(bColumn[c], (k + i) * p.bStrideDepth), 0u), sums[c]);
            }
          }
        }
        k += CHUNK;
      } while (k + CHUNK <= p.depth);
    }
    for (; k < p.depth; k++) {
      uint safeK = min(k, p.depth - 1u);
      float x = loadElement(tensorAddress(aRow, safeK * p.aStrideDepth), 0u);
      [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
        sums[c] = fma(x, loadElement(tensorAddress(bColumn[c], safeK * p.bStrideDepth), 0u), sums[c]);
      }
    }
  }

  [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
    uint column = firstColumn + c;
    float x = epilogue(p, b, safeRow, min(column, p.columns - 1u), sums[c]);
    if (row < p.rows && column >= b.firstColumn && column < p.columns) storeOut(p, b, row, column, x);
  }
}
