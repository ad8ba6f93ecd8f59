// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_MATRIX_STEPS_GLSL
#define SACCADE_MATRIX_STEPS_GLSL
// Steps of coopmat.comp over the keys of a tile, plain and careful ones, and what they keep from one to the next: sums, totals and
// references. In the order of the data: scores, plain steps, plain steps of teams, careful steps, values that are not finite.

#include "matrix_weights.glsl"

layout(constant_id = SPEC_NATURAL) const uint NATURAL = 0;
layout(constant_id = SPEC_SHARED_Q) const uint SHARED_Q = 0;

const uint BLOCKS_Q = BLOCKS_QK * QUERY_TILES;           // matrices of Q
const uint BLOCKS_O = OWN_BLOCKS_V * QUERY_TILES;        // and of sums
const uint BLOCKS_HELD = SHARED_Q != 0 ? 1 : BLOCKS_Q;   // of Q, those in registers
const uint Q_ROWS = SHARED_Q != 0 ? ROWS : 1;
const uint STEPS = KEYS / STEP_KEYS;                     // of a tile
const uint TOTAL_PITCH = TEAM * MATRIX_M / 2;            // of the parts of a row's total, in uvec2
const uint CAREFUL_STEPS = STEP_KEYS / CAREFUL_KEYS;     // of a step
const float THRESHOLD = 8.0;                             // weights are at most 2^8

shared uvec2 queryTile[Q_ROWS * K_PITCH];
shared float rowReferences[ROWS];
shared float rowFactors[TEAMS * MATRIX_N];
shared uint rowsSet[TEAM > 1 ? ROWS : 1];                    // of teams: isSet
shared float rowParts[SUBGROUPS * SUBGROUP];
// What the work-group has to know of the tile.
shared uint someLeftOut;                                     // a subgroup has left out the rest of it
shared uint foundSpecial;                                    // it has a value that is not finite
shared uint anySpecial;                                      // so had a careful tile
shared uvec3 waiting;                                        // of teams: what is of no use before the end
shared uint specialTiles[2];                                 // so has the careful tile, or the next one, by their parity

MATRIX_B heldQueries[BLOCKS_HELD];
MATRIX_C sums[BLOCKS_O];
// Of the row of this invocation. Scores are in units of 2^x relative to the reference, unless NATURAL.
float reference[QUERY_TILES];
bool isSet[QUERY_TILES];              // the row has seen a key
bool allSet;                          // so has every row of the subgroup. Not of teams

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

// Of a team, for two blocks of channels from the d-th on. Sums that are added to once, and are no accumulator, stay in their
// registers.
void addTeamValues(uint step, uint d) {
  const uint count = 2;
  computeAnew(d / count % 2);
  MATRIX_C products[count * QUERY_TILES];
  [[unroll]] for (uint i = 0; i < count * QUERY_TILES; i++) products[i] = MATRIX_C(0.0);
  EACH_BLOCK(k, BLOCKS_P, {
    MATRIX_B weights[QUERY_TILES];
    [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) weights[t] = weightsAt(t, k);
    [[unroll]] for (uint i = 0; i < count && d + i < OWN_BLOCKS_V; i++) {
      MATRIX_A values = valuesAt(step * STEP_KEYS + k * MATRIX_K, d + i, V_PITCH);
      [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
        products[i * QUERY_TILES + t] = coopMatMulAdd(values, weights[t], products[i * QUERY_TILES + t]);
      }
    }
  })
  [[unroll]] for (uint i = 0; i < count && d + i < OWN_BLOCKS_V; i++) {
    [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) sums[t * OWN_BLOCKS_V + d + i] += products[i * QUERY_TILES + t];
  }
}

// What teams know of a row lies in memory.
void loadRowState(uint t) {
  reference[t] = rowReferences[rowOfBlock(t)];
  isSet[t] = rowsSet[rowOfBlock(t) % (TEAM > 1 ? ROWS : 1)] != 0u;
}
void storeRowState(uint t) { rowsSet[rowOfBlock(t) % (TEAM > 1 ? ROWS : 1)] = uint(isSet[t]); }

// True if every row of the subgroup has seen a key.
bool seesKeys() {
  bool all = true;
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    if (TEAM > 1) loadRowState(t);
    all = all && isSet[t];
  }
  return subgroupAll(all);
}

// Of a plain step of teams, [row][part of the sum]: they lie where its keys were.
uint firstTotal(uint t) { return firstReference(t) * TOTAL_PITCH; }

