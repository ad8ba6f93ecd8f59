// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_MATRIX_STEPS_GLSL
#define SACCADE_MATRIX_STEPS_GLSL
// Steps of coopmat.comp over the keys of a tile, plain and careful ones, and what they keep from one to the next: sums, totals and
// references. In the order of the data: scores, plain steps, careful steps, values that are not finite. Those of teams, as far as they
// differ, are in matrix_team.glsl.

#include "matrix_weights.glsl"

layout(constant_id = SPEC_NATURAL) const uint NATURAL = 0;
layout(constant_id = SPEC_SHARED_Q) const uint SHARED_Q = 0;

const uint BLOCKS_Q = BLOCKS_QK * QUERY_TILES;           // matrices of Q
const uint BLOCKS_O = OWN_BLOCKS_V * QUERY_TILES;        // and of sums
const uint BLOCKS_HELD = SHARED_Q != 0 ? 1 : BLOCKS_Q;   // of Q, those in registers
const uint Q_ROWS = SHARED_Q != 0 ? ROWS : 1;
const uint STEPS = KEYS / STEP_KEYS;                     // of a tile
const uint MORE_ELEMENTS = MATRIX_M > MATRIX_N ? MATRIX_M : MATRIX_N;
const float THRESHOLD = 8.0;                             // weights are at most 2^8

shared uvec2 queryTile[Q_ROWS * K_PITCH];
// A reference per row: the largest score so far, or until lately; -inf: the row has seen no key. Scores are in units of 2^x relative to it,
// unless NATURAL.
shared float rowReferences[ROWS];
shared float rowFactors[TEAMS * MATRIX_N];
shared float rowParts[SUBGROUPS * SUBGROUP];
shared float numbers[MORE_ELEMENTS];                         // 0, 1, 2 ..
// What the work-group has to know of the tile.
shared uint someLeftOut;                                     // a subgroup has left out the rest of it
shared uint foundSpecial;                                    // it has a value that is not finite
shared uint anySpecial;                                      // so had a careful tile
shared uint specialTiles[2];                                 // so has the careful tile, or the next one, by their parity

MATRIX_B heldQueries[BLOCKS_HELD];
MATRIX_C sums[BLOCKS_O];
bool allSet;                          // every row of the subgroup has seen a key. Not of teams

// Of a block of keys of the tile, the d-th block of channels.
MATRIX_A keysAt(uint block, uint d) {
  MATRIX_A keys;
  coopMatLoad(keys, keyTile, block * MATRIX_M * K_PITCH + d * MATRIX_K / 4, K_PITCH, BY_ROW);
  return keys;
}

// Of MATRIX_K keys of the tile, the d-th block of the subgroup's own channels. `pitch` is V_PITCH, or computed anew.
MATRIX_A valuesAt(uint firstKey, uint d, uint pitch) {
  MATRIX_A values;
  coopMatLoad(values, valueTile, (member() * OWN_BLOCKS_V + d) * MATRIX_M * V_PITCH + firstKey / 4, pitch, BY_ROW);
  return values;
}

MATRIX_B queriesAt(uint t, uint d) {
  if (SHARED_Q == 0) return heldQueries[(t * BLOCKS_QK + d) % BLOCKS_HELD];
  MATRIX_B queries;
  coopMatLoad(queries, queryTile, firstReference(t) % Q_ROWS * K_PITCH + d * MATRIX_K / 4, K_PITCH, BY_COLUMN);
  return queries;
}

MATRIX_C referencesOf(uint t) {
  MATRIX_C references;
  coopMatLoad(references, rowReferences, firstReference(t), 0, BY_ROW);
  return references;
}

// What scores are relative to: of a row that has seen no key 0.
float originOf(float reference) { return reference == -kInfinity ? 0.0 : reference; }

// What a score may be above it: nothing, if the row has seen no key. A multiple of the reference that is too small to count, unless the
// reference is -inf: a condition would have to be held for each row, see docs/kernels.md.
float limitOf(float reference) { return fma(reference, 1.17549435e-38, THRESHOLD); }

// True if every row of the subgroup has seen a key.
bool seesKeys() {
  bool all = true;
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) all = all && rowReferences[rowOfBlock(t)] != -kInfinity;
  return subgroupAll(all);
}

// To the subgroup's scores of a step of all query tiles, the products of a block of channels.
void addScores(uint step, uint d, inout MATRIX_C s[BLOCKS_S]) {
  MATRIX_B queries[QUERY_TILES];
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) queries[t] = queriesAt(t, d);
  EACH_BLOCK(k, OWN_KEY_TILES, {
    MATRIX_A keys = keysAt(step * KEY_TILES + member() * OWN_KEY_TILES + k, d);
    [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
      s[k * QUERY_TILES + t] = coopMatMulAdd(keys, queries[t], s[k * QUERY_TILES + t]);
    }
  })
}

