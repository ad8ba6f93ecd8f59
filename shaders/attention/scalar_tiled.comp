#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention for GPUs without matrix units: tiles in shared memory, register blocks, no subgroup operations.
//
// 128 invocations form 8 rows x 16 columns. They compute 32 query rows against KEYS keys at a time:
//
//   scores   invocation (y, x) owns rows 4y .. 4y+3 and keys x, x+16, ...; Q and K are staged CHANNELS channels at a time
//   softmax  four invocations share a row, a quarter of the keys each; each keeps its own part of the row's sum
//   P V      invocation (y, x) owns rows 4y .. 4y+3 and channels x, x+16, ...; V is staged CHANNELS channels at a time
//
// A hidden key has weight -1 in shared memory, so that its value is skipped and not multiplied by 0.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"

const uint ROWS = 32;
const uint COLUMNS = 16;                            // invocations along keys and channels
const uint ROWS_EACH = 4;                           // rows of an invocation
const uint KEYS_EACH = KEYS / COLUMNS;              // keys of an invocation
const uint SHARERS = 4;                             // invocations that share a row's softmax
const uint CHUNKS_QK = (HEAD_DIM_QK + CHANNELS - 1) / CHANNELS;
const uint CHUNKS_V = (HEAD_DIM_V + CHANNELS - 1) / CHANNELS;
const uint CHANNELS_EACH = CHANNELS / COLUMNS;      // channels of an invocation, per chunk
const uint PITCH = CHANNELS + 1;                    // an odd pitch spreads a column over all banks
const uint SCORE_PITCH = KEYS + 1;
const float kHiddenWeight = -1.0;

shared float qTile[ROWS * PITCH];
shared float kvTile[KEYS * PITCH];
shared float scores[ROWS * SCORE_PITCH];            // scores, then weights
shared float rowPart[SHARERS * ROWS];               // maxima, then sums, of a quarter of a row
shared float rowCorrection[ROWS];
shared uint anyHidden;

