#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention for GPUs without matrix units whose reads of shared memory take longer than their products. docs/kernels.md draws it.
//
// COLUMNS neighbours of a subgroup form a line, and LINES lines the subgroup. A line reads COLUMNS query rows, one to an invocation,
// and hands them round: the r-th row of an invocation is the own one of its r-th neighbour. Products read a neighbour's register by
// themselves where a device can do that (AMD's DPP), so that a piece read from shared memory serves COLUMNS rows.
//
//   scores   the subgroup has COLUMNS rows and COLUMNS keys at a time, one key to an invocation; a line has every LINES-th piece of
//            their channels. The lines then add up theirs: EACH rows of its key are left to an invocation
//   softmax  each invocation has the maximum of its own row, over a line by rotation, over the lines by shuffles
//   P V      each invocation has all COLUMNS rows and WIDTH channels, and goes over the subgroup's keys
//
// TEAM subgroups share rows, each with keys of its own in every tile; in the end the first of them merges what they have.
//
// K and V take turns in one place. Q, K, V and weights are fp32 in shared memory. The two loops over tiles, and the weight -0 of hidden
// keys, are those of scalar_tiled.comp.

#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_rotate : require
#define WIDE 1
#include "attention.glsl"
#include "pieces.glsl"

layout(constant_id = SPEC_SUBGROUP) const uint SUBGROUP = 8;
layout(constant_id = SPEC_TEAM) const uint TEAM = 1;
layout(constant_id = SPEC_ROLLED) const uint ROLLED = 0;

const uint LINES = SUBGROUP / COLUMNS;  // at most COLUMNS
const uint EACH = COLUMNS / LINES;
const uint SUBGROUPS = LOCAL_SIZE / SUBGROUP;
const uint ROWS = SUBGROUPS / TEAM * COLUMNS;
const uint SLICES = KEYS / (COLUMNS * TEAM);  // of COLUMNS keys each, that a subgroup has of a tile
const uint CHUNKS_QK = 1, CHUNKS_V = 1;
const uint PIECES_QK = (HEAD_DIM_QK + 3) / 4;
const uint PIECES_V = (HEAD_DIM_V + 3) / 4;
const bool UNITS_ALONE = ROLLED == 0;
const uint AT_A_TIME = ROLLED != 0 ? LINES : PIECES_QK;  // of pieces, in the code of an iteration
const uint WIDTH = HEAD_DIM_V == 0 ? 1 : (HEAD_DIM_V + SUBGROUP - 1) / SUBGROUP;
const uint REACH = (HEAD_DIM_V + WIDTH - 1) / WIDTH * WIDTH;  // channels read of a row of V
const uint WIDEST_V = REACH > 4 * PIECES_V ? REACH : 4 * PIECES_V;
const uint WIDEST = WIDEST_V > 4 * PIECES_QK ? WIDEST_V : 4 * PIECES_QK;
const uint PIECES = (WIDEST + 7) / 8 * 2;
const uint PITCH = PIECES + 1;  // odd: what neighbours read lies in different banks
const uint WEIGHT_PITCH = SLICES * COLUMNS + 4;

shared float qTile[ROWS * PITCH * 4];  // in the end also what a subgroup of a team hands on
shared float kvTile[KEYS * PITCH * 4];
shared float weights[SUBGROUPS * COLUMNS * WEIGHT_PITCH];
shared uint flag;

uint lane, inSubgroup;
uint x, line;      // place in the line, and the line
uint own;          // the invocation's own row of the subgroup's
uint rowBase;      // the subgroup's first row in the tile
uint keyBase;      // ... and key
uint partners[5];  // invocations with the same own row, 1, 2, 4, ... lines further
float s[SLICES * EACH];
float sums[COLUMNS * WIDTH];
float maximum;  // of the own row
float total;    // of its weights, this line's part

#define PUT_PIECE(tile, at, piece)                                                   \
  {                                                                                  \
    vec4 put = piece;                                                                \
    [[unroll]] for (uint e = 0; e < 4; e++) tile[4 * (at) + e] = put[e];             \
  }
#define PIECE_AT(tile, at) vec4(tile[at], tile[(at) + 1], tile[(at) + 2], tile[(at) + 3])
#include "staging.glsl"

// The value of the r-th neighbour in the line.
#define OF_NEIGHBOUR(value, r)                                                                                       \
  ((r) % COLUMNS == 0 ? (value)                                                                                      \
   : COLUMNS == 4     ? subgroupClusteredRotate(value, (r) % COLUMNS, 4)                                             \
   : COLUMNS == 8     ? subgroupClusteredRotate(value, (r) % COLUMNS, 8)                                             \
                      : subgroupClusteredRotate(value, (r) % COLUMNS, 16))
