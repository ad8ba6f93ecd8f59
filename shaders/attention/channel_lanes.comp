#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention, channels over the invocations. A work-group takes four query rows; each invocation holds sixteen channels of their
// queries and of their sums, and reads these channels of a key or value once for all four rows.
//
//                  lane 0          lane 1        ...
//   q, sums     quads 0, L, ..  quads 1, L + 1, ..      four rows each; L invocations, four quads each
//   K, V row    the same quads                          neighbours read neighbours
//
// A step of KEYS keys: partial products of all invocations to shared memory | an invocation per score adds them and applies the rule
// of visibility | all take the maxima, an invocation per score makes it a weight, negative for a hidden key | all add values.
//
// It is for drivers that index arrays of an invocation lane by lane, as SwiftShader does: here such arrays are indexed by constants
// alone, written out by macros, and loops stay loops, because those drivers do not unroll them and take long to compile what is.
// Hence K and V of 16-bit types are copies in fp32 (see widen.comp), and Q and the result go through shared memory, so that an
// element is converted in one place of the code.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

#define ROWS 4
#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#define EACH_QUAD(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)

shared vec4 staged[ROWS * 4 * LOCAL_SIZE];  // rows of Q, and of the result
shared float partials[ROWS * KEYS * LOCAL_SIZE];
shared float scores[ROWS * KEYS];
shared float weights[ROWS * KEYS];

// As loadKeyQuad, for a quad that differs between invocations and may lie past the head dim. Macros, not functions: a driver that
// does not propagate constants into functions keeps both branches, eight times.
vec4 loadWhole(Address row, uint quad, uint quads) {
  vec4 x = Vec4sIn(row).v[min(quad, quads - 1)];
  return quad < quads ? x : vec4(0.0);
}
vec4 loadSingle(Address row, uint quad, uint headDim) {
  vec4 x;
  for (uint i = 0; i < 4; i++) {
    float element = loadF32(row, min(4 * quad + i, headDim - 1));
    x[i] = 4 * quad + i < headDim ? element : 0.0;
  }
  return x;
}
const bool WHOLE_QK = WIDENED != 0 || HEAD_DIM_QK % 4 == 0;
const bool WHOLE_V = WIDENED != 0 || HEAD_DIM_V % 4 == 0;
#define LOAD_OWN(x, row, i, whole, quads, headDim) \
  vec4 x; \
  if (whole) x = loadWhole(row, lane + i * LOCAL_SIZE, quads); else x = loadSingle(row, lane + i * LOCAL_SIZE, headDim);
#define LOAD_K(i) LOAD_OWN(k##i, kRow, i, WHOLE_QK, QUADS_QK, HEAD_DIM_QK)
#define LOAD_V(i) LOAD_OWN(v##i, vRow, i, WHOLE_V, QUADS_V, HEAD_DIM_V)

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  uint lane = gl_LocalInvocationID.x;
  Block b = blockOf(p, groupIndex(), 0u, ROWS, 0u);
  if (isVacant(b)) return;

  for (uint r = 0; r < ROWS; r++) {
    Address qRow = queryRow(p, b, min(b.firstRow + r, b.rowLimit - 1u));
    for (uint d = lane; d < 16 * LOCAL_SIZE; d += LOCAL_SIZE) {
      float x = loadElement(qRow, min(d, HEAD_DIM_QK - 1));
      staged[r * 4 * LOCAL_SIZE + d / 4][d % 4] = d < HEAD_DIM_QK ? x * p.scale : 0.0;
    }
  }
  barrier();
  vec4 q[ROWS * 4], sums[ROWS * 4];
  float maximum[ROWS], total[ROWS];
#define STAGED(r, i) staged[(r * 4 + i) * LOCAL_SIZE + lane]
#define START_QUAD(r, i) \
  q[r * 4 + i] = STAGED(r, i); \
  sums[r * 4 + i] = vec4(0.0);
