#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention for GPUs without matrix units: tiles in shared memory, blocks of scores and of sums in registers. docs/kernels.md draws it.
//
// LOCAL_SIZE invocations form lines of COLUMNS neighbours; neighbours share ROWS_EACH query rows:
//
//   scores   invocation (y, x) has rows y * ROWS_EACH + 0, 1, ... and keys x, x + COLUMNS, ... of a tile of KEYS keys
//   softmax  maxima over the neighbours; a row's sum of weights stays in parts, one per neighbour, until the end
//   P V      invocation (y, x) has the same rows and pieces x, x + COLUMNS, ... of four channels each
//
// Q, K, V and the weights stand in shared memory in pieces (pieces.glsl); K and V take turns in one place. An invocation writes the
// weights of its keys side by side, so that column x * KEYS_EACH + j of the weights is key x + j * COLUMNS. What neighbours read of
// Q and of the weights is the same.
//
// There are two loops, see tile_loops.glsl: that over whole tiles has no test of visibility in it, and powers of 2. In the other a hidden
// key has weight -0, which a finite value turns into nothing, and tiles with NaN or infinity in V look at that sign.

#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"
#include "pieces.glsl"

const uint ROWS = LOCAL_SIZE / COLUMNS * ROWS_EACH;
const uint KEYS_EACH = KEYS / COLUMNS;  // a multiple of four
const uint PIECES = CHANNELS / 4;       // of a row, staged at a time; a multiple of COLUMNS
const uint PIECES_EACH = (PIECES + COLUMNS - 1) / COLUMNS;
const uint CHUNKS_QK = (HEAD_DIM_QK + CHANNELS - 1) / CHANNELS;
const uint CHUNKS_V = (HEAD_DIM_V + CHANNELS - 1) / CHANNELS;
const uint PIECES_QK = CHUNKS_QK > 1 ? PIECES : (HEAD_DIM_QK + 3) / 4;  // of a chunk; past the head dim they are 0
const uint PIECES_V = CHUNKS_V > 1 ? PIECES : (HEAD_DIM_V + 3) / 4;
// Whole tiles that can be read by units have a loop to themselves. Small blocks belong to devices with fewer registers, for which one
// loop is better than two.
const bool UNITS_ALONE = ROWS_EACH >= 8;
const uint PITCH = PIECES + 1;  // odd: what neighbours read lies in different banks
const uint WEIGHT_PITCH = KEYS / 4 + 1;
const uint PARTS = ROWS * COLUMNS * (1 - SUBGROUP_ROWS) + 1;

shared Piece qTile[ROWS * PITCH];
shared Piece kvTile[KEYS * PITCH];
shared Piece weights[ROWS * WEIGHT_PITCH];
shared float parts[PARTS];  // where neighbours can't exchange values by subgroup operations
shared uint flag;

uint lane, x, y;
float s[ROWS_EACH * KEYS_EACH];
vec4 sums[CHUNKS_V * PIECES_EACH * ROWS_EACH];
float maximum[ROWS_EACH];
float total[ROWS_EACH];       // of the weights as they are multiplied; this invocation's part
float exactTotal[ROWS_EACH];  // the same before they were rounded, for the log-sum-exp

// ---- Values of a row, combined over its neighbours: by subgroup operations where neighbours lie in one subgroup, else through
// shared memory.

#if NATIVE
#define OVER_NEIGHBOURS(operation, value) \
  (COLUMNS == 8 ? operation(value, 8) : COLUMNS == 16 ? operation(value, 16) : operation(value, 32))
#else
#define OVER_NEIGHBOURS(operation, value) (value)
#endif

#define COMBINE(name, operation, subgroupOperation)                                                                     \
  void name(inout float values[ROWS_EACH]) {                                                                            \
    if (SUBGROUP_ROWS != 0) {                                                                                           \
      [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) values[r] = OVER_NEIGHBOURS(subgroupOperation, values[r]);        \
      return;                                                                                                           \
    }                                                                                                                   \
    barrier();                                                                                                          \
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) parts[(y * ROWS_EACH + r) * COLUMNS + x] = values[r];               \
    barrier();                                                                                                          \
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {                                                                   \
      values[r] = parts[(y * ROWS_EACH + r) * COLUMNS];                                                                 \
      for (uint i = 1; i < COLUMNS; i++) values[r] = operation(values[r], parts[(y * ROWS_EACH + r) * COLUMNS + i]);    \
    }                                                                                                                   \
  }
