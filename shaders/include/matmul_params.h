// SPDX-License-Identifier: Apache-2.0
// What a plan tells the matmul kernels. Read by GLSL and C++ alike, so only 32-bit members stand here.
// Strides are in elements.
//
// The kernels compute out[row, column] = sum over depth of a[row, depth] * b[column, depth]. The problem is
// symmetrical, so a plan may exchange a and b; that is why out has a stride along either axis, and why a bias belongs to columns
// or to rows.
#ifndef SACCADE_MATMUL_PARAMS_H_
#define SACCADE_MATMUL_PARAMS_H_

// Specialisation constants, by constant_id.
#define MATMUL_SPEC_LOCAL_SIZE 0  // invocations per work-group
#define MATMUL_SPEC_DEPTH 1       // see below
#define MATMUL_SPEC_A_LAYOUT 2
#define MATMUL_SPEC_B_LAYOUT 3
#define MATMUL_SPEC_BIAS 4        // see below
#define MATMUL_SPEC_RESIDUAL 5    // 1: there is one
#define MATMUL_SPEC_ACTIVATION 6  // SaccadeActivation
#define MATMUL_SPEC_ROWS 7        // rows of an invocation; matmul_coopmat: matrices of a subgroup
#define MATMUL_SPEC_COLUMNS 8     // columns of an invocation; matmul_coopmat: matrices of a subgroup
#define MATMUL_SPEC_CHUNK 9       // depth per step
#define MATMUL_SPEC_TURNS 10      // matmul_rows: columns of an invocation whose sums grow in turns
#define MATMUL_SPEC_M 11          // matmul_coopmat: size of the matrices that a subgroup multiplies
#define MATMUL_SPEC_N 12
#define MATMUL_SPEC_K 13
#define MATMUL_SPEC_SUBGROUPS_DOWN 14    // matmul_coopmat: subgroups of a work-group, along its rows
#define MATMUL_SPEC_SUBGROUPS_ACROSS 15  // matmul_coopmat: and its columns
#define MATMUL_SPEC_COUNT 16

// Whether there is a bias, and what has one each: columns, or rows where a and b are exchanged.
#define MATMUL_BIAS_NONE 0
#define MATMUL_BIAS_COLUMNS 1
#define MATMUL_BIAS_ROWS 2

// How deep the sums are.
#define MATMUL_DEPTH_NONE 0   // K is 0: a and b are never touched
#define MATMUL_DEPTH_SHORT 1  // below CHUNK
#define MATMUL_DEPTH_FULL 2

// Which axis of a or b has stride 1.
#define MATMUL_LAYOUT_ANY 0
#define MATMUL_LAYOUT_DEPTH 1
#define MATMUL_LAYOUT_ACROSS 2  // rows of a, columns of b; matmul_rows: and b has at least COLUMNS columns

// Order of push.buffers.
#define MATMUL_BUFFER_A 0
#define MATMUL_BUFFER_B 1
#define MATMUL_BUFFER_BIAS 2
#define MATMUL_BUFFER_RESIDUAL 3
#define MATMUL_BUFFER_OUT 4

struct MatmulParams {
  uint rows, columns, depth;
  uint rowBlocks, columnBlocks;
  uint batch1;  // size of the second batch axis
  uint aStrideB0, aStrideB1, aStrideRow, aStrideDepth;
  uint bStrideB0, bStrideB1, bStrideColumn, bStrideDepth;
  uint biasStride;
  uint residualStrideB0, residualStrideB1, residualStrideRow, residualStrideColumn;
  uint outStrideB0, outStrideB1, outStrideRow, outStrideColumn;
};

#endif  // SACCADE_MATMUL_PARAMS_H_
