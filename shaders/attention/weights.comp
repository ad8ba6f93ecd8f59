#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention weights as an output, one query row per invocation. A first pass over the keys finds the row's maximum and
// sum, a second computes the same scores again, bit for bit, and writes exp(score - maximum) / sum. No score is stored, and
// nothing is read from the kernel that computes `out`, so the two run without a barrier.
//
// KEYS keys share what is read of Q, CHANNELS channels at a time: a whole row of Q would take all registers of many GPUs, and as
// unrolled code drivers of CPUs twice the time to compile.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

const uint CHUNKS = (HEAD_DIM_QK + CHANNELS - 1) / CHANNELS;
const uint QUADS = CHUNKS > 1 ? CHANNELS / 4 : QUADS_QK;  // of a chunk

vec4 q[QUADS];
float s[KEYS];  // final scores

void loadQ(const AttentionParams p, Address qRow, uint chunk) {
  [[unroll]] for (uint d = 0; d < QUADS; d++) q[d] = loadQuad(qRow, chunk * QUADS + d, HEAD_DIM_QK) * p.scale;
}

// The scores of keys from `first` on, -inf of those past the last one.
void score(const AttentionParams p, const Block b, Address qRow, uint row, uint first) {
  [[unroll]] for (uint j = 0; j < KEYS; j++) s[j] = 0.0;
  for (uint chunk = 0; chunk < CHUNKS; chunk++) {
    if (CHUNKS > 1) loadQ(p, qRow, chunk);
    [[unroll]] for (uint j = 0; j < KEYS; j++) {
      Address kRow = keyRowOfK(p, b, first + j);
      [[unroll]] for (uint d = 0; d < QUADS; d++) {
        vec4 k = loadKeyQuad(kRow, chunk * QUADS + d, HEAD_DIM_QK);
        [[unroll]] for (uint i = 0; i < 4; i++) s[j] = fma(q[d][i], k[i], s[j]);
      }
    }
  }
  [[unroll]] for (uint j = 0; j < KEYS; j++) s[j] = finalScore(p, b, row, first + j, s[j] * keyScaleOfK(p, b, first + j));
}

// Adds the weights of the keys to the sum. Returns what they are relative to, the largest score so far.
float addWeights(float maximum, inout float total) {
  float largest = maximum;
  [[unroll]] for (uint j = 0; j < KEYS; j++) largest = max(largest, s[j]);
  total *= weightOf(maximum, safeMaximum(largest));
  [[unroll]] for (uint j = 0; j < KEYS; j++) total += weightOf(s[j], safeMaximum(largest));
  return largest;
}

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), 0u, LOCAL_SIZE, 0u);
  uint row = b.firstRow + gl_LocalInvocationID.x;
  uint safeRow = min(row, b.rowLimit - 1u);

  Address qRow = queryRow(p, b, safeRow);
  if (CHUNKS == 1) loadQ(p, qRow, 0u);

  Address probsRow = tensorAddress(push.buffers[BUFFER_PROBS],
                                   b.batch * p.probsStrideB + b.head * p.probsStrideH + safeRow * p.probsStrideT);
  float maximum = firstMaximum(b);
  float total = firstTotal(maximum);
  // One loop for both passes, so that the scores of both are the same code.
  [[dont_unroll]] for (uint writing = 0; writing < 2; writing++) {
    uint begin = writing != 0u ? 0u : b.keysBegin, end = writing != 0u ? p.seqlenK : b.keysEnd;
    bool empty = total == 0.0 || row >= b.seqlenQ;
    float inverse = 1.0 / total;
    for (uint first = begin; first < end; first += KEYS) {
      bool seen = first + KEYS > b.keysBegin && first < b.keysEnd;
      if (seen) score(p, b, qRow, safeRow, first);
      if (writing == 0u) maximum = addWeights(maximum, total);
      [[unroll]] for (uint j = 0; j < KEYS; j++) {
        // A hidden key has weight 0 even in a row whose sum is NaN.
        float weight = seen && !empty && s[j] != -kInfinity ? weightOf(s[j], safeMaximum(maximum)) * inverse : 0.0;
        if (writing != 0u && row < b.rowLimit && first + j < p.seqlenK) storeElement(tensorAddress(probsRow, first + j), 0u, weight);
      }
    }
  }
}
