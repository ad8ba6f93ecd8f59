// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_MATRIX_TEAM_GLSL
#define SACCADE_MATRIX_TEAM_GLSL
// What is different in steps of teams: weights and totals pass through memory to all of a team, and careful steps take one block of keys of
// each subgroup at a time, whose scores pass through memory as well. Part of matrix_steps.glsl.

const uint TOTAL_PITCH = TEAM * MATRIX_M / 2;            // of the parts of a row's total, in uvec2
const uint CAREFUL_KEYS = TEAM * MATRIX_M;               // of a careful step
const uint CAREFUL_STEPS = TEAM > 1 ? STEP_KEYS / CAREFUL_KEYS : 1;  // of a step
const uint BLOCKS_CAREFUL = TEAM > 1 ? CAREFUL_KEYS / MATRIX_K : 1;

shared uvec3 waiting;                                    // what is of no use before the end

#if MATRIX2  // coopmat2 has none

bool teamStep(MATRIX_C s[BLOCKS_S], uint step, bool isFine) { return false; }
void carefulTeamStep(const AttentionParams p, const Block b, uint t, uint tile, uint step, const bool finite, uint kind) {}

#else

// For two blocks of channels from the d-th on. Sums that are added to once, and are no accumulator, stay in their registers.
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

// Of a plain step, [row][part of the sum]: they lie where its keys were.
uint firstTotal(uint t) { return firstReference(t) * TOTAL_PITCH; }

void addTeamTotals(uint t) {
  [[unroll]] for (uint i = 0; i < TOTAL_PITCH; i += SHARERS) {
    uint part = i + sharer();
    if (TOTAL_PITCH % SHARERS != 0 && part >= TOTAL_PITCH) continue;
    vec2 two = uintBitsToFloat(keyTile[firstTotal(t) + rowOfTile() * TOTAL_PITCH + part]);
    rowTotal[t] += two.x + two.y;
  }
}

// The second half of a plain step. What one of them cannot take, all of the work-group leaves out.
bool teamStep(MATRIX_C s[BLOCKS_S], uint step, bool isFine) {
  if (!isFine) someLeftOut = 1u;
  MATRIX_C total[QUERY_TILES];
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) total[t] = MATRIX_C(0.0);
  weigh(s, total, false);
  storeWeights(s);
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

// Careful steps count from the beginning of the tile.

// Scores of the subgroup's block of keys to memory.
void storeCarefulScores(const AttentionParams p, uint t, uint step) {
  MATRIX_C s = MATRIX_C(0.0);
  EACH_BLOCK(d, BLOCKS_QK, s = coopMatMulAdd(keysAt(step * TEAM + member(), d), queriesAt(t, d), s))
  computeAnew(1u);
  if (NATURAL == 0) {
    AttentionParams q = readAnew(p);
    MATRIX_C references = referencesOf(t);
    EACH(i, s) s[i] = fma(s[i], q.scale * kLog2E, -originOf(references[i]));
  }
  coopMatStore(s, exchange, firstOfMember(), SCORE_PITCH, BY_COLUMN);
}

// Scores of a query tile to memory, and there to final ones. Returns the largest of the row, and its reference.
vec2 carefulTeamScores(AttentionParams p, Block b, uint t, uint tile, uint step) {
  computeAnew(0u);
  storeCarefulScores(p, t, step);
  handOver();
  p = readAnew(p);
  b.slope = slopeOf(p, b);
  uint firstKey = b.keysBegin + (tile + zero) * KEYS + step * CAREFUL_KEYS;
  float largest = -kInfinity;
  [[dont_unroll]] for (uint key = sharer(); key < CAREFUL_KEYS; key += SHARERS) {
    float score = loadElement(key);
    score = finalScore(p, b, b.firstRow + rowOfBlock(t), firstKey + key, NATURAL != 0 ? score * p.scale : score);
    exchange[elementAt(key)][key % 2] = floatBitsToUint(score);
    largest = max(largest, score);
  }
  rowParts[subgroup() * SUBGROUP + lane()] = largest;
  float reference = rowReferences[rowOfBlock(t)];
  handOver();
  [[unroll]] for (uint i = 0; i < SHARERS; i++) {
    largest = max(largest, rowParts[team() * TEAM * SUBGROUP + i * MATRIX_N + rowOfTile()]);
  }
  return vec2(largest, reference);
}

