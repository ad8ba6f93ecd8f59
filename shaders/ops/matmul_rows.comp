#version 460
// SPDX-License-Identifier: Apache-2.0
// Matrix product, ROWS rows of a per invocation. Elements of b have one address for the whole subgroup, so
// that a CPU device reads each once and broadcasts it into the multiplication. Elements of a are read CHUNK
// at a time and serve COLUMNS products each; on narrow subgroups they too are read with uniform addresses,
// lane by lane, and merged, which costs a third of a gather.
//
// Additions to one sum wait for each other, so the sums of TURNS columns grow in turns: with one column after the other a CPU
// core idles for a third of its time. A step of 16 elements takes a whole cache line of each row of b, which may be gone at the
// next visit: rows that lie a large power of two apart share few places of a cache.

#extension GL_GOOGLE_include_directive : require
#include "matmul.glsl"

const bool MERGE = LOCAL_SIZE <= 16;
const uint LANES = MERGE ? LOCAL_SIZE : 1;
const uint STORED = COLUMNS % 8 == 0 ? 8 : COLUMNS;  // results per step of the last loop

Address aRow[ROWS * LANES];  // row r of every lane if MERGE, else of this invocation alone
float x[ROWS * CHUNK];       // of this invocation's rows

void loadRows(uint k, uint strideDepth) {
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    Raw raw[CHUNK];
    [[unroll]] for (uint lane = 0; lane < LANES; lane++) {
      Address aStep = tensorAddress(aRow[r * LANES + lane], k * strideDepth);
      bool mine = lane == 0u || lane == gl_LocalInvocationID.x;
      [[unroll]] for (uint i = 0; i < CHUNK; i++) {
        Raw element = A_LAYOUT == MATMUL_LAYOUT_DEPTH ? loadRaw(aStep, i)
                                                      : loadRaw(tensorAddress(aStep, i * strideDepth), 0u);
        raw[i] = mix(raw[i], element, mine);
      }
    }
    [[unroll]] for (uint i = 0; i < CHUNK; i++) x[r * CHUNK + i] = convert(raw[i]);
  }
}

void main() {
  MatmulParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), ROWS * LOCAL_SIZE, COLUMNS);
  // Row r of the invocation is firstRow + r * LOCAL_SIZE + lane.
  uint row = b.firstRow + gl_LocalInvocationID.x;
  // Where columns are contiguous they share one address: the last block moves back so that it ends at the
  // last column, and computes some columns for a second time.
  uint firstColumn = b.firstColumn;
  if (B_LAYOUT == MATMUL_LAYOUT_ACROSS) firstColumn = min(firstColumn, p.columns - COLUMNS);

  float sums[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) sums[i] = 0.0;

  if (DEPTH != MATMUL_DEPTH_NONE) {
    // Devices may execute a load with a uniform address although every invocation is switched off, so
    // addresses stay inside the tensor even past the last row, the last column and the last step.
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      [[unroll]] for (uint lane = 0; lane < LANES; lane++) {
        uint laneRow = r * LOCAL_SIZE + (MERGE ? b.firstRow + lane : row);
        aRow[r * LANES + lane] = tensorAddress(aBase(p, b), min(laneRow, p.rows - 1u) * p.aStrideRow);
      }
    }
    Address bColumn[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
      bColumn[c] = tensorAddress(bBase(p, b), min(firstColumn + c, p.columns - 1u) * p.bStrideColumn);
    }

    uint k = 0;
    if (DEPTH == MATMUL_DEPTH_FULL) {
      // Rows are read one step ahead. That order matters to compilers: a step whose rows are not defined in
      // it is left as it is written, a column at a time; otherwise all products are formed first, and
      // spilled.
      loadRows(0u, p.aStrideDepth);
      do {
        Address bStep[CHUNK];
        if (B_LAYOUT != MATMUL_LAYOUT_DEPTH) {
          [[unroll]] for (uint i = 0; i < CHUNK; i++) {
            bStep[i] = tensorAddress(bColumn[0], (k + i) * p.bStrideDepth);
          }
        }
        [[unroll]] for (uint first = 0; first < COLUMNS; first += TURNS) {
          Address bStepColumn[TURNS];
          [[unroll]] for (uint c = 0; c < TURNS; c++) bStepColumn[c] = tensorAddress(bColumn[first + c], k);
          [[unroll]] for (uint i = 0; i < CHUNK; i++) {
            [[unroll]] for (uint c = 0; c < TURNS; c++) {
              float element;
              if (B_LAYOUT == MATMUL_LAYOUT_DEPTH) element = loadElement(bStepColumn[c], i);
              else if (B_LAYOUT == MATMUL_LAYOUT_ACROSS) element = loadElement(bStep[i], first + c);
              else element = loadElement(tensorAddress(bColumn[first + c], (k + i) * p.bStrideDepth), 0u);
              [[unroll]] for (uint r = 0; r < ROWS; r++) {
                uint sum = r * COLUMNS + first + c;
                sums[sum] = fma(x[r * CHUNK + i], element, sums[sum]);
              }
            }
          }
        }
        k += CHUNK;
        loadRows(min(k, p.depth - CHUNK), p.aStrideDepth);
      } while (p.depth - k >= CHUNK);
    }
    for (; k < p.depth; k++) {
      uint safeK = min(k, p.depth - 1u);
      float rest[ROWS];
      [[unroll]] for (uint r = 0; r < ROWS; r++) {
        Raw raw;
        [[unroll]] for (uint lane = 0; lane < LANES; lane++) {
          Raw element = loadRaw(tensorAddress(aRow[r * LANES + lane], safeK * p.aStrideDepth), 0u);
          raw = mix(raw, element, lane == 0u || lane == gl_LocalInvocationID.x);
        }
        rest[r] = convert(raw);
      }
      [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
        float element = loadElement(tensorAddress(bColumn[c], safeK * p.bStrideDepth), 0u);
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
          sums[r * COLUMNS + c] = fma(rest[r], element, sums[r * COLUMNS + c]);
        }
      }
    }
  }

  // A loop that is unrolled in part: all of it would be compiled ROWS * COLUMNS times, none of it costs more than the sums of a
  // short product. It needs an array that can be indexed, unlike the registers of the sums.
  float indexable[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) indexable[i] = sums[i];
  uint skipped = b.firstColumn - firstColumn;
  Results results = resultsOf(p, b);
  [[dont_unroll]] for (uint first = 0; first < ROWS * COLUMNS; first += STORED) {
    [[unroll]] for (uint j = 0; j < STORED; j++) {
      uint i = min(first + j, ROWS * COLUMNS - 1u);
      uint r = i / COLUMNS, c = i % COLUMNS;
      uint resultRow = row + r * LOCAL_SIZE, column = firstColumn + c;
      float value = epilogue(p, results, min(resultRow, p.rows - 1u), min(column, p.columns - 1u), indexable[i]);
      if (resultRow < p.rows && c >= skipped && column < p.columns) storeOut(p, results, resultRow, column, value);
    }
  }
}
