#version 460
// SPDX-License-Identifier: Apache-2.0
// Merges the partial results of split_kv and flash_decode. A work-group has the PARTIAL_ROWS rows of a block that parts of the keys were
// worked on for; an invocation has CHANNELS channels of one of them. A part that saw no key has maximum -inf and weighs nothing.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

const uint GROUP_CHANNELS = LOCAL_SIZE / PARTIAL_ROWS * CHANNELS;
const uint CHUNKS = (HEAD_DIM_V + GROUP_CHANNELS - 1) / GROUP_CHANNELS;

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  uint lane = gl_LocalInvocationID.x % PARTIAL_ROWS;
  uint index = groupIndex() / CHUNKS;
  uint firstChannel = (groupIndex() - index * CHUNKS) * GROUP_CHANNELS + gl_LocalInvocationID.x / PARTIAL_ROWS * CHANNELS;
  Block b = blockOf(p, index, 0u, PARTIAL_ROWS / FOLD, lane % FOLD);
  if (isVacant(b)) return;
  uint row = b.firstRow + lane / FOLD;

  float sink = firstMaximum(b);
  float maximum = sink;
  for (uint i = 0; i < p.splits; i++) {
    maximum = max(maximum, loadPartial(p, b, min(i, p.splits - 1u), lane, PARTIAL_MAXIMUM));
  }
  float reference = safeMaximum(maximum);
  float total = firstTotal(sink) * weightOf(sink, reference);
  float sums[CHANNELS];
  [[unroll]] for (uint d = 0; d < CHANNELS; d++) sums[d] = 0.0;
  for (uint i = 0; i < p.splits; i++) {
    uint part = min(i, p.splits - 1u);
    float weight = weightOf(loadPartial(p, b, part, lane, PARTIAL_MAXIMUM), reference);
    total = fma(loadPartial(p, b, part, lane, PARTIAL_TOTAL), weight, total);
    [[unroll]] for (uint d = 0; d < CHANNELS; d++) {
      sums[d] = fma(loadPartial(p, b, part, lane, min(firstChannel + d, HEAD_DIM_V - 1u)), weight, sums[d]);
    }
  }
  if (!ownsRow(b, lane)) return;

  bool empty = total == 0.0 || row >= b.seqlenQ;
  float inverse = 1.0 / total;
  Address outAddress = outRow(p, b, row);
  [[unroll]] for (uint d = 0; d < CHANNELS; d++) {
    if (firstChannel + d < HEAD_DIM_V) storeElement(outAddress, firstChannel + d, empty ? 0.0 : sums[d] * inverse);
  }
  if (LSE != 0 && firstChannel == 0u) storeLse(p, b, row, empty ? -kInfinity : logSumExp(maximum, total));
}