// Of a careful step, two keys at a time, where their scores were.
void storePair(uint key, vec2 weights) { exchange[elementAt(key)][key % 2] = packFloat2x16(f16vec2(weights)); }

MATRIX_B carefulWeightsAt(uint k) {
  MATRIX_B weights;
  coopMatLoad(weights, exchange, firstOfTeam() + firstOfPair(k * MATRIX_K / 2) / 2, SCORE_PITCH, BY_COLUMN);
  return weights;
}

void addCarefulValues(uint t, uint step) {
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

void weighTeamScores(uint t, float largest, float reference) {
  bool isSet = reference != -kInfinity;
  float origin = originOf(reference), next = NATURAL != 0 ? largest : origin + largest, moved = next - origin;
  float subtracted = NATURAL != 0 ? origin : 0.0, factor = 1.0;
  if (NATURAL != 0 ? moved * kLog2E > limitOf(reference) : largest > limitOf(reference)) {
    if (isSet) factor = exp2(NATURAL != 0 ? -moved * kLog2E : -moved);
    subtracted = NATURAL != 0 ? next : moved;
    rowReferences[rowOfBlock(t)] = next;
  }
  rowFactors[team() * MATRIX_N + rowOfTile()] = factor;
  rowTotal[t] *= factor;
  [[dont_unroll]] for (uint word = sharer(); word < CAREFUL_KEYS / 2; word += SHARERS) {
    uint key = firstOfPair(word);
    vec2 x = vec2(loadElement(key), loadElement(key + PAIR_DISTANCE)) - subtracted;
    if (NATURAL != 0) x *= kLog2E;
    vec2 weight = vec2(carefulWeight(x.x), carefulWeight(x.y));
    rowTotal[t] += weight.x + weight.y;
    storePair(key, weight);
  }
  handOver();
  if (subgroupAny(factor != 1.0)) {
    MATRIX_C factors;
    coopMatLoad(factors, rowFactors, team() * MATRIX_N, 0, BY_ROW);
    EACH_BLOCK(d, OWN_BLOCKS_V, sums[t * OWN_BLOCKS_V + d] *= factors)
  }
}

void addSpecialBlock(uint t, uint step, uint d, uint kind) {
  MATRIX_C count = MATRIX_C(0.0);
  EACH_BLOCK(k, BLOCKS_CAREFUL, {
    MATRIX_A ones = valuesAt(step * CAREFUL_KEYS + k * MATRIX_K, d, V_PITCH + zero);
    count = coopMatMulAdd(ones, carefulWeightsAt(k), count);
  })
  addSpecial(count, kind, sums[t * OWN_BLOCKS_V + d]);
}

void addSpecialTeamValues(uint t, uint step, uint kind) {
  [[dont_unroll]] for (uint word = sharer(); word < CAREFUL_KEYS / 2; word += SHARERS) {
    uint key = firstOfPair(word);
    storePair(key, vec2(isSeen(loadElement(key)), isSeen(loadElement(key + PAIR_DISTANCE))));
  }
  handOver();
  EACH_BLOCK(d, OWN_BLOCKS_V, addSpecialBlock(t, step, d, kind))
}

// A careful step, for the values of a kind.
void carefulTeamStep(const AttentionParams p, const Block b, uint t, uint tile, uint step, const bool finite, uint kind) {
  vec2 row = carefulTeamScores(p, b, t, tile, step);
  if (finite) {
    weighTeamScores(t, row.x, row.y);
    addCarefulValues(t, step);
  } else {
    addSpecialTeamValues(t, step, kind);
  }
  handOver();
}

#endif

#endif  // SACCADE_MATRIX_TEAM_GLSL
