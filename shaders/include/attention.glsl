// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_ATTENTION_GLSL
#define SACCADE_ATTENTION_GLSL
// What all attention kernels share: parameters, where a work-group works, and the one rule of visibility.
//
// A hidden key is one whose final score is -inf, whatever hid it: causal mask, lengths, boolean mask, a bias of -inf or the
// arithmetic itself. Kernels select on the score; nothing is ever added to hide a key.

#include "dtype.glsl"
#include "push.glsl"
#include "attention_params.h"

layout(local_size_x_id = SPEC_LOCAL_SIZE) in;
layout(constant_id = SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 8;
layout(constant_id = SPEC_HEAD_DIM_QK) const uint HEAD_DIM_QK = 64;
layout(constant_id = SPEC_HEAD_DIM_V) const uint HEAD_DIM_V = 64;
layout(constant_id = SPEC_CAUSAL) const uint CAUSAL = 0;
layout(constant_id = SPEC_HAS_KEYS) const uint HAS_KEYS = 1;
layout(constant_id = SPEC_MASK) const uint MASK = 0;
layout(constant_id = SPEC_BIAS) const uint BIAS = 0;
layout(constant_id = SPEC_SEQLENS_Q) const uint SEQLENS_Q = 0;
layout(constant_id = SPEC_SEQLENS_K) const uint SEQLENS_K = 0;
layout(constant_id = SPEC_LSE) const uint LSE = 0;
layout(constant_id = SPEC_KEYS) const uint KEYS = 8;
layout(constant_id = SPEC_CHANNELS) const uint CHANNELS = 32;

const uint QUADS_QK = (HEAD_DIM_QK + 3) / 4;
const uint QUADS_V = (HEAD_DIM_V + 3) / 4;

// Channels 4 * quad .. 4 * quad + 3 of a row; those past the head dim are 0 and never read.
vec4 loadQuad(Address row, uint quad, const uint headDim) {
  if (4 * quad + 4 <= headDim) return loadElements4(row, quad);
  vec4 x = vec4(0.0);
  [[unroll]] for (uint i = 0; i < 3; i++) {
    if (4 * quad + i < headDim) x[i] = loadElement(row, 4 * quad + i);
  }
  return x;
}

const uint kCausalTopLeft = 2;
const float kLog2E = 1.4426950408889634;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ParamsIn { AttentionParams value; };

// A block of consecutive query rows of one head, and the keys that its rows may see.
struct Block {
  uint batch, head, headKv;
  uint firstRow;
  uint seqlenQ, seqlenK;  // lengths of this batch entry
  int offset;             // row i is aligned with key i + offset
  uint keysEnd;           // no row of the block sees a key at or past it
  uint plainEnd;          // every row of the block sees every key before it
};

uint clampedLength(Address lengths, uint batch, uint limit) {
  return uint(clamp(IntsIn(lengths).v[batch], 0, int(limit)));
}

Block blockOf(AttentionParams p, uint group, uint rows) {
  Block b;
  uint headIndex = group / p.rowBlocks;
  b.firstRow = (group - headIndex * p.rowBlocks) * rows;
  b.batch = headIndex / p.numHeadsQ;
  b.head = headIndex - b.batch * p.numHeadsQ;
  b.headKv = b.head / p.headsPerGroup;
  b.seqlenQ = SEQLENS_Q != 0 ? clampedLength(push.buffers[BUFFER_SEQLENS_Q], b.batch, p.seqlenQ) : p.seqlenQ;
  b.seqlenK = SEQLENS_K != 0 ? clampedLength(push.buffers[BUFFER_SEQLENS_K], b.batch, p.seqlenK) : p.seqlenK;
  b.offset = CAUSAL == kCausalTopLeft ? 0 : int(b.seqlenK) - int(b.seqlenQ);
  b.keysEnd = b.seqlenK;
  b.plainEnd = b.seqlenK;
  if (CAUSAL != 0) {
    int lastRow = int(min(b.firstRow + rows, p.seqlenQ)) - 1;
    b.keysEnd = uint(clamp(lastRow + b.offset + 1, 0, int(b.seqlenK)));
    b.plainEnd = uint(clamp(int(b.firstRow) + b.offset + 1, 0, int(b.seqlenK)));
  }
  if (MASK != 0 || BIAS != 0) b.plainEnd = 0;
  if (b.firstRow >= b.seqlenQ) b.keysEnd = 0;
  return b;
}

// The final score of a pair: score with bias added if the key is visible to the row, -inf if it is hidden. row and key must lie
// inside the tensors; key may lie past the entry's length.
float finalScore(AttentionParams p, Block b, uint row, uint key, float score) {
  bool visible = key < b.seqlenK;
  if (CAUSAL != 0) visible = visible && int(key) <= int(row) + b.offset;
  if (MASK != 0) {
    uint element = b.batch * p.maskStrideB + b.head * p.maskStrideH + row * p.maskStrideQ + key * p.maskStrideK;
    visible = visible && load8(elementAddress(push.buffers[BUFFER_MASK], element, 1u), 0u) != 0u;
  }
  if (BIAS != 0) {
    uint element = b.batch * p.biasStrideB + b.head * p.biasStrideH + row * p.biasStrideQ + key * p.biasStrideK;
    Address base = push.buffers[BUFFER_BIAS];
    float bias;
    if (BIAS == 1) bias = loadF32(elementAddress(base, element, 4u), 0u);
    else if (BIAS == 2) bias = halfToFloat(load16(elementAddress(base, element, 2u), 0u));
    else bias = bfloatToFloat(load16(elementAddress(base, element, 2u), 0u));
    // Only a bias of -inf hides; selecting it keeps a NaN score from surviving the addition.
    visible = visible && bias != -kInfinity;
    score += bias;
  }
  return visible ? score : -kInfinity;
}

bool isNan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// exp(score - maximum), exactly 0 for a hidden key. maximum must not be -inf. NaN is handed on explicitly, here and in
// logSumExp: exp2 and log of one device (SwiftShader) turn it into a number.
float weightOf(float score, float maximum) {
  if (score == -kInfinity) return 0.0;
  float x = (score - maximum) * kLog2E;
  return isNan(x) ? x : exp2(x);
}

// The log-sum-exp of a row that sees a key. total is the sum of its weights.
float logSumExp(float maximum, float total) { return isNan(total) ? total : maximum + log(total); }

// The maximum to subtract: that of a row which has seen no key yet is replaced, so that -inf - -inf never happens.
float safeMaximum(float maximum) { return maximum == -kInfinity ? 0.0 : maximum; }

#endif  // SACCADE_ATTENTION_GLSL
