#version 460
// SPDX-License-Identifier: Apache-2.0
// Matrix product for GPUs without matrix units: tiles of a and b in shared memory, register blocks, no
// subgroup operations. 128 invocations form 8 rows x 16 columns; invocation (y, x) owns rows y, y + 8, ...
// and columns x, x + 16, ... of the tile. Outside the matrices the tiles hold 0, and what that yields is
// never stored.

#extension GL_GOOGLE_include_directive : require
#include "matmul.glsl"

const uint TILE_ROWS = 8 * ROWS;
const uint TILE_COLUMNS = 16 * COLUMNS;
const uint PITCH = CHUNK + 1;  // an odd pitch spreads a column over all banks

shared float aTile[TILE_ROWS * PITCH];
shared float bTile[TILE_COLUMNS * PITCH];

// Copies lines `first` .. `first + count - 1` of a matrix, CHUNK elements from depth k on, into a tile.
// Neighbouring invocations read along the axis that is contiguous.
#define STAGE(tile, count, layout, base, first, end, stride, strideDepth)                                   \
  for (uint i = gl_LocalInvocationIndex; i < count * CHUNK; i += LOCAL_SIZE) {                              \
    uint line = layout == MATMUL_LAYOUT_ACROSS ? i % count : i / CHUNK;                                     \
    uint d = layout == MATMUL_LAYOUT_ACROSS ? i / count : i % CHUNK;                                        \
    float value = 0.0;                                                                                      \
    if (first + line < end && k + d < p.depth) {                                                            \
      value = loadElement(tensorAddress(base, (first + line) * stride + (k + d) * strideDepth), 0u);        \
    }                                                                                                       \
    tile[line * PITCH + d] = value;                                                                         \
  }

void main() {
  MatmulParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), TILE_ROWS, TILE_COLUMNS);
  uint y = gl_LocalInvocationIndex / 16u, x = gl_LocalInvocationIndex % 16u;

  float sums[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) sums[i] = 0.0;

  if (DEPTH != MATMUL_DEPTH_NONE) {
    Address aFrom = aBase(p, b);
    Address bFrom = bBase(p, b);
    for (uint k = 0; k < p.depth; k += CHUNK) {
      barrier();
      STAGE(aTile, TILE_ROWS, A_LAYOUT, aFrom, b.firstRow, p.rows, p.aStrideRow, p.aStrideDepth)
      STAGE(bTile, TILE_COLUMNS, B_LAYOUT, bFrom, b.firstColumn, p.columns, p.bStrideColumn, p.bStrideDepth)
      barrier();
      [[unroll]] for (uint d = 0; d < CHUNK; d++) {
        float fromA[ROWS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) fromA[r] = aTile[(y + 8u * r) * PITCH + d];
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
          float fromB = bTile[(x + 16u * c) * PITCH + d];
          [[unroll]] for (uint r = 0; r < ROWS; r++) {
            sums[r * COLUMNS + c] = fma(fromA[r], fromB, sums[r * COLUMNS + c]);
          }
        }
      }
    }
  }

  Results results = resultsOf(p, b);
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
      uint row = b.firstRow + y + 8u * r;
      uint column = b.firstColumn + x + 16u * c;
      if (row < p.rows && column < p.columns) {
        storeOut(p, results, row, column, epilogue(p, results, row, column, sums[r * COLUMNS + c]));
      }
    }
  }
}
