#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention, one query row per invocation. The row of Q and the row of sums live in registers; rows of K and V have
// one address for the whole subgroup, so that a CPU device reads each element once and broadcasts it.
//
// Channels are taken in quads: the unrolled code is a fourth as long before the driver takes it apart, and driver compile time grows
// faster than linearly with it (measured on lavapipe: 0.99 s for single channels, 0.13 s for quads at head dim 64).
//
// Keys are taken KEYS at a time: KEYS scores, one maximum, one rescaling, KEYS exponentials, then P V. Steps before and after the
// keys that some row sees are skipped; steps whose keys all rows of the work-group see ("plain") skip the tests of visibility;
// steps in which a key is hidden select on each product, so that a NaN or infinity in a hidden value has no influence.

// As split_kv, for short queries: FOLD query heads of a group share the loads of their keys, an invocation each, and several
// work-groups share the keys of a block of rows ("flash decoding", Dao et al. 2023). Each writes its sums, its maximum and its total,
// unnormalised; the kernel `combine` merges them.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

// Rows of Q and of `out` differ from invocation to invocation, and CPU devices take an element of each at a time: their gathers and
// scatters are slow, and those of 16-bit types many instructions. On narrow subgroups, as theirs are, rows of Q that are not too long
// are read with uniform addresses and merged, a sixth of the time of gathers; what would make the unrolled code longer than that of
// the steps, and the driver compile for seconds, is a loop, although an array must then be indexed.
const bool NARROW = LOCAL_SIZE <= 16;
const bool MERGE_Q = NARROW && FOLD == 1 && QUADS_QK <= 16;
const uint LONGEST_UNROLLED = DTYPE == DTYPE_F32 ? 32 : 0;  // quads
const bool LOOP_Q = NARROW && QUADS_QK > LONGEST_UNROLLED;
const bool LOOP_OUT = NARROW && QUADS_V > LONGEST_UNROLLED;

vec4 q[QUADS_QK];  // scaled

void loadQ(const AttentionParams p, const Block b, uint row, uint lane) {
  if (MERGE_Q) {
    [[unroll]] for (uint i = 0; i < LOCAL_SIZE; i++) {
      Address qRow = queryRow(p, b, min(b.firstRow + i, b.rowLimit - 1u));
      bvec4 mine = bvec4(i == 0u || i == lane);
      [[unroll]] for (uint d = 0; d < QUADS_QK; d++) q[d] = mix(q[d], loadQuad(qRow, d, HEAD_DIM_QK), mine);
    }
    [[unroll]] for (uint d = 0; d < QUADS_QK; d++) q[d] *= p.scale;
    return;
  }
  Address qRow = queryRow(p, b, row);
  if (LOOP_Q) {
    float x[4 * QUADS_QK];
    [[unroll]] for (uint d = 0; d < 4 * QUADS_QK; d++) x[d] = 0.0;
    [[dont_unroll]] for (uint d = 0; d < HEAD_DIM_QK; d++) {
      uint safe = min(d, HEAD_DIM_QK - 1u);
      x[safe] = loadElement(qRow, safe) * p.scale;
    }
    [[unroll]] for (uint d = 0; d < 4 * QUADS_QK; d++) q[d / 4][d % 4] = x[d];
  } else {
    [[unroll]] for (uint d = 0; d < QUADS_QK; d++) q[d] = loadQuad(qRow, d, HEAD_DIM_QK) * p.scale;
  }
}

// exp(score - reference) of a score that is not larger, and 0 of -inf: 2 to the whole part of x, which the sum with 1.5 * 2^23
// leaves in its lowest bits together with the bias of an exponent, times a polynomial of the rest (relative error 1.9e-7, 1 at 0).
// A CPU driver's exp2 is longer: it is for all arguments, and takes wide vectors apart.
float weightBelow(float score, float reference) {
  const float kWhole = 12582912.0 + 127.0;
  float x = (score - reference) * kLog2E;
  precise float shifted = x + kWhole;
  precise float rest = x - (shifted - kWhole);
  float square = rest * rest;
  float high = fma(fma(1.32647273e-3, rest, 9.67151299e-3), square, fma(5.55073358e-2, rest, 2.40222424e-1));
  float power = fma(high, square, fma(6.93147004e-1, rest, 1.0)) * intBitsToFloat(floatBitsToInt(shifted) << 23);
  return x < -126.0 ? 0.0 : power;
}