float added(float a, float b) { return a + b; }
COMBINE(maxOverNeighbours, max, subgroupClusteredMax)
COMBINE(sumOverNeighbours, added, subgroupClusteredAdd)

#define PUT_PIECE(tile, at, piece) tile[at] = piece
#include "staging.glsl"

// ---- Products

#define READ_ROWS(rows, tile, at, pitch) \
  vec4 rows[ROWS_EACH];                  \
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) rows[r] = widened(tile[at + r * pitch]);

// Products in the code of an iteration, if the sizes allow. Small blocks belong to devices whose registers would not hold what a
// compiler loads ahead; one row each to CPU devices, which compile slowly.
const uint PRODUCTS = ROWS_EACH < 8 ? 64 : 1024;
const uint ALLOWED_QK = PRODUCTS / (4 * ROWS_EACH * KEYS_EACH);
const uint ALLOWED_V = PRODUCTS / (4 * ROWS_EACH * KEYS_EACH * PIECES_EACH);
#define IF_ALLOWED(n, size, allowed, otherwise) (n <= allowed ? (size % n == 0 ? n : otherwise) : otherwise)
const uint UNROLL_QK_2 = IF_ALLOWED(2, PIECES_QK, ALLOWED_QK, 1);
const uint UNROLL_QK_4 = IF_ALLOWED(4, PIECES_QK, ALLOWED_QK, UNROLL_QK_2);
const uint UNROLL_QK = IF_ALLOWED(8, PIECES_QK, ALLOWED_QK, UNROLL_QK_4);
const uint UNROLL_V_2 = IF_ALLOWED(2, COLUMNS, ALLOWED_V, 1);
const uint UNROLL_V_4 = IF_ALLOWED(4, COLUMNS, ALLOWED_V, UNROLL_V_2);
const uint UNROLL_V = IF_ALLOWED(8, COLUMNS, ALLOWED_V, UNROLL_V_4);

// Adds the products of a chunk of Q and K to the scores.
void addProducts() {
  uint qAt = y * (ROWS_EACH * PITCH), kAt = x * PITCH;
  for (uint c = 0; c < PIECES_QK; c += UNROLL_QK) {
    [[unroll]] for (uint u = 0; u < UNROLL_QK; u++) {
      Piece k[KEYS_EACH];
      [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) k[j] = kvTile[kAt + c + (j * COLUMNS * PITCH + u)];
      READ_ROWS(q, qTile, qAt + c + u, PITCH)
      [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
        [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
          vec4 other = widened(k[j]);
          float score = s[r * KEYS_EACH + j];
          [[unroll]] for (uint i = 0; i < 4; i++) score = q[r][i] * other[i] + score;
          s[r * KEYS_EACH + j] = score;
        }
      }
    }
  }
}

// Adds the products of the weights and a chunk of V to the sums.
void addValues(uint chunk) {
  uint weightAt = y * (ROWS_EACH * WEIGHT_PITCH);
  for (uint t = 0; t < COLUMNS; t += UNROLL_V) {
    [[unroll]] for (uint c = 0; c < UNROLL_V * KEYS_EACH; c += 4) {
      READ_ROWS(w, weights, weightAt + t * KEYS_EACH / 4 + c / 4, WEIGHT_PITCH)
      [[unroll]] for (uint i = 0; i < 4; i++) {
        uint key = (c + i) / KEYS_EACH + (c + i) % KEYS_EACH * COLUMNS;  // from t on
        [[unroll]] for (uint n = 0; n < PIECES_EACH; n++) {
          vec4 v = widened(kvTile[x + t * PITCH + (key * PITCH + n * COLUMNS)]);
          [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
            uint at = (chunk * PIECES_EACH + n) * ROWS_EACH + r;
            sums[at] = vec4(w[r][i]) * v + sums[at];
          }
        }
      }
    }
  }
}

