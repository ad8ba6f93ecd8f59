#version 460
// SPDX-License-Identifier: Apache-2.0
// Matrix product on matrix units (VK_KHR_cooperative_matrix): fp16 operands, fp32 sums. A work-group stages CHUNK of the depth of its
// rows of a and columns of b in shared memory, as lines of fp16 along the depth; each subgroup multiplies ROWS x COLUMNS matrices of
// M x N from there. Sums pass through shared memory once, so that the epilogue sees rows and columns.
//
//          columns: SUBGROUPS_ACROSS x COLUMNS x N
//         +-----------------+-----------------+
//   rows: | subgroup 0      | subgroup 1      |    lines in shared memory: CHUNK elements and 4 more, so that
//         | ROWS x COLUMNS  |                 |    neighbouring lines begin in other banks
//         +-----------------+-----------------+
//         | subgroup 2      | subgroup 3      |
//         +-----------------+-----------------+
//
// Lines outside of the matrices repeat the last one, and what that yields is never stored; beyond the depth both operands are 0.

#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "matmul.glsl"

layout(constant_id = MATMUL_SPEC_M) const uint M = 16;
layout(constant_id = MATMUL_SPEC_N) const uint N = 16;
layout(constant_id = MATMUL_SPEC_K) const uint K = 16;
layout(constant_id = MATMUL_SPEC_SUBGROUPS_DOWN) const uint SUBGROUPS_DOWN = 2;
layout(constant_id = MATMUL_SPEC_SUBGROUPS_ACROSS) const uint SUBGROUPS_ACROSS = 2;

const uint TILE_ROWS = SUBGROUPS_DOWN * ROWS * M;
const uint TILE_COLUMNS = SUBGROUPS_ACROSS * COLUMNS * N;
const uint SUBGROUPS = SUBGROUPS_DOWN * SUBGROUPS_ACROSS;
const uint SUBGROUP_SIZE = LOCAL_SIZE / SUBGROUPS;

