#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention weights as an output, one query row per invocation. A first pass over the keys finds the row's maximum and
// sum, a second computes the same scores again, bit for bit, and writes exp(score - maximum) / sum. No score is stored, and
// nothing is read from the kernel that computes `out`, so the two run without a barrier.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

vec4 q[QUADS_QK];

float scoreOf(const AttentionParams p, const Block b, uint row, uint key) {
  Address kRow = keyRowOfK(p, b, key);
  float s = 0.0;
  [[unroll]] for (uint d = 0; d < QUADS_QK; d++) {
    vec4 k = loadKeyQuad(kRow, d, HEAD_DIM_QK);
    s = fma(q[d].x, k.x, s);
    s = fma(q[d].y, k.y, s);
    s = fma(q[d].z, k.z, s);
    s = fma(q[d].w, k.w, s);
  }
  return finalScore(p, b, row, key, s * keyScaleOfK(p, b, key));
}

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), 0u, LOCAL_SIZE, 0u);
  uint row = b.firstRow + gl_LocalInvocationID.x;
  uint safeRow = min(row, b.rowLimit - 1u);

  Address qRow = queryRow(p, b, safeRow);
  [[unroll]] for (uint d = 0; d < QUADS_QK; d++) q[d] = loadQuad(qRow, d, HEAD_DIM_QK) * p.scale;

  float maximum = firstMaximum(b);
  float total = firstTotal(maximum);
  for (uint key = b.keysBegin; key < b.keysEnd; key++) {
    float s = scoreOf(p, b, safeRow, key);
    float largest = max(maximum, s);
    float reference = safeMaximum(largest);
    total = fma(total, weightOf(maximum, reference), weightOf(s, reference));
    maximum = largest;
  }

  bool empty = total == 0.0 || row >= b.seqlenQ;
  float reference = safeMaximum(maximum);
  float inverse = 1.0 / total;
  Address probsRow = tensorAddress(push.buffers[BUFFER_PROBS],
                                   b.batch * p.probsStrideB + b.head * p.probsStrideH + safeRow * p.probsStrideT);
  for (uint key = 0; key < p.seqlenK; key++) {
    float weight = 0.0;
    if (key >= b.keysBegin && key < b.keysEnd) {
      float s = scoreOf(p, b, safeRow, key);
      // A hidden key has weight 0 even in a row whose sum is NaN.
      if (!empty && s != -kInfinity) weight = weightOf(s, reference) * inverse;
    }
    if (row < b.rowLimit) storeElement(tensorAddress(probsRow, key), 0u, weight);
  }
}