#define START(r) \
  EACH_QUAD(START_QUAD, r) \
  maximum[r] = firstMaximum(b); \
  total[r] = firstTotal(maximum[r]);
  EACH_ROW(START)

  if (HAS_KEYS != 0) {
    for (uint first = b.keysBegin; first < b.keysEnd; first += KEYS) {
      for (uint c = 0; c < KEYS; c++) {
        Address kRow = keyRowOfK(p, b, first + c);
        LOAD_K(0) LOAD_K(1) LOAD_K(2) LOAD_K(3)
#define MULTIPLY(r) { \
          vec4 x = q[r * 4] * k0 + q[r * 4 + 1] * k1 + q[r * 4 + 2] * k2 + q[r * 4 + 3] * k3; \
          partials[(r * KEYS + c) * LOCAL_SIZE + lane] = (x.x + x.y) + (x.z + x.w); \
        }
        EACH_ROW(MULTIPLY)
      }
      barrier();
      bool plain = isPlain(b, first, KEYS);
      for (uint t = lane; t < ROWS * KEYS; t += LOCAL_SIZE) {
        float score = 0.0;
        for (uint i = 0; i < LOCAL_SIZE; i++) score += partials[t * LOCAL_SIZE + i];
        if (!plain) score = finalScore(p, b, min(b.firstRow + t / KEYS, b.rowLimit - 1u), first + t % KEYS, score);
        scores[t] = score;
      }
      barrier();
      float largest[ROWS];
#define BEGIN(r) largest[r] = maximum[r];
      EACH_ROW(BEGIN)
      for (uint c = 0; c < KEYS; c++) {
#define COMPARE(r) largest[r] = max(largest[r], scores[r * KEYS + c]);
        EACH_ROW(COMPARE)
      }
#define RESCALE_QUAD(r, i) sums[r * 4 + i] *= correction;
#define RESCALE(r) { \
        float correction = weightOf(maximum[r], safeMaximum(largest[r])); \
        maximum[r] = largest[r]; \
        total[r] *= correction; \
        EACH_QUAD(RESCALE_QUAD, r) \
      }
      EACH_ROW(RESCALE)
      for (uint t = lane; t < ROWS * KEYS; t += LOCAL_SIZE) {
        uint r = t / KEYS;
        float reference = safeMaximum(r == 0u ? maximum[0] : r == 1u ? maximum[1] : r == 2u ? maximum[2] : maximum[3]);
        weights[t] = scores[t] == -kInfinity ? -1.0 : weightOf(scores[t], reference);
      }
      barrier();
      for (uint c = 0; c < KEYS; c++) {
        Address vRow = keyRowOfV(p, b, first + c);
        LOAD_V(0) LOAD_V(1) LOAD_V(2) LOAD_V(3)
#define ADD_QUAD(r, i) sums[r * 4 + i] += weight * uintBitsToFloat(floatBitsToUint(v##i) & visible);
#define ADD(r) { \
          float weight = weights[r * KEYS + c]; \
          uint visible = weight < 0.0 ? 0u : ~0u; \
          weight = visible == 0u ? 0.0 : weight; \
          total[r] += weight; \
          EACH_QUAD(ADD_QUAD, r) \
        }
        EACH_ROW(ADD)
      }
    }
  }

  // A visible key, or the sink, has weight 1 somewhere in the row, so a total of 0 means that the row saw none.
#define FINISH_QUAD(r, i) STAGED(r, i) = empty ? vec4(0.0) : sums[r * 4 + i] * inverse;
#define FINISH(r) { \
    uint row = b.firstRow + r; \
    bool empty = total[r] == 0.0 || row >= b.seqlenQ; \
    float inverse = 1.0 / total[r]; \
    EACH_QUAD(FINISH_QUAD, r) \
    if (LSE != 0 && lane == 0u && row < b.rowLimit) storeLse(p, b, row, empty ? -kInfinity : logSumExp(maximum[r], total[r])); \
  }
  EACH_ROW(FINISH)
  barrier();
  for (uint r = 0; r < ROWS && b.firstRow + r < b.rowLimit; r++) {
    Address outAddress = outRow(p, b, b.firstRow + r);
    for (uint d = lane; d < HEAD_DIM_V; d += LOCAL_SIZE) storeElement(outAddress, d, staged[r * 4 * LOCAL_SIZE + d / 4][d % 4]);
  }
}