// In uvec2, four elements of fp16 or two of fp32.
const uint PITCH = CHUNK / 4 + 1;
const uint B_TILE = TILE_ROWS * PITCH;
const uint STAGED = (TILE_ROWS + TILE_COLUMNS) * PITCH;
const uint RESULT_PITCH = COLUMNS * N / 2 + 2;
const uint RESULTS = SUBGROUPS * M * RESULT_PITCH;
const uint MEMORY = STAGED > RESULTS ? STAGED : RESULTS;
shared uvec2 memory[MEMORY];

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Aligned16 { uvec4 v; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Aligned8 { uvec2 v; };
layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Aligned8Out { uvec2 v; };

// Strides below this keep the offsets within a tile in 32 bits of bytes.
const uint STRIDE_LIMIT = 1u << 22;

// Lines of one operand: rows of a or columns of b.
struct Operand {
  Address base;
  uint first, end;  // of the work-group, of the tensor
  uint stride, strideDepth;
};

// Whether whole vectors may be read.
bool isAligned(Operand o, uint layoutOf) {
  if (layoutOf == MATMUL_LAYOUT_DEPTH) return (uint(o.base) & 15u) == 0u && (o.stride & 7u) == 0u && o.stride < STRIDE_LIMIT;
  if (layoutOf == MATMUL_LAYOUT_ANY) return false;
  return (uint(o.base) & 7u) == 0u && (o.strideDepth & 3u) == 0u && (o.end & 3u) == 0u && o.strideDepth < STRIDE_LIMIT;
}

// An invocation copies the same vectors of each chunk: 8 elements along the depth, or 4 lines by 4 of the depth. Where they begin,
// in bytes of the tile, is worked out once.
const uint VECTORS = CHUNK / 8;
const uint A_UNITS = (TILE_ROWS * VECTORS + LOCAL_SIZE - 1) / LOCAL_SIZE;
const uint B_UNITS = (TILE_COLUMNS * VECTORS + LOCAL_SIZE - 1) / LOCAL_SIZE;
uint offsets[A_UNITS + B_UNITS];

void findOffsets(uint first, uint units, uint count, uint layoutOf, Operand o) {
  uint last = o.end - 1u - o.first, quads = count / 4;
  [[unroll]] for (uint i = 0; i < units; i++) {
    uint unit = i * LOCAL_SIZE + gl_LocalInvocationIndex;
    offsets[first + i] = layoutOf == MATMUL_LAYOUT_DEPTH
                             ? 2u * (min(unit / VECTORS, last) * o.stride + 8u * (unit % VECTORS))
                             : 2u * (4u * (unit / quads) * o.strideDepth + min(4u * (unit % quads), last - 3u));
  }
}

// Copies `count` lines that are contiguous along the depth.
void stageAlong(uint first, uint at, uint count, Operand o, uint depth) {
  const uint units = count * VECTORS;
  Address tile = tensorAddress(o.base, o.first * o.stride + depth);
  [[unroll]] for (uint i = 0; i < units; i += LOCAL_SIZE) {
    uint unit = i + gl_LocalInvocationIndex;
    if (units % LOCAL_SIZE != 0 && unit >= units) break;
    uvec4 x = Aligned16(tile + uint64_t(offsets[first + i / LOCAL_SIZE])).v;
    uint to = at + unit / VECTORS * PITCH + 2u * (unit % VECTORS);
    memory[to] = x.xy;
    memory[to + 1u] = x.zw;
  }
}

uint lows(uint x, uint y) { return (x & 0xffffu) | (y << 16); }
uint highs(uint x, uint y) { return (x >> 16) | (y & 0xffff0000u); }

// Copies `count` lines of which neighbours are contiguous, and turns them round.
void stageAcross(uint first, uint at, uint count, Operand o, uint depth) {
  const uint quads = count / 4, units = quads * (CHUNK / 4);
  Address tile = tensorAddress(o.base, o.first + depth * o.strideDepth);
  [[unroll]] for (uint i = 0; i < units; i += LOCAL_SIZE) {
    uint unit = i + gl_LocalInvocationIndex;
    if (units % LOCAL_SIZE != 0 && unit >= units) break;
    uvec2 x[4];
    [[unroll]] for (uint j = 0; j < 4; j++) {
      x[j] = Aligned8(tile + uint64_t(2u * j * o.strideDepth) + uint64_t(offsets[first + i / LOCAL_SIZE])).v;
    }
    uint to = at + 4u * (unit % quads) * PITCH + unit / quads;
    memory[to] = uvec2(lows(x[0].x, x[1].x), lows(x[2].x, x[3].x));
    memory[to + PITCH] = uvec2(highs(x[0].x, x[1].x), highs(x[2].x, x[3].x));
    memory[to + 2u * PITCH] = uvec2(lows(x[0].y, x[1].y), lows(x[2].y, x[3].y));
    memory[to + 3u * PITCH] = uvec2(highs(x[0].y, x[1].y), highs(x[2].y, x[3].y));
  }
}

// Copies lines of any layout, element by element, with 0 beyond the depth.
void stageAny(uint at, uint count, uint layoutOf, Operand o, uint depth, uint end) {
  const uint vectors = CHUNK / 4;
  [[dont_unroll]] for (uint unit = gl_LocalInvocationIndex; unit < count * vectors; unit += LOCAL_SIZE) {
    // Neighbouring invocations read along the axis that is contiguous.
    uint line = layoutOf == MATMUL_LAYOUT_ACROSS ? unit % count : unit / vectors;
    uint d = layoutOf == MATMUL_LAYOUT_ACROSS ? unit / count : unit % vectors;
    uint from = min(o.first + line, o.end - 1u) * o.stride;
    uint x[4];
    [[unroll]] for (uint j = 0; j < 4; j++) {
      uint k = depth + 4u * d + j;
      uint element = load16(tensorAddress(o.base, from + min(k, end - 1u) * o.strideDepth), 0u);
      x[j] = k < end ? element : 0u;
    }
    memory[at + line * PITCH + d] = uvec2(x[0] | x[1] << 16, x[2] | x[3] << 16);
  }
}

#define MatrixA coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define MatrixB coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>

Sums sums[ROWS * COLUMNS];  // of the subgroup

// What the subgroup does with a staged chunk.
void multiply(uint fromA, uint fromB) {
  [[unroll]] for (uint k = 0; k < CHUNK; k += K) {
    MatrixB b[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
      coopMatLoad(b[c], memory, fromB + c * N * PITCH + k / 4, PITCH, gl_CooperativeMatrixLayoutColumnMajor);
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      MatrixA a;
      coopMatLoad(a, memory, fromA + r * M * PITCH + k / 4, PITCH, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint c = 0; c < COLUMNS; c++) sums[r * COLUMNS + c] = coopMatMulAdd(a, b[c], sums[r * COLUMNS + c]);
    }
  }
}

// Four neighbouring elements of a row.
void storeQuad(const MatmulParams p, const Results results, uint row, uint column, vec4 sums, bool whole) {
  if (row >= p.rows) return;
  if (whole && column + 4u <= p.columns) {
    uint bits[4];
    [[unroll]] for (uint j = 0; j < 4; j++) bits[j] = floatToHalf(epilogue(p, results, row, column + j, sums[j]));
    Aligned8Out(tensorAddress(results.outBase, row * p.outStrideRow + column)).v = uvec2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
    return;
  }
  [[unroll]] for (uint j = 0; j < 4; j++) {
    if (column + j < p.columns) storeOut(p, results, row, column + j, epilogue(p, results, row, column + j, sums[j]));
  }
}

void main() {
  MatmulParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), TILE_ROWS, TILE_COLUMNS);
  uint down = gl_SubgroupID / SUBGROUPS_ACROSS, across = gl_SubgroupID % SUBGROUPS_ACROSS;

  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) sums[i] = Sums(0.0);

  if (DEPTH != MATMUL_DEPTH_NONE) {
    Operand fromA = Operand(aBase(p, b), b.firstRow, p.rows, p.aStrideRow, p.aStrideDepth);
    Operand fromB = Operand(bBase(p, b), b.firstColumn, p.columns, p.bStrideColumn, p.bStrideDepth);
    uint staged = down * ROWS * M * PITCH, stagedB = B_TILE + across * COLUMNS * N * PITCH;
    uint k = 0;
    if (isAligned(fromA, A_LAYOUT) && isAligned(fromB, B_LAYOUT)) {
      findOffsets(0u, A_UNITS, TILE_ROWS, A_LAYOUT, fromA);
      findOffsets(A_UNITS, B_UNITS, TILE_COLUMNS, B_LAYOUT, fromB);
      for (; k + CHUNK <= p.depth; k += CHUNK) {
        barrier();
        if (A_LAYOUT == MATMUL_LAYOUT_DEPTH) stageAlong(0u, 0u, TILE_ROWS, fromA, k);
        else stageAcross(0u, 0u, TILE_ROWS, fromA, k);
        if (B_LAYOUT == MATMUL_LAYOUT_DEPTH) stageAlong(A_UNITS, B_TILE, TILE_COLUMNS, fromB, k);
        else stageAcross(A_UNITS, B_TILE, TILE_COLUMNS, fromB, k);
        barrier();
        multiply(staged, stagedB);
      }
    }
    for (; k < p.depth; k += CHUNK) {
      barrier();
      stageAny(0u, TILE_ROWS, A_LAYOUT, fromA, k, p.depth);
      stageAny(B_TILE, TILE_COLUMNS, B_LAYOUT, fromB, k, p.depth);
      barrier();
      multiply(staged, stagedB);
    }
  }

  Results results = resultsOf(p, b);
  bool whole = p.outStrideColumn == 1u && (p.outStrideRow & 3u) == 0u && (uint(results.outBase) & 7u) == 0u;
  const uint quads = COLUMNS * N / 4;
  uint own = gl_SubgroupID * M * RESULT_PITCH;
  barrier();  // the tiles are read no more
  [[dont_unroll]] for (uint r = 0; r < ROWS; r++) {
    // Matrices are registers: which of them is not for a loop to say.
    [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) {
      if (i / COLUMNS != r) continue;
      coopMatStore(sums[i], memory, own + i % COLUMNS * N / 2, RESULT_PITCH, gl_CooperativeMatrixLayoutRowMajor);
    }
    subgroupBarrier();
    [[dont_unroll]] for (uint i = gl_SubgroupInvocationID; i < M * quads; i += SUBGROUP_SIZE) {
      uint row = i / quads, quad = i % quads;
      uint from = own + row * RESULT_PITCH + 2u * quad;
      storeQuad(p, results, b.firstRow + (down * ROWS + r) * M + row, b.firstColumn + across * COLUMNS * N + 4u * quad,
                uintBitsToFloat(uvec4(memory[from], memory[from + 1u])), whole);
    }
    subgroupBarrier();
  }
}
