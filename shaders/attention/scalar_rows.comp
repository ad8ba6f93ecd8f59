#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention, one query row per invocation. The row of Q and the row of sums live in registers; rows of K and V have
// one address for the whole subgroup, so that a CPU device reads each element once and broadcasts it.
//
// Keys are taken KEYS at a time: KEYS scores, one maximum, one rescaling, KEYS exponentials, then P V. Steps whose
// keys all rows of the work-group see ("plain") skip the tests of visibility; steps that hide a key select on each product, so
// that a NaN or infinity in a hidden value has no influence.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), LOCAL_SIZE);
  uint row = b.firstRow + gl_LocalInvocationID.x;
  uint safeRow = min(row, p.seqlenQ - 1u);

  float q[HEAD_DIM_QK];
  Address qRow = tensorAddress(push.buffers[BUFFER_Q],
                               b.batch * p.qStrideB + b.head * p.qStrideH + safeRow * p.qStrideT);
  [[unroll]] for (uint d = 0; d < HEAD_DIM_QK; d++) q[d] = loadElement(qRow, d) * p.scale;

  float sums[HEAD_DIM_V];
  [[unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) sums[d] = 0.0;
  float maximum = -kInfinity;
  float total = 0.0;

  if (HAS_KEYS != 0) {
    Address kBase = tensorAddress(push.buffers[BUFFER_K], b.batch * p.kStrideB + b.headKv * p.kStrideH);
    Address vBase = tensorAddress(push.buffers[BUFFER_V], b.batch * p.vStrideB + b.headKv * p.vStrideH);
    // Devices may execute a load with a uniform address although every invocation is switched off, so addresses
    // stay inside the tensor even past the last key.
    uint lastKey = p.seqlenK - 1u;

    for (uint first = 0; first < b.keysEnd; first += KEYS) {
      float s[KEYS];
      Address kRow[KEYS];
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        s[c] = 0.0;
        kRow[c] = tensorAddress(kBase, min(first + c, lastKey) * p.kStrideT);
      }
      [[unroll]] for (uint d0 = 0; d0 < HEAD_DIM_QK; d0 += 4) {
        [[unroll]] for (uint c = 0; c < KEYS; c++) {
          [[unroll]] for (uint d = d0; d < min(d0 + 4, HEAD_DIM_QK); d++) {
            s[c] = fma(q[d], loadElement(kRow[c], d), s[c]);
          }
        }
      }

      bool plain = first + KEYS <= b.plainEnd;
      if (!plain) {
        [[unroll]] for (uint c = 0; c < KEYS; c++) {
          s[c] = first + c <= lastKey ? finalScore(p, b, safeRow, min(first + c, lastKey), s[c]) : -kInfinity;
        }
      }
      float largest = maximum;
      float smallest = s[0];
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        largest = max(largest, s[c]);
        smallest = min(smallest, s[c]);
      }
      bool careful = !plain || anyInSubgroup(smallest == -kInfinity);

      float reference = safeMaximum(largest);
      float correction = weightOf(maximum, reference);
      maximum = largest;
      float weights[KEYS];
      float partial = 0.0;
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        weights[c] = weightOf(s[c], reference);
        partial += weights[c];
      }
      total = fma(total, correction, partial);

      Address vRow[KEYS];
      [[unroll]] for (uint c = 0; c < KEYS; c++) {
        vRow[c] = tensorAddress(vBase, min(first + c, lastKey) * p.vStrideT);
      }
      if (careful) {
        [[unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) {
          float sum = sums[d] * correction;
          [[unroll]] for (uint c = 0; c < KEYS; c++) {
            sum = s[c] == -kInfinity ? sum : fma(weights[c], loadElement(vRow[c], d), sum);
          }
          sums[d] = sum;
        }
      } else {
        [[unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) {
          float sum = sums[d] * correction;
          [[unroll]] for (uint c = 0; c < KEYS; c++) sum = fma(weights[c], loadElement(vRow[c], d), sum);
          sums[d] = sum;
        }
      }
    }
  }

  if (row >= p.seqlenQ) return;
  // A visible key has weight 1 somewhere in the row, so a total of 0 means that the row saw none.
  bool empty = total == 0.0 || row >= b.seqlenQ;
  float inverse = 1.0 / total;
  Address outRow = tensorAddress(push.buffers[BUFFER_OUT],
                                 b.batch * p.outStrideB + b.head * p.outStrideH + row * p.outStrideT);
  [[unroll]] for (uint d = 0; d < HEAD_DIM_V; d++) storeElement(outRow, d, empty ? 0.0 : sums[d] * inverse);
  if (LSE != 0) {
    uint element = b.batch * p.lseStrideB + b.head * p.lseStrideH + row * p.lseStrideT;
    FloatsOut(elementAddress(push.buffers[BUFFER_LSE], element, 4u)).v[0] =
        empty ? -kInfinity : maximum + log(total);
  }
}
