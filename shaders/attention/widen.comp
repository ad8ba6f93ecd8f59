#version 460
// SPDX-License-Identifier: Apache-2.0
// Copies K and V as fp32 for scalar_rows, which reads every element once per block of rows and would convert it each time.
// A work-group has WIDEN_TOKENS rows of one head of K, or of V. Copies are contiguous, [batch, head, key, channel], their rows padded
// to whole quads; pages are laid out in the order of their keys. The strides of the parameters are those of K and V.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  uint index = groupIndex() / 2u;
  bool isK = groupIndex() == 2u * index;
  uint blocks = (p.seqlenK + WIDEN_TOKENS - 1u) / WIDEN_TOKENS;
  uint head = index / blocks;  // of all batch entries
  uint first = (index - head * blocks) * WIDEN_TOKENS;
  uint heads = p.headBlocks;   // num_heads_kv

  Block b;
  b.batch = head / heads;
  b.headKv = head - b.batch * heads;
  b.keyBase = 0;
  b.seqlenK = p.seqlenK;
  if (PACKED != 0 && PAGE_SIZE != 0) {
    IntsIn cuK = IntsIn(push.buffers[BUFFER_CU_SEQLENS_K]);
    b.seqlenK = uint(clamp(cuK.v[b.batch + 1u] - cuK.v[b.batch], 0, int(p.seqlenK)));
  } else if (SEQLENS_K != 0) {
    b.seqlenK = clampedInt(push.buffers[BUFFER_SEQLENS_K], b.batch, p.seqlenK);
  }
  if (first >= b.seqlenK) return;

  uint headDim = isK ? HEAD_DIM_QK : HEAD_DIM_V;
  uint width = 4u * (isK ? QUADS_QK : QUADS_V);
  uint start = isK ? 0u : p.widenedV;
  for (uint token = first; token < min(first + WIDEN_TOKENS, p.seqlenK); token++) {
    Address from = isK ? keyRowOfK(p, b, token) : keyRowOfV(p, b, token);
    Address to = elementAddress(push.buffers[BUFFER_WIDENED], start + (head * p.seqlenK + token) * width, 4u);
    float scale = isK ? keyScaleOfK(p, b, token) : keyScaleOfV(p, b, token);
    for (uint c = gl_LocalInvocationID.x; c < width; c += LOCAL_SIZE) {
      float x = loadKeyElement(from, min(c, headDim - 1u)) * scale;
      FloatsOut(to).v[c] = c < headDim ? x : 0.0;
    }
  }
}