const uint kMinusInfinity = 0xff800000u;  // as bits: those of no number are larger, and those of NaN may be

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  uint lane = gl_LocalInvocationID.x;
  uint group = groupIndex();
  uint index = SPLIT != 0 ? group / p.splits : group;
  Block b = blockOf(p, index, SPLIT != 0 ? group - index * p.splits : 0u, LOCAL_SIZE / FOLD, lane % FOLD);
  if (isVacant(b)) return;
  uint row = b.firstRow + lane / FOLD;
  uint safeRow = min(row, b.rowLimit - 1u);

  loadQ(p, b, safeRow, lane);
  vec4 sums[QUADS_V];
  [[unroll]] for (uint d = 0; d < QUADS_V; d++) sums[d] = vec4(0.0);
  // The sink counts once, so the kernel that combines parts takes it.
  float maximum = SPLIT != 0 ? -kInfinity : firstMaximum(b);
  float total = firstTotal(maximum);

  if (HAS_KEYS != 0) {
    for (uint first = b.keysBegin; first < b.keysEnd; first += KEYS) {
      float s[KEYS];
      Address kRow[KEYS];
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        s[c] = 0.0;
        kRow[c] = keyRowOfK(p, b, first + c);
      }
      [[unroll]] for (uint d = 0; d < QUADS_QK; d++) {
        [[unroll]] for (uint c = 0; c < KEYS; c++) {
          vec4 k = loadKeyQuad(kRow[c], d, HEAD_DIM_QK);
          s[c] = fma(q[d].x, k.x, s[c]);
          s[c] = fma(q[d].y, k.y, s[c]);
          s[c] = fma(q[d].z, k.z, s[c]);
          s[c] = fma(q[d].w, k.w, s[c]);
        }
      }

      if (K_SCALE != 0) {
        [[unroll]] for (uint c = 0; c < KEYS; c++) s[c] *= keyScaleOfK(p, b, first + c);
      }
      uint highest = 0u;
      if (!isPlain(b, first, KEYS)) {
        bool hides = false;
        [[unroll]] for (uint c = 0; c < KEYS; c++) {
          s[c] = finalScore(p, b, safeRow, first + c, s[c]);
          hides = hides || s[c] == -kInfinity;
        }
        // All rows of a subgroup as one: a branch that only some take costs both of its sides.
        if (anyInSubgroup(hides)) highest = kMinusInfinity;
      }
      // The largest score, by its bits: the largest signed integer unless all are negative, else the smallest unsigned one. The
      // larger of two floats is five instructions of a CPU driver, one after the other, because of NaN and of zeros with a sign.
      int largestSigned = floatBitsToInt(maximum);
      uint lowest = floatBitsToUint(maximum);
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        largestSigned = max(largestSigned, floatBitsToInt(s[c]));
        lowest = min(lowest, floatBitsToUint(s[c]));
        highest = max(highest, floatBitsToUint(s[c]));
      }
      float largest = intBitsToFloat(largestSigned >= 0 ? largestSigned : int(lowest));
      bool careful = highest >= kMinusInfinity;

      float reference = safeMaximum(largest);
      float correction = weightBelow(maximum, reference);
      maximum = largest;
      float weights[KEYS];
      float partial = 0.0;
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        weights[c] = weightBelow(s[c], reference);
        partial += weights[c];
      }
      total = fma(total, correction, partial);

      Address vRow[KEYS];
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        vRow[c] = keyRowOfV(p, b, first + c);
      }
      if (V_SCALE != 0) {
        [[unroll]] for (uint c = 0; c < KEYS; c++) weights[c] *= keyScaleOfV(p, b, first + c);
      }
      if (careful) {
        [[unroll]] for (uint d = 0; d < QUADS_V; d++) {
          vec4 sum = sums[d] * correction;
          [[unroll]] for (uint c = 0; c < KEYS; c++) {
            vec4 v = loadKeyQuad(vRow[c], d, HEAD_DIM_V);
            sum = s[c] == -kInfinity ? sum : fma(vec4(weights[c]), v, sum);
          }
          sums[d] = sum;
        }
      } else {
        [[unroll]] for (uint d = 0; d < QUADS_V; d++) {
          vec4 sum = sums[d] * correction;
          [[unroll]] for (uint c = 0; c < KEYS; c++) {
            sum = fma(vec4(weights[c]), loadKeyQuad(vRow[c], d, HEAD_DIM_V), sum);
          }
          sums[d] = sum;
        }
      }
    }
  }

  if (SPLIT != 0) {
    if (LOOP_OUT) {
      float results[4 * QUADS_V];
      [[unroll]] for (uint d = 0; d < 4 * QUADS_V; d++) results[d] = sums[d / 4][d % 4];
      [[dont_unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) storePartial(p, b, lane, d, results[min(d, HEAD_DIM_V - 1u)]);
    } else {
      [[unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) storePartial(p, b, lane, d, sums[d / 4][d % 4]);
    }
    storePartial(p, b, lane, PARTIAL_MAXIMUM, maximum);
    storePartial(p, b, lane, PARTIAL_TOTAL, total);
    return;
  }
  if (!ownsRow(b, lane)) return;
  // A visible key, or the sink, has weight 1 somewhere in the row, so a total of 0 means that the row saw none.
  bool empty = total == 0.0 || row >= b.seqlenQ;
  float inverse = 1.0 / total;
  Address outAddress = outRow(p, b, row);
  if (LOOP_OUT) {
    float results[4 * QUADS_V];
    [[unroll]] for (uint d = 0; d < 4 * QUADS_V; d++) results[d] = sums[d / 4][d % 4];
    [[dont_unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) {
      storeElement(outAddress, d, empty ? 0.0 : results[min(d, HEAD_DIM_V - 1u)] * inverse);
    }
  } else {
    [[unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) {
      storeElement(outAddress, d, empty ? 0.0 : sums[d / 4][d % 4] * inverse);
    }
  }
  if (LSE != 0) storeLse(p, b, row, empty ? -kInfinity : logSumExp(maximum, total));
}