// Copies CHANNELS channels of `rowCount` rows into shared memory, from row `firstRow` on; outside the tensor: 0. rowAddress is an
// expression in r, the row.
#define STAGE(tile, firstRow, rowCount, rowEnd, rowAddress, firstChannel, channelEnd, factor)           \
  for (uint i = gl_LocalInvocationIndex; i < rowCount * CHANNELS; i += LOCAL_SIZE) {                    \
    uint r = firstRow + i / CHANNELS, c = i % CHANNELS;                                                 \
    float x = 0.0;                                                                                      \
    if (r < rowEnd && firstChannel + c < channelEnd) x = loadElement(rowAddress, firstChannel + c);     \
    tile[i / CHANNELS * PITCH + c] = x * factor;                                                        \
  }

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), 0u, ROWS, 0u);
  if (isVacant(b)) return;
  uint lane = gl_LocalInvocationIndex;
  uint y = lane / COLUMNS, x = lane % COLUMNS;
  uint sharedRow = lane / SHARERS, sharer = lane % SHARERS;

  float sums[CHUNKS_V * ROWS_EACH * CHANNELS_EACH];
  [[unroll]] for (uint i = 0; i < CHUNKS_V * ROWS_EACH * CHANNELS_EACH; i++) sums[i] = 0.0;
  float maximum = firstMaximum(b);                            // of row sharedRow
  float total = sharer == 0u ? firstTotal(maximum) : 0.0;     // of row sharedRow, this invocation's quarter

  uint keysEnd = HAS_KEYS != 0 ? b.keysEnd : 0u;
  for (uint first = b.keysBegin; first < keysEnd; first += KEYS) {
    if (lane == 0u) anyHidden = 0u;
    float s[ROWS_EACH * KEYS_EACH];
    [[unroll]] for (uint i = 0; i < ROWS_EACH * KEYS_EACH; i++) s[i] = 0.0;
    for (uint chunk = 0; chunk < CHUNKS_QK; chunk++) {
      uint channel = chunk * CHANNELS;
      barrier();
      if (CHUNKS_QK > 1u || first == b.keysBegin) {
        STAGE(qTile, b.firstRow, ROWS, b.rowLimit, queryRow(p, b, r), channel, HEAD_DIM_QK, p.scale)
      }
      STAGE(kvTile, first, KEYS, b.seqlenK, keyRowOfK(p, b, r), channel, HEAD_DIM_QK, 1.0)
      barrier();
      for (uint c = 0; c < CHANNELS; c++) {
        float k[KEYS_EACH];
        [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) k[j] = kvTile[(x + j * COLUMNS) * PITCH + c];
        [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
          float q = qTile[(y * ROWS_EACH + r) * PITCH + c];
          [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
            s[r * KEYS_EACH + j] = fma(q, k[j], s[r * KEYS_EACH + j]);
          }
        }
      }
    }

    bool plain = isPlain(b, first, KEYS);
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
      [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
        uint row = y * ROWS_EACH + r, key = x + j * COLUMNS;
        float score = s[r * KEYS_EACH + j];
        if (!plain) score = finalScore(p, b, b.firstRow + row, first + key, score);
        scores[row * SCORE_PITCH + key] = score;
      }
    }
    barrier();

    float largest = -kInfinity;
    for (uint j = sharer; j < KEYS; j += SHARERS) largest = max(largest, scores[sharedRow * SCORE_PITCH + j]);
    rowPart[sharer * ROWS + sharedRow] = largest;
    barrier();
    largest = maximum;
    [[unroll]] for (uint i = 0; i < SHARERS; i++) largest = max(largest, rowPart[i * ROWS + sharedRow]);
    float reference = safeMaximum(largest);
    float correction = weightOf(maximum, reference);
    maximum = largest;
    float partial = 0.0;
    for (uint j = sharer; j < KEYS; j += SHARERS) {
      float score = scores[sharedRow * SCORE_PITCH + j];
      bool hidden = score == -kInfinity;
      float weight = weightOf(score, reference);
      partial += weight;
      scores[sharedRow * SCORE_PITCH + j] = hidden ? kHiddenWeight : weight;
      if (hidden) anyHidden = 1u;
    }
    total = fma(total, correction, partial);
    if (sharer == 0u) rowCorrection[sharedRow] = correction;

    [[unroll]] for (uint chunk = 0; chunk < CHUNKS_V; chunk++) {
      uint channel = chunk * CHANNELS;
      barrier();
      STAGE(kvTile, first, KEYS, b.seqlenK, keyRowOfV(p, b, r), channel, HEAD_DIM_V, 1.0)
      barrier();
      bool careful = anyHidden != 0u;
      float o[ROWS_EACH * CHANNELS_EACH];
      [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
        float factor = rowCorrection[y * ROWS_EACH + r];
        [[unroll]] for (uint c = 0; c < CHANNELS_EACH; c++) {
          o[r * CHANNELS_EACH + c] = sums[(chunk * ROWS_EACH + r) * CHANNELS_EACH + c] * factor;
        }
      }
      for (uint j = 0; j < KEYS; j++) {
        float v[CHANNELS_EACH];
        [[unroll]] for (uint c = 0; c < CHANNELS_EACH; c++) v[c] = kvTile[j * PITCH + x + c * COLUMNS];
        [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
          float weight = scores[(y * ROWS_EACH + r) * SCORE_PITCH + j];
          bool take = !careful || weight != kHiddenWeight;
          [[unroll]] for (uint c = 0; c < CHANNELS_EACH; c++) {
            float sum = o[r * CHANNELS_EACH + c];
            o[r * CHANNELS_EACH + c] = take ? fma(weight, v[c], sum) : sum;
          }
        }
      }
      [[unroll]] for (uint i = 0; i < ROWS_EACH * CHANNELS_EACH; i++) sums[chunk * ROWS_EACH * CHANNELS_EACH + i] = o[i];
    }
    barrier();
  }

  rowPart[sharer * ROWS + sharedRow] = total;
  barrier();
  float rowTotal = 0.0;
  [[unroll]] for (uint i = 0; i < SHARERS; i++) rowTotal += rowPart[i * ROWS + sharedRow];
  uint row = b.firstRow + sharedRow;
  // A visible key, or the sink, has weight 1 somewhere in the row, so a sum of 0 means that the row saw none.
  bool empty = rowTotal == 0.0 || row >= b.seqlenQ;
  if (sharer == 0u) {
    // 0 marks an empty row: the reciprocal of a sum is never 0, because a sum is at most the number of keys and the sink.
    rowCorrection[sharedRow] = empty ? 0.0 : 1.0 / rowTotal;
    if (LSE != 0 && row < b.rowLimit) storeLse(p, b, row, empty ? -kInfinity : logSumExp(maximum, rowTotal));
  }
  barrier();
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    uint ownRow = b.firstRow + y * ROWS_EACH + r;
    float inverse = rowCorrection[y * ROWS_EACH + r];
    Address outAddress = outRow(p, b, ownRow);
    [[unroll]] for (uint chunk = 0; chunk < CHUNKS_V; chunk++) {
      [[unroll]] for (uint c = 0; c < CHANNELS_EACH; c++) {
        uint d = chunk * CHANNELS + x + c * COLUMNS;
        float sum = sums[(chunk * ROWS_EACH + r) * CHANNELS_EACH + c];
        if (ownRow < b.rowLimit && d < HEAD_DIM_V) storeElement(outAddress, d, inverse == 0.0 ? 0.0 : sum * inverse);
      }
    }
  }
}
