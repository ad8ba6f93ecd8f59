#version 460
// SPDX-License-Identifier: Apache-2.0
// Matrix product, one row of a per invocation. Elements of b have one address for the whole subgroup, so that a CPU device
// reads each once and broadcasts it into the multiplication. Elements of a are read CHUNK at a time and serve COLUMNS
// products each; on narrow subgroups they too are read with uniform addresses, lane by lane, and merged, which costs a
// third of a gather.

#extension GL_GOOGLE_include_directive : require
#include "matmul.glsl"

const bool MERGE = LOCAL_SIZE <= 16;
const uint LANES = MERGE ? LOCAL_SIZE : 1;

Address aRow[LANES];  // rows of all lanes if MERGE, else this invocation's own
float x[CHUNK];       // of this invocation's row

void loadRow(uint k, uint strideDepth) {
  [[unroll]] for (uint lane = 0; lane < LANES; lane++) {
    Address aStep = tensorAddress(aRow[lane], k * strideDepth);
    bool mine = lane == 0u || lane == gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0; i < CHUNK; i++) {
      float element = A_LAYOUT == MATMUL_LAYOUT_DEPTH ? loadElement(aStep, i)
                                                      : loadElement(tensorAddress(aStep, i * strideDepth), 0u);
      x[i] = mix(x[i], element, mine);
    }
  }
}

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
    // Devices may execute a load with a uniform address although every invocation is switched off, so addresses
    // stay inside the tensor even past the last row, the last column and the last step.
    [[unroll]] for (uint lane = 0; lane < LANES; lane++) {
      uint laneRow = MERGE ? min(b.firstRow + lane, p.rows - 1u) : safeRow;
      aRow[lane] = tensorAddress(aBase(p, b), laneRow * p.aStrideRow);
    }
    Address bColumn[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
      bColumn[c] = tensorAddress(bBase(p, b), min(firstColumn + c, p.columns - 1u) * p.bStrideColumn);
    }

    uint k = 0;
    if (DEPTH == MATMUL_DEPTH_FULL) {
      // The row is read one step ahead. That order matters to compilers: a step whose row is not defined in it is left as it
      // is written, a column at a time; otherwise all products are formed first, and spilled.
      loadRow(0u, p.aStrideDepth);
      do {
        if (B_LAYOUT == MATMUL_LAYOUT_DEPTH) {
          [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
            Address bStep = tensorAddress(bColumn[c], k);
            [[unroll]] for (uint i = 0; i < CHUNK; i++) sums[c] = fma(x[i], loadElement(bStep, i), sums[c]);
          }
        } else {
          Address bStep[CHUNK];
          [[unroll]] for (uint i = 0; i < CHUNK; i++) bStep[i] = tensorAddress(bColumn[0], (k + i) * p.bStrideDepth);
          [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
            [[unroll]] for (uint i = 0; i < CHUNK; i++) {
              float element = B_LAYOUT == MATMUL_LAYOUT_ACROSS
                                  ? loadElement(bStep[i], c)
                                  : loadElement(tensorAddress(bColumn[c], (k + i) * p.bStrideDepth), 0u);
              sums[c] = fma(x[i], element, sums[c]);
            }
          }
        }
        k += CHUNK;
        loadRow(min(k, p.depth - CHUNK), p.aStrideDepth);
      } while (p.depth - k >= CHUNK);
    }
    for (; k < p.depth; k++) {
      uint safeK = min(k, p.depth - 1u);
      float element = 0.0;
      [[unroll]] for (uint lane = 0; lane < LANES; lane++) {
        float other = loadElement(tensorAddress(aRow[lane], safeK * p.aStrideDepth), 0u);
        element = mix(element, other, lane == 0u || lane == gl_LocalInvocationID.x);
      }
      [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
        sums[c] = fma(element, loadElement(tensorAddress(bColumn[c], safeK * p.bStrideDepth), 0u), sums[c]);
      }
    }
  }

  // A loop that is not unrolled, or the driver compiles the epilogue COLUMNS times. It needs an array that can be indexed, unlike
  // the registers of the sums.
  float results[COLUMNS];
  [[unroll]] for (uint c = 0; c < COLUMNS; c++) results[c] = sums[c];
  uint skipped = b.firstColumn - firstColumn;
  [[dont_unroll]] for (uint c = skipped; c < COLUMNS; c++) {
    uint column = firstColumn + c;
    float value = epilogue(p, b, safeRow, min(column, p.columns - 1u), results[min(c, COLUMNS - 1u)]);
    if (row < p.rows && column < p.columns) storeOut(p, b, row, column, value);
  }
}