// The same of a tile in which V is not finite.
void addVisibleValues(uint chunk) {
  uint weightAt = y * (ROWS_EACH * WEIGHT_PITCH);
  [[dont_unroll]] for (uint c = 0; c < KEYS; c++) {
    uint key = c / KEYS_EACH + c % KEYS_EACH * COLUMNS;
    float w[ROWS_EACH];
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) w[r] = widened(weights[weightAt + c / 4 + r * WEIGHT_PITCH])[c % 4];
    [[unroll]] for (uint n = 0; n < PIECES_EACH; n++) {
      vec4 v = widened(kvTile[x + key * PITCH + n * COLUMNS]);
      [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
        uint at = (chunk * PIECES_EACH + n) * ROWS_EACH + r;
        sums[at] = floatBitsToInt(w[r]) < 0 ? sums[at] : vec4(w[r]) * v + sums[at];
      }
    }
  }
}

// ---- Statistics

// 2^x; NaN is handed on, see weightOf.
float powerOf2(float x) {
#if NATIVE
  return exp2(x);
#else
  return isNan(x) ? x : exp2(x);
#endif
}

void rescale(uint r, float factor) {
  total[r] *= factor;
  if (LSE != 0) exactTotal[r] *= factor;
  [[unroll]] for (uint i = 0; i < CHUNKS_V * PIECES_EACH; i++) sums[i * ROWS_EACH + r] *= factor;
}

// The weights of this invocation's keys of a row go to shared memory and into the sums of weights.
void putWeights(uint r) {
  [[unroll]] for (uint j = 0; j < KEYS_EACH; j += 4) {
    uint at = r * KEYS_EACH + j;
    vec4 w = vec4(s[at], s[at + 1], s[at + 2], s[at + 3]);
    Piece piece = narrowed(w);
    weights[y * (ROWS_EACH * WEIGHT_PITCH) + x * (KEYS_EACH / 4) + (r * WEIGHT_PITCH + j / 4)] = piece;
    if (LSE != 0) exactTotal[r] += (w.x + w.y) + (w.z + w.w);
    w = widened(piece);
    total[r] += (w.x + w.y) + (w.z + w.w);
  }
}

void findPlace() {
  lane = gl_LocalInvocationIndex;
#if NATIVE
  if (SUBGROUP_ROWS != 0) lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#endif
  x = lane % COLUMNS;
  y = lane / COLUMNS;
}

void start(const Block b) {
  [[unroll]] for (uint i = 0; i < CHUNKS_V * PIECES_EACH * ROWS_EACH; i++) sums[i] = vec4(0.0);
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    maximum[r] = firstMaximum(b);
    total[r] = exactTotal[r] = x == 0u ? firstTotal(maximum[r]) : 0.0;
  }
}

void clearScores() {
  [[unroll]] for (uint i = 0; i < ROWS_EACH * KEYS_EACH; i++) s[i] = 0.0;
}

// Adds the tiles of which every row sees every key, from key `begin` to key `end`. False if a score was not finite: the results are
// of no use then. The same arithmetic in the same order, however K and V lie in memory.
bool addWholeTiles(const AttentionParams p, const Block b, uint begin, uint end, float scale, bool aligned) {
  uint kStride = p.kStrideT * ELEMENT_BYTES, vStride = p.vStrideT * ELEMENT_BYTES;
  uint kOffset = firstUnit(PIECES_QK, kStride), vOffset = firstUnit(PIECES_V, vStride);
  float factor = scale * kLog2E, lowest = 0.0;
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) maximum[r] *= kLog2E;
  for (uint first = begin; first < end; first += KEYS) {
    barrier();
    if (aligned) STAGE_WHOLE(PIECES_QK, keyRowOfK(p, b, first), kStride, kOffset, keyRowOfK(p, b, first + row))
    else stageK(p, b, first, 0u, false);
    barrier();
    clearScores();
    addProducts();
    float largest[ROWS_EACH];
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
      largest[r] = s[r * KEYS_EACH];
      [[unroll]] for (uint j = 1; j < KEYS_EACH; j++) largest[r] = max(largest[r], s[r * KEYS_EACH + j]);
    }
    [[unroll]] for (uint i = 0; i < ROWS_EACH * KEYS_EACH; i++) lowest = min(lowest, s[i]);
    maxOverNeighbours(largest);
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
      float reference = max(maximum[r], largest[r] * factor);
      rescale(r, powerOf2(maximum[r] - reference));
      maximum[r] = reference;
      [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
        s[r * KEYS_EACH + j] = powerOf2(fma(s[r * KEYS_EACH + j], factor, -reference));
      }
      putWeights(r);
    }
    barrier();
    if (aligned) STAGE_WHOLE(PIECES_V, keyRowOfV(p, b, first), vStride, vOffset, keyRowOfV(p, b, first + row))
    else stageV(p, b, first, 0u, false);
    barrier();
    addValues(0u);
  }
  bool ordinary = lowest * factor > -1e30;
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    ordinary = ordinary && !(abs(maximum[r]) > 1e30);
    // From here on the reference is the natural maximum itself. log2(e) is kLog2E and a remainder.
    float natural = maximum[r] / kLog2E;
    rescale(r, powerOf2(fma(-natural, kLog2E, maximum[r]) - natural * 1.925963033500012e-8));
    maximum[r] = natural;
  }
  return ordinary;
}