void addValues(MATRIX_B weights[BLOCKS_W], uint step, uint d) {
  EACH_BLOCK(k, BLOCKS_P, {
    MATRIX_A values = valuesAt(step * STEP_KEYS + k * MATRIX_K, d, V_PITCH);
    [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
      sums[t * OWN_BLOCKS_V + d] = coopMatMulAdd(values, weights[k * QUERY_TILES + t], sums[t * OWN_BLOCKS_V + d]);
    }
  })
}

// The values of one kind lie in the tile as 1: the sums of rows that see one become what it makes of them.
float isSeen(float score) { return uintBitsToFloat(floatBitsToUint(1.0) & ~largestIfHidden(score)); }
void addSpecial(MATRIX_C count, uint kind, inout MATRIX_C sum) {
  float value = kind == KIND_NAN ? uintBitsToFloat(0x7fc00000u) : kind == KIND_PLUS_INFINITY ? kInfinity : -kInfinity;
  EACH(i, count) {
    if (count[i] > 0.0) sum[i] += value;
  }
}

// The parameters, read again where registers are few.
AttentionParams readAnew(const AttentionParams p) {
  if (TEAM == 1) return p;
  return ParamsIn(push.params + zero).value;
}

#include "matrix_team.glsl"

// A step of a plain tile. False: a score is too large for the references, and nothing was added up.
bool plainStep(uint step, float factor) {
  computeAnew(0u);
  MATRIX_C s[BLOCKS_S];
  [[unroll]] for (uint i = 0; i < BLOCKS_S; i++) s[i] = MATRIX_C(0.0);
  EACH_BLOCK(d, BLOCKS_QK, addScores(step, d, s))
  computeAnew(1u);
  float largest = -kInfinity;
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    MATRIX_C references = referencesOf(t);
    [[unroll]] for (uint k = 0; k < OWN_KEY_TILES; k++) {
      EACH(i, references) {
        s[k * QUERY_TILES + t][i] = fma(s[k * QUERY_TILES + t][i], factor, -references[i]);
        largest = max(largest, s[k * QUERY_TILES + t][i]);
      }
    }
  }
  // Whatever the device makes of the maximum of NaN and a number: neither is missed.
  bool tooLarge = subgroupAny(!(largest <= THRESHOLD));
  if (TEAM > 1) return teamStep(s, step, !tooLarge && seesKeys());
  if (tooLarge) return false;

  weigh(s, totals, false);
  MATRIX_B weights[BLOCKS_W];
  operandsOf(s, weights);
  EACH_BLOCK(d, OWN_BLOCKS_V, addValues(weights, step, d))
  return true;
}

// What hides keys and changes scores, of a query tile. `firstKey` is that of the step.
#if MATRIX2
Block scoredBlock;
float scored(const in uint key, const in uint row, const in float score, const in uint firstKey, const in uint firstRow) {
  return finalScore(ParamsIn(push.params).value, scoredBlock, firstRow + row, firstKey + key, score);
}
void finishScores(const AttentionParams p, const Block b, uint t, uint firstKey, inout MATRIX_C s[BLOCKS_S]) {
  scoredBlock = b;
  [[unroll]] for (uint k = 0; k < KEY_TILES; k++) {
    uint i = k * QUERY_TILES + t;
    coopMatPerElementNV(s[i], s[i], scored, firstKey + k * MATRIX_M, b.firstRow + firstReference(t));
  }
}
#else
void finishScores(const AttentionParams p, const Block b, uint t, uint firstKey, inout MATRIX_C s[BLOCKS_S]) {
  MATRIX_C rows, keys;
  coopMatLoad(rows, numbers, 0, 0, BY_ROW);
  coopMatLoad(keys, numbers, 0, 0, BY_COLUMN);
  EACH(i, rows) {
    uint row = b.firstRow + firstReference(t) + uint(rows[i]), key = firstKey + uint(keys[i]);
    [[unroll]] for (uint k = 0; k < KEY_TILES; k++) {
      s[k * QUERY_TILES + t][i] = finalScore(p, b, row, key + k * MATRIX_M, s[k * QUERY_TILES + t][i]);
    }
  }
}
#endif

// The largest of each column, in every element of it.
#if MATRIX2
float larger(const in float x, const in float y) { return max(x, y); }
MATRIX_C largestOfColumns(MATRIX_C x) {
  coopMatReduceNV(x, x, gl_CooperativeMatrixReduceColumnNV, larger);
  return x;
}
#else
MATRIX_C largestOfColumns(MATRIX_C x) {
  coopMatStore(x, exchange, firstOfTeam(), SCORE_PITCH, BY_COLUMN);
  handOver();
  float largest = -kInfinity;
  [[unroll]] for (uint i = 0; i < MATRIX_M; i++) largest = max(largest, loadElement(i));
  rowFactors[team() * MATRIX_N + rowOfTile()] = largest;
  handOver();
  coopMatLoad(x, rowFactors, team() * MATRIX_N, 0, BY_ROW);
  return x;
}
#endif

