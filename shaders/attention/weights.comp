#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention weights as an output, one query row per invocation. A first pass over the keys finds the row's maximum and
// sum, a second computes the same scores again, bit for bit, and writes exp(score - maximum) / sum. No score is stored, and
// nothing is read from the kernel that computes `out`, so the two run without a barrier.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

vec4 q[QUADS_QK];

float scoreOf(AttentionParams p, Block b, Address kBase, uint row, uint key) {
  Address kRow = tensorAddress(kBase, min(key, p.seqlenK - 1u) * p.kStrideT);
  float s = 0.0;
  [[unroll]] for (uint d = 0; d < QUADS_QK; d++) {
    vec4 k = loadQuad(kRow, d, HEAD_DIM_QK);
    s = fma(q[d].x, k.x, s);
    s = fma(q[d].y, k.y, s);
    s = fma(q[d].z, k.z, s);
    s = fma(q[d].w, k.w, s);
  }
  return finalScore(p, b, row, min(key, p.seqlenK - 1u), s);
}

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), LOCAL_SIZE);
  uint row = b.firstRow + gl_LocalInvocationID.x;
  uint safeRow = min(row, p.seqlenQ - 1u);

  Address qRow = tensorAddress(push.buffers[BUFFER_Q],
                               b.batch * p.qStrideB + b.head * p.qStrideH + safeRow * p.qStrideT);
  [[unroll]] for (uint d = 0; d < QUADS_QK; d++) q[d] = loadQuad(qRow, d, HEAD_DIM_QK) * p.scale;
  Address kBase = tensorAddress(push.buffers[BUFFER_K], b.batch * p.kStrideB + b.headKv * p.kStrideH);

  float maximum = -kInfinity;
  float total = 0.0;
  for (uint key = 0; key < b.keysEnd; key++) {
    float s = scoreOf(p, b, kBase, safeRow, key);
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
    if (key < b.keysEnd) {
      float s = scoreOf(p, b, kBase, safeRow, key);
      // A hidden key has weight 0 even in a row whose sum is NaN.
      if (!empty && s != -kInfinity) weight = weightOf(s, reference) * inverse;
    }
    if (row < p.seqlenQ) storeElement(tensorAddress(probsRow, key), 0u, weight);
  }
}