uint rowOf(uint r) { return (own + r) % COLUMNS; }

void findPlace() {
  inSubgroup = gl_SubgroupInvocationID;
  lane = gl_SubgroupID * SUBGROUP + inSubgroup;
  x = inSubgroup % COLUMNS;
  line = inSubgroup / COLUMNS;
  // So the EACH scores that a line is left with are those of its first rows, whichever line it is.
  own = (x + EACH * line) % COLUMNS;
  rowBase = gl_SubgroupID / TEAM * COLUMNS;
  keyBase = gl_SubgroupID % TEAM * (SLICES * COLUMNS);
  [[unroll]] for (uint i = 0; 1u << i < LINES; i++) {
    partners[i] = (line + (1u << i)) % LINES * COLUMNS + (x + COLUMNS - EACH * (1u << i)) % COLUMNS;
  }
}

float maxOverLines(float value) {
  [[unroll]] for (uint i = 0; 1u << i < LINES; i++) value = max(value, subgroupShuffle(value, partners[i]));
  return value;
}

float sumOverLines(float value) {
  [[unroll]] for (uint i = 0; 1u << i < LINES; i++) value += subgroupShuffle(value, partners[i]);
  return value;
}

// ---- Products

// Scores of a slice of the keys. The own row comes last: until then its piece is in registers, where the products of the others
// find it.
void addProducts(uint slice) {
  float part[COLUMNS];
  [[unroll]] for (uint r = 0; r < COLUMNS; r++) part[r] = 0.0;
  uint qAt = ((rowBase + own) * PITCH + line) * 4, kAt = ((keyBase + slice * COLUMNS + x) * PITCH + line) * 4;
  for (uint begin = 0; begin < PIECES_QK; begin += AT_A_TIME) {
    [[unroll]] for (uint c = 0; c < AT_A_TIME; c += LINES) {
      vec4 k = PIECE_AT(kvTile, kAt + 4 * (begin + c)), q = PIECE_AT(qTile, qAt + 4 * (begin + c));
      if (PIECES_QK % LINES != 0 && begin + c + line >= PIECES_QK) k = q = vec4(0.0);
      [[unroll]] for (uint n = 0; n < COLUMNS; n++) {
        uint r = COLUMNS - 1 - n;
        [[unroll]] for (uint i = 0; i < 4; i++) part[r] = OF_NEIGHBOUR(q[i], r) * k[i] + part[r];
      }
    }
  }
  [[unroll]] for (uint r = 0; r < EACH; r++) {
    float sum = part[r];
    [[unroll]] for (uint n = 1; n < LINES; n++) sum += subgroupRotate(part[(r + COLUMNS - EACH * n) % COLUMNS], n * COLUMNS);
    s[slice * EACH + r] = sum;
  }
}

// Of all slices. What one has rotated is of no use to the next, which compilers shall not find out by themselves and keep it.
void addAllProducts() {
  [[unroll]] for (uint slice = 0; slice < SLICES; slice++) {
    if (slice > 0) subgroupMemoryBarrierShared();
    addProducts(slice);
  }
}

// Adds the products of the weights and V to the sums; hidden keys, of weight -0, only if `all`.
#define ADD_VALUES(all)                                                                                                   \
  uint weightAt = (gl_SubgroupID * COLUMNS + own) * WEIGHT_PITCH;                                                         \
  uint vAt = keyBase * (4 * PITCH) + (inSubgroup * WIDTH < HEAD_DIM_V ? inSubgroup * WIDTH : 0u);                         \
  for (uint slice = 0; slice < SLICES; slice++) {                                                                         \
    [[unroll]] for (uint t = 0; t < COLUMNS; t += 4) {                                                                    \
      vec4 w = PIECE_AT(weights, weightAt + t);                                                                           \
      [[unroll]] for (uint i = 0; i < 4; i++) {                                                                           \
        float v[WIDTH];                                                                                                   \
        [[unroll]] for (uint c = 0; c < WIDTH; c++) v[c] = kvTile[vAt + (t + i) * (4 * PITCH) + c];                       \
        [[unroll]] for (uint n = 0; n < COLUMNS; n++) {                                                                   \
          uint r = COLUMNS - 1 - n;                                                                                       \
          float weight = OF_NEIGHBOUR(w[i], r);                                                                           \
          [[unroll]] for (uint c = 0; c < WIDTH; c++) {                                                                   \
            uint at = r * WIDTH + c;                                                                                      \
            sums[at] = all || floatBitsToInt(weight) >= 0 ? weight * v[c] + sums[at] : sums[at];                          \
          }                                                                                                               \
        }                                                                                                                 \
      }                                                                                                                   \
    }                                                                                                                     \
    weightAt += COLUMNS;                                                                                                  \
    vAt += COLUMNS * (4 * PITCH);                                                                                         \
  }