// A tile of which some rows do not see some keys, or whose scores are not final as they are.
void addTile(const AttentionParams p, const Block b, uint first, float scale, bool aligned) {
  clearScores();
  for (uint chunk = 0; chunk < CHUNKS_QK; chunk++) {
    barrier();
    if (lane == 0u) flag = 0u;
    if (CHUNKS_QK > 1) stageQ(p, b, chunk, aligned);
    stageK(p, b, first, chunk, aligned);
    barrier();
    addProducts();
  }
  bool plain = isPlain(b, first, KEYS);
  float largest[ROWS_EACH];
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    largest[r] = maximum[r];
    [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
      uint at = r * KEYS_EACH + j;
      s[at] *= scale;
      if (K_SCALE != 0) s[at] *= keyScaleOfK(p, b, first + x + j * COLUMNS);
      if (!plain) s[at] = finalScore(p, b, b.firstRow + y * ROWS_EACH + r, first + x + j * COLUMNS, s[at]);
      largest[r] = max(largest[r], s[at]);
    }
  }
  maxOverNeighbours(largest);
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    float reference = safeMaximum(largest[r]);
    rescale(r, weightOf(maximum[r], reference));
    maximum[r] = largest[r];
    [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
      uint at = r * KEYS_EACH + j;
      s[at] = s[at] == -kInfinity ? -0.0 : weightOf(s[at], reference);
    }
    putWeights(r);
  }
  [[unroll]] for (uint chunk = 0; chunk < CHUNKS_V; chunk++) {
    barrier();
    stageV(p, b, first, chunk, aligned);
    barrier();
    if (flag != 0u) addVisibleValues(chunk);
    else addValues(chunk);
  }
}

void finish(const AttentionParams p, const Block b) {
  sumOverNeighbours(total);
  if (LSE != 0) sumOverNeighbours(exactTotal);
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    uint row = b.firstRow + y * ROWS_EACH + r;
    if (row >= b.rowLimit) continue;
    // A visible key, or the sink, has weight 1 somewhere in the row, so a sum of 0 means that the row saw none.
    bool empty = total[r] == 0.0 || row >= b.seqlenQ;
    if (LSE != 0 && x == 0u) storeLse(p, b, row, empty ? -kInfinity : logSumExp(maximum[r], exactTotal[r]));
    float inverse = 1.0 / total[r];
    Address outAddress = outRow(p, b, row);
    [[unroll]] for (uint i = 0; i < CHUNKS_V * PIECES_EACH; i++) {
      uint piece = i / PIECES_EACH * PIECES + i % PIECES_EACH * COLUMNS + x;
      [[unroll]] for (uint d = 0; d < 4; d++) {
        float value = sums[i * ROWS_EACH + r][d] * inverse;
        if (4 * piece + d < HEAD_DIM_V) storeElement(outAddress, 4 * piece + d, empty ? 0.0 : value);
      }
    }
  }
}

#include "tile_loops.glsl"