// References of rows that have a score too large for them, or see their first key, move. `largest`: of the scores in each element's place;
// `subtracted`: what they are relative to.
void moveReferences(uint t, MATRIX_C largest, inout MATRIX_C subtracted) {
  largest = largestOfColumns(largest);
  MATRIX_C references = referencesOf(t), factors;
  EACH(i, largest) {
    bool isSet = references[i] != -kInfinity;
    float origin = originOf(references[i]), next = NATURAL != 0 ? largest[i] : origin + largest[i], moved = next - origin;
    factors[i] = 1.0;
    if (NATURAL != 0 ? moved * kLog2E > limitOf(references[i]) : largest[i] > limitOf(references[i])) {
      if (isSet) factors[i] = exp2(NATURAL != 0 ? -moved * kLog2E : -moved);
      subtracted[i] = NATURAL != 0 ? next : moved;
      references[i] = next;
    }
  }
  coopMatStore(references, exchange, firstOfTeam(), SCORE_PITCH, BY_COLUMN);
  handOver();
  rowReferences[rowOfBlock(t)] = loadElement(0u);
  handOver();
  EACH_BLOCK(d, OWN_BLOCKS_V, sums[t * OWN_BLOCKS_V + d] *= factors)
  totals[t] *= factors;
}

// The scores of query tile `t` of a careful step to powers of 2.
void finishRows(const AttentionParams p, const Block b, uint t, uint firstKey, const bool finite, inout MATRIX_C s[BLOCKS_S]) {
  MATRIX_C references = referencesOf(t), subtracted, largest;
  EACH(i, references) {
    subtracted[i] = originOf(references[i]);
    [[unroll]] for (uint k = 0; k < KEY_TILES; k++) {
      float score = s[k * QUERY_TILES + t][i];
      s[k * QUERY_TILES + t][i] = NATURAL != 0 ? score * p.scale : fma(score, p.scale * kLog2E, -subtracted[i]);
    }
    if (NATURAL == 0) subtracted[i] = 0.0;
  }
  finishScores(p, b, t, firstKey, s);
  if (!finite) return;
  bool moves = false;
  EACH(i, references) {
    largest[i] = -kInfinity;
    [[unroll]] for (uint k = 0; k < KEY_TILES; k++) {
      float score = s[k * QUERY_TILES + t][i];
      if (score > largest[i]) largest[i] = score;  // and not if it is NaN
    }
    moves = moves || (NATURAL != 0 ? (largest[i] - subtracted[i]) * kLog2E : largest[i]) > limitOf(references[i]);
  }
  if (subgroupAny(moves)) moveReferences(t, largest, subtracted);
  EACH(i, subtracted) {
    [[unroll]] for (uint k = 0; k < KEY_TILES; k++) {
      float x = s[k * QUERY_TILES + t][i] - subtracted[i];
      s[k * QUERY_TILES + t][i] = NATURAL != 0 ? x * kLog2E : x;
    }
  }
}

void addSpecialValues(MATRIX_B seen[BLOCKS_W], uint step, uint d, uint kind) {
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    MATRIX_C count = MATRIX_C(0.0);
    EACH_BLOCK(k, BLOCKS_P, {
      MATRIX_A ones = valuesAt(step * STEP_KEYS + k * MATRIX_K, d, V_PITCH);
      count = coopMatMulAdd(ones, seen[k * QUERY_TILES + t], count);
    })
    addSpecial(count, kind, sums[t * OWN_BLOCKS_V + d]);
  }
}

// A step of a careful tile, for the values of a kind.
void carefulStep(const AttentionParams p, const Block b, uint tile, uint step, const bool finite, uint kind) {
  MATRIX_C s[BLOCKS_S];
  [[unroll]] for (uint i = 0; i < BLOCKS_S; i++) s[i] = MATRIX_C(0.0);
  EACH_BLOCK(d, BLOCKS_QK, addScores(step, d, s))
  uint firstKey = b.keysBegin + tile * KEYS + step * STEP_KEYS;
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) finishRows(p, b, t, firstKey, finite, s);
  if (finite) {
    weigh(s, totals, true);
  } else {
    [[unroll]] for (uint k = 0; k < BLOCKS_S; k++) EACH(i, s[k]) s[k][i] = isSeen(s[k][i]);
  }
  MATRIX_B weights[BLOCKS_W];
  operandsOf(s, weights);
  if (finite) {
    EACH_BLOCK(d, OWN_BLOCKS_V, addValues(weights, step, d))
  } else {
    EACH_BLOCK(d, OWN_BLOCKS_V, addSpecialValues(weights, step, d, kind))
  }
}

// Of all query tiles.
void carefulSteps(const AttentionParams p, const Block b, uint tile, uint step, const bool finite, uint kind) {
  if (TEAM == 1) {
    carefulStep(p, b, tile, step, finite, kind);
  } else {
    carefulTeamStep(p, b, 0u, tile, step, finite, kind);
    if (QUERY_TILES > 1) carefulTeamStep(p, b, QUERY_TILES - 1u, tile, step, finite, kind);
  }
}

#endif  // SACCADE_MATRIX_STEPS_GLSL