void addValues() { ADD_VALUES(true) }
void addVisibleValues() { ADD_VALUES(false) }

// ---- Statistics

void rescale(float factor) {
  total *= factor;
  [[unroll]] for (uint r = 0; r < COLUMNS; r++) {
    [[unroll]] for (uint c = 0; c < WIDTH; c++) sums[r * WIDTH + c] *= OF_NEIGHBOUR(factor, r);
  }
}

// The largest score of the own row.
float largestScore() {
  float largest;
  [[unroll]] for (uint r = 0; r < EACH; r++) {
    float ofRow = s[r];
    [[unroll]] for (uint slice = 1; slice < SLICES; slice++) ofRow = max(ofRow, s[slice * EACH + r]);
    if (r == 0) largest = ofRow;
    else largest = max(largest, OF_NEIGHBOUR(ofRow, COLUMNS - r));
  }
  return maxOverLines(largest);
}

// The weights go to shared memory and into the sums of weights.
void putWeights() {
  [[unroll]] for (uint r = 0; r < EACH; r++) {
    float ofRow = 0.0;
    [[unroll]] for (uint slice = 0; slice < SLICES; slice++) {
      float weight = s[slice * EACH + r];
      weights[(gl_SubgroupID * COLUMNS + rowOf(r)) * WEIGHT_PITCH + slice * COLUMNS + x] = weight;
      ofRow += weight;
    }
    total += OF_NEIGHBOUR(ofRow, COLUMNS - r);
  }
}

void start(const Block b) {
  [[unroll]] for (uint i = 0; i < COLUMNS * WIDTH; i++) sums[i] = 0.0;
  maximum = firstMaximum(b);
  total = line == 0u && keyBase == 0u ? firstTotal(maximum) : 0.0;
}

// Adds the tiles of which every row sees every key, from key `begin` to key `end`. False if a score was not finite: the results are
// of no use then. The same arithmetic in the same order, however K and V lie in memory.
bool addWholeTiles(const AttentionParams p, const Block b, uint begin, uint end, float scale, bool aligned) {
  uint kStride = p.kStrideT * ELEMENT_BYTES, vStride = p.vStrideT * ELEMENT_BYTES;
  uint kOffset = firstUnit(PIECES_QK, kStride), vOffset = firstUnit(PIECES_V, vStride);
  float factor = scale * kLog2E, lowest = 0.0;
  maximum *= kLog2E;
  for (uint first = begin; first < end; first += KEYS) {
    barrier();
    if (aligned) STAGE_WHOLE(PIECES_QK, keyRowOfK(p, b, first), kStride, kOffset, keyRowOfK(p, b, first + row))
    else stageK(p, b, first, 0u, false);
    barrier();
    addAllProducts();
    [[unroll]] for (uint i = 0; i < SLICES * EACH; i++) lowest = min(lowest, s[i]);
    float reference = max(maximum, largestScore() * factor);
    rescale(exp2(maximum - reference));
    maximum = reference;
    [[unroll]] for (uint i = 0; i < SLICES * EACH; i++) s[i] = exp2(fma(s[i], factor, -OF_NEIGHBOUR(reference, i % EACH)));
    putWeights();
    barrier();
    if (aligned) STAGE_WHOLE(PIECES_V, keyRowOfV(p, b, first), vStride, vOffset, keyRowOfV(p, b, first + row))
    else stageV(p, b, first, 0u, false);
    barrier();
    addValues();
  }
  // From here on the reference is the natural maximum itself. log2(e) is kLog2E and a remainder.
  float natural = maximum / kLog2E;
  bool ordinary = lowest * factor > -1e30 && !(abs(maximum) > 1e30);
  rescale(exp2(fma(-natural, kLog2E, maximum) - natural * 1.925963033500012e-8));
  maximum = natural;
  return ordinary;
}

