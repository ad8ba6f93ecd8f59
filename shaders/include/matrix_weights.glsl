// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_MATRIX_WEIGHTS_GLSL
#define SACCADE_MATRIX_WEIGHTS_GLSL
// What a subgroup has of the scores of a step, and how weights become the operand of the second product. Two ways:
//
// CONVERSIONS 0: through shared memory. An invocation has the weights of key m of a block and of key m of the next block in its hands,
// at the same place of two accumulators, and not those of two neighbours. So these two share a word, and V lies in the same order.
//
// CONVERSIONS 1: by the conversion of VK_NV_cooperative_matrix2, which trades elements between invocations as the device likes, where
// an accumulator has as many keys as an operand. Keys stay in order. By way of an accumulator of fp16: drivers do not round weights
// that become an operand in one go.

#include "matrix_tile.glsl"
#if CONVERSIONS
#extension GL_NV_cooperative_matrix2 : require
#endif

layout(constant_id = SPEC_QUERY_TILES) const uint QUERY_TILES = 1;

const uint SUBGROUPS = LOCAL_SIZE / SUBGROUP;
const uint OWN_ROWS = QUERY_TILES * MATRIX_N;            // query rows of a subgroup
const uint ROWS = SUBGROUPS * OWN_ROWS;
const uint BLOCKS_P = STEP_KEYS / MATRIX_K;              // of the keys of a step
const uint BLOCKS_S = KEY_TILES * QUERY_TILES;           // matrices of scores
const uint BLOCKS_W = BLOCKS_P * QUERY_TILES;            // and of weights
const uint SHARERS = SUBGROUP / MATRIX_N;                // invocations that share a row
const uint SCORE_PITCH = STEP_KEYS / 2 + 2;              // of a row of scores, in uvec2
const uint WEIGHT_PITCH = STEP_KEYS / 4 + 1;             // of a row of weights
const uint EXCHANGE = QUERY_TILES * WEIGHT_PITCH > SCORE_PITCH ? QUERY_TILES * WEIGHT_PITCH : SCORE_PITCH;

#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define MATRIX_HALF coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define BY_ROW gl_CooperativeMatrixLayoutRowMajor
#define BY_COLUMN gl_CooperativeMatrixLayoutColumnMajor
#define EACH(i, matrix) [[unroll]] for (int i = 0; i < matrix.length(); i++)

// What a subgroup passes from hand to hand, [row][key]: in plain tiles weights, of all its query tiles; in careful ones scores of one
// query tile, which turn into weights where they are. At the beginning Q and at the end sums, [row][channel]. The memory of another
// subgroup is never touched.
shared uvec2 exchange[SUBGROUPS * MATRIX_N * EXCHANGE];

MATRIX_C totals[QUERY_TILES];  // of plain steps: the sum of a column is the total of a row

void handOver() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}

// Where the rows of the subgroup, or of one of its query tiles, begin.
uint firstReference(uint t) { return gl_SubgroupID * OWN_ROWS + t * MATRIX_N; }
uint firstOfSubgroup() { return gl_SubgroupID * MATRIX_N * EXCHANGE; }
uint firstWeight(uint t) { return firstOfSubgroup() + t * MATRIX_N * WEIGHT_PITCH; }
// In careful tiles and at the end an invocation works for one row of a query tile.
uint rowOfTile() { return gl_SubgroupInvocationID % MATRIX_N; }
uint sharer() { return gl_SubgroupInvocationID / MATRIX_N; }
uint rowOfBlock(uint t) { return firstReference(t) + rowOfTile(); }

// Scores of this invocation's row.
uint scoreAt(uint key) { return firstOfSubgroup() + rowOfTile() * SCORE_PITCH + key / 2; }
float loadScore(uint key) { return uintBitsToFloat(exchange[scoreAt(key)][key % 2]); }

#if CONVERSIONS

MATRIX_B converted(MATRIX_C weights) { return MATRIX_B(MATRIX_HALF(weights)); }

// Scores of plain tiles, relative to their rows' references, to weights.
void plainWeights(MATRIX_C s[BLOCKS_S], out MATRIX_B weights[BLOCKS_W]) {
  [[unroll]] for (uint k = 0; k < KEY_TILES; k++) {
    [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
      MATRIX_C weight;
      EACH(i, weight) {
        weight[i] = exp2(s[k * QUERY_TILES + t][i]);
        totals[t][i] += weight[i];
      }
      weights[k * QUERY_TILES + t] = converted(weight);
    }
  }
}

// Weights of careful tiles: the two of a pair, where the scores of its keys were.
void storePair(uint key, vec2 weights) { exchange[scoreAt(key)] = floatBitsToUint(weights); }

MATRIX_B carefulWeightsAt(uint k) {
  MATRIX_C weights;
  coopMatLoad(weights, exchange, firstOfSubgroup() + k * MATRIX_M / 2, SCORE_PITCH, BY_COLUMN);
  return converted(weights);
}

#else

void plainWeights(MATRIX_C s[BLOCKS_S], out MATRIX_B weights[BLOCKS_W]) {
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    [[unroll]] for (uint k = 0; k < KEY_TILES; k += 2) {
      MATRIX_C pairs;
      EACH(i, pairs) {
        vec2 weight = vec2(exp2(s[k * QUERY_TILES + t][i]), exp2(s[(k + 1) * QUERY_TILES + t][i]));
        totals[t][i] += weight.x + weight.y;
        pairs[i] = uintBitsToFloat(packFloat2x16(f16vec2(weight)));
      }
      coopMatStore(pairs, exchange, firstWeight(t) + k * MATRIX_M / 4, WEIGHT_PITCH, BY_COLUMN);
    }
  }
  handOver();
  [[unroll]] for (uint k = 0; k < BLOCKS_P; k++) {
    [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
      coopMatLoad(weights[k * QUERY_TILES + t], exchange, firstWeight(t) + k * MATRIX_K / 4, WEIGHT_PITCH, BY_COLUMN);
    }
  }
  handOver();
}

// Where the score of the first key of the pair was.
void storePair(uint key, vec2 weights) { exchange[scoreAt(key)][key % 2] = packFloat2x16(f16vec2(weights)); }

MATRIX_B carefulWeightsAt(uint k) {
  MATRIX_B weights;
  coopMatLoad(weights, exchange, firstOfSubgroup() + firstOfPair(k * MATRIX_K / 2) / 2, SCORE_PITCH, BY_COLUMN);
  return weights;
}

#endif

#endif  // SACCADE_MATRIX_WEIGHTS_GLSL