void addTeamTotals(uint t) {
  [[unroll]] for (uint i = 0; i < TOTAL_PITCH; i += SHARERS) {
    uint part = i + sharer();
    if (TOTAL_PITCH % SHARERS != 0 && part >= TOTAL_PITCH) continue;
    vec2 two = uintBitsToFloat(keyTile[firstTotal(t) + rowOfTile() * TOTAL_PITCH + part]);
    rowTotal[t] += two.x + two.y;
  }
}

// The second half of a plain step of teams. What one of them cannot take, all of the work-group leaves out.
bool teamStep(MATRIX_C s[BLOCKS_S], uint step, bool isFine) {
  if (!isFine) someLeftOut = 1u;
  MATRIX_C total[QUERY_TILES];
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) total[t] = MATRIX_C(0.0);
  storeWeights(s, total);
  barrier();
  if (anyInSubgroup(someLeftOut != 0u)) return false;
  computeAnew(0u);
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    coopMatStore(total[t], keyTile, firstTotal(t) + member() * MATRIX_M / 2, TOTAL_PITCH, BY_COLUMN);
  }
  EACH_BLOCK(d, (OWN_BLOCKS_V + 1) / 2, addTeamValues(step, 2 * d))
  barrier();
  computeAnew(0u);
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) addTeamTotals(t);
  return true;
}

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

  MATRIX_B weights[BLOCKS_W];
  plainWeights(s, weights);
  EACH_BLOCK(d, OWN_BLOCKS_V, addValues(weights, step, d))
  return true;
}

// The parameters, read again where registers are few.
AttentionParams readAnew(const AttentionParams p) {
  if (TEAM == 1) return p;
  return ParamsIn(push.params + zero).value;
}

// Careful steps count from the beginning of the tile.

// Scores of a block of keys of a careful step to memory, relative to `references`.
void storeCarefulScores(AttentionParams p, uint t, uint step, uint k, MATRIX_C references) {
  MATRIX_C s = MATRIX_C(0.0);
  EACH_BLOCK(d, BLOCKS_QK, s = coopMatMulAdd(keysAt(step * CAREFUL_TILES + k, d), queriesAt(t, d), s))
  computeAnew(1u);
  p = readAnew(p);
  if (TEAM > 1) references = referencesOf(t);
  if (NATURAL == 0) EACH(i, s) s[i] = fma(s[i], p.scale * kLog2E, -references[i]);
  coopMatStore(s, exchange, firstOfTeam() + k * MATRIX_M / 2, SCORE_PITCH, BY_COLUMN);
}

// Scores of a query tile to memory, and there to final ones, whatever hides a key. Returns the largest of the row.
float carefulScores(AttentionParams p, Block b, uint t, uint tile, uint step) {
  computeAnew(0u);
  MATRIX_C references = referencesOf(t);
  EACH_BLOCK(k, OWN_CAREFUL_TILES, storeCarefulScores(p, t, step, member() * OWN_CAREFUL_TILES + k, references))
  handOver();
  p = readAnew(p);
  if (TEAM > 1) b.slope = slopeOf(p, b);
  uint firstKey = b.keysBegin + (tile + zero) * KEYS + step * CAREFUL_KEYS;
  float largest = -kInfinity;
  [[dont_unroll]] for (uint key = sharer(); key < CAREFUL_KEYS; key += SHARERS) {
    float score = loadScore(key);
    score = finalScore(p, b, b.firstRow + rowOfBlock(t), firstKey + key, NATURAL != 0 ? score * p.scale : score);
    exchange[scoreAt(key)][key % 2] = floatBitsToUint(score);
    largest = max(largest, score);
  }
  if (TEAM > 1) loadRowState(t);
  rowParts[subgroup() * SUBGROUP + lane()] = largest;
  handOver();
  [[unroll]] for (uint i = 0; i < SHARERS; i++) {
    largest = max(largest, rowParts[team() * TEAM * SUBGROUP + i * MATRIX_N + rowOfTile()]);
  }
  return largest;
}

// The weight of a final score. NaN is handed on explicitly, as in weightOf.
float carefulWeight(float score, float subtracted) {
  float x = NATURAL != 0 ? (score - subtracted) * kLog2E : score - subtracted;
  return score == -kInfinity ? 0.0 : isNan(x) ? x : exp2(x);
}

void addCarefulValues(uint t, uint step, uint k) {
  MATRIX_B weights = carefulWeightsAt(k);
  EACH_BLOCK(d, OWN_BLOCKS_V, {
    MATRIX_A values = valuesAt(step * CAREFUL_KEYS + k * MATRIX_K, d, V_PITCH);
    sums[t * OWN_BLOCKS_V + d] = coopMatMulAdd(values, weights, sums[t * OWN_BLOCKS_V + d]);
  })
}