// A tile of which some rows do not see some keys, or whose scores are not final as they are.
void addTile(const AttentionParams p, const Block b, uint first, float scale, bool aligned) {
  barrier();
  if (lane == 0u) flag = 0u;
  stageK(p, b, first, 0u, aligned);
  barrier();
  addAllProducts();
  bool plain = isPlain(b, first, KEYS);
  [[unroll]] for (uint slice = 0; slice < SLICES; slice++) {
    uint key = first + keyBase + slice * COLUMNS + x;
    float keyScale = K_SCALE != 0 ? scale * keyScaleOfK(p, b, key) : scale;
    [[unroll]] for (uint r = 0; r < EACH; r++) {
      float score = s[slice * EACH + r] * keyScale;
      s[slice * EACH + r] = plain ? score : finalScore(p, b, b.firstRow + rowBase + rowOf(r), key, score);
    }
  }
  float largest = max(maximum, largestScore());
  float reference = safeMaximum(largest);
  rescale(weightOf(maximum, reference));
  maximum = largest;
  [[unroll]] for (uint i = 0; i < SLICES * EACH; i++) {
    float ofRow = OF_NEIGHBOUR(reference, i % EACH);
    s[i] = s[i] == -kInfinity ? -0.0 : weightOf(s[i], ofRow);
  }
  putWeights();
  barrier();
  stageV(p, b, first, 0u, aligned);
  barrier();
  if (flag != 0u) addVisibleValues();
  else addValues();
}

// The first subgroup of a team takes what the others have of its rows, one after the other.
void mergeTeam() {
  uint member = gl_SubgroupID % TEAM;
  for (uint from = 1u; from < TEAM; from++) {
    barrier();
    if (member == from) {
      [[unroll]] for (uint r = 0; r < COLUMNS; r++) {
        uint at = (rowBase + rowOf(r)) * (4 * PITCH) + inSubgroup * WIDTH;
        [[unroll]] for (uint c = 0; c < WIDTH; c++) {
          if (inSubgroup * WIDTH < HEAD_DIM_V) qTile[at + c] = sums[r * WIDTH + c];
        }
      }
      if (line == 0u) {
        qTile[(rowBase + own) * (4 * PITCH) + 4 * PIECES] = maximum;
        qTile[(rowBase + own) * (4 * PITCH) + 4 * PIECES + 1] = total;
      }
    }
    barrier();
    if (member != 0u) continue;
    uint ownAt = (rowBase + own) * (4 * PITCH) + 4 * PIECES;
    float itsMaximum = qTile[ownAt], itsTotal = qTile[ownAt + 1];
    float largest = max(maximum, itsMaximum), reference = safeMaximum(largest);
    float itsFactor = weightOf(itsMaximum, reference);
    rescale(weightOf(maximum, reference));
    maximum = largest;
    total += itsTotal * itsFactor;
    [[unroll]] for (uint r = 0; r < COLUMNS; r++) {
      uint at = (rowBase + rowOf(r)) * (4 * PITCH) + (inSubgroup * WIDTH < HEAD_DIM_V ? inSubgroup * WIDTH : 0u);
      float factor = OF_NEIGHBOUR(itsFactor, r);
      [[unroll]] for (uint c = 0; c < WIDTH; c++) sums[r * WIDTH + c] += qTile[at + c] * factor;
    }
  }
}

void finish(const AttentionParams p, const Block b) {
  total = sumOverLines(total);
  if (TEAM > 1) mergeTeam();
  if (TEAM > 1 && gl_SubgroupID % TEAM != 0u) return;
  [[unroll]] for (uint r = 0; r < COLUMNS; r++) {
    uint row = b.firstRow + rowBase + rowOf(r);
    float rowTotal = OF_NEIGHBOUR(total, r), rowMaximum = OF_NEIGHBOUR(maximum, r);
    if (row >= b.rowLimit) continue;
    // A visible key, or the sink, has weight 1 somewhere in the row, so a sum of 0 means that the row saw none.
    bool empty = rowTotal == 0.0 || row >= b.seqlenQ;
    if (LSE != 0 && r == 0 && line == 0u) storeLse(p, b, row, empty ? -kInfinity : logSumExp(rowMaximum, rowTotal));
    float inverse = 1.0 / rowTotal;
    Address outAddress = outRow(p, b, row);
    [[unroll]] for (uint c = 0; c < WIDTH; c++) {
      uint channel = inSubgroup * WIDTH + c;
      if (channel < HEAD_DIM_V) storeElement(outAddress, channel, empty ? 0.0 : sums[r * WIDTH + c] * inverse);
    }
  }
}

#include "tile_loops.glsl"