void addCarefulTeamValues(uint t, uint step) {
  MATRIX_B weights[BLOCKS_CAREFUL];
  [[unroll]] for (uint k = 0; k < BLOCKS_CAREFUL; k++) weights[k] = carefulWeightsAt(k);
  EACH_BLOCK(d, OWN_BLOCKS_V, {
    MATRIX_C products = MATRIX_C(0.0);
    EACH_BLOCK(k, BLOCKS_CAREFUL, {
      MATRIX_A values = valuesAt(step * CAREFUL_KEYS + k * MATRIX_K, d, V_PITCH);
      products = coopMatMulAdd(values, weights[k], products);
    })
    sums[t * OWN_BLOCKS_V + d] += products;
  })
}

void carefulStep(const AttentionParams p, const Block b, uint t, uint tile, uint step) {
  float largest = carefulScores(p, b, t, tile, step);
  // A row that has seen no key yet has a reference of 0, with which nothing has been weighted.
  float above = NATURAL != 0 ? (largest - reference[t]) * kLog2E : largest;
  float subtracted = NATURAL != 0 ? reference[t] : 0.0, factor = 1.0;
  if (isSet[t] ? above > THRESHOLD : largest > -kInfinity) {
    float next = NATURAL != 0 ? largest : reference[t] + largest;
    float moved = next - reference[t];
    if (isSet[t]) factor = exp2(NATURAL != 0 ? -moved * kLog2E : -moved);
    subtracted = NATURAL != 0 ? next : moved;
    reference[t] = next;
    isSet[t] = true;
  }
  rowReferences[rowOfBlock(t)] = reference[t];
  rowFactors[team() * MATRIX_N + rowOfTile()] = factor;
  rowTotal[t] *= factor;
  [[dont_unroll]] for (uint word = sharer(); word < CAREFUL_KEYS / 2; word += SHARERS) {
    uint key = firstOfPair(word);
    vec2 weight = vec2(carefulWeight(loadScore(key), subtracted), carefulWeight(loadScore(key + PAIR_DISTANCE), subtracted));
    rowTotal[t] += weight.x + weight.y;
    isSet[t] = isSet[t] || isNan(rowTotal[t]);  // what it is compared with no longer matters
    storePair(key, weight);
  }
  if (TEAM > 1 && isSet[t]) storeRowState(t);
  handOver();
  if (subgroupAny(factor != 1.0)) {
    MATRIX_C factors;
    coopMatLoad(factors, rowFactors, team() * MATRIX_N, 0, BY_ROW);
    EACH_BLOCK(d, OWN_BLOCKS_V, sums[t * OWN_BLOCKS_V + d] *= factors)
    if (TEAM == 1) totals[t] *= factors;
  }
  if (TEAM > 1) {
    addCarefulTeamValues(t, step);
  } else {
    EACH_BLOCK(k, BLOCKS_CAREFUL, addCarefulValues(t, step, k))
  }
  handOver();
}

void addSpecialBlock(uint t, uint step, uint d, float value) {
  MATRIX_C count = MATRIX_C(0.0);
  EACH_BLOCK(k, BLOCKS_CAREFUL, {
    MATRIX_A ones = valuesAt(step * CAREFUL_KEYS + k * MATRIX_K, d, V_PITCH + zero);
    count = coopMatMulAdd(ones, carefulWeightsAt(k), count);
  })
  EACH(i, count) {
    if (count[i] > 0.0) sums[t * OWN_BLOCKS_V + d][i] += value;
  }
}

// The values of one kind, which lie in the tile as 1: the sums of rows that see one become what it makes of them.
void addSpecialValues(const AttentionParams p, const Block b, uint t, uint tile, uint step, uint kind) {
  carefulScores(p, b, t, tile, step);
  [[dont_unroll]] for (uint word = sharer(); word < CAREFUL_KEYS / 2; word += SHARERS) {
    uint key = firstOfPair(word);
    storePair(key, vec2(loadScore(key) == -kInfinity ? 0.0 : 1.0, loadScore(key + PAIR_DISTANCE) == -kInfinity ? 0.0 : 1.0));
  }
  handOver();
  float value = kind == KIND_NAN ? uintBitsToFloat(0x7fc00000u) : kind == KIND_PLUS_INFINITY ? kInfinity : -kInfinity;
  EACH_BLOCK(d, OWN_BLOCKS_V, addSpecialBlock(t, step, d, value))
  handOver();
}

#endif  // SACCADE_MATRIX_STEPS_GLSL
