// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_MATRIX_WEIGHTS_GLSL
#define SACCADE_MATRIX_WEIGHTS_GLSL
// What a subgroup has of the scores of a step, and how weights become the operand of the second product. Two ways:
//
// MATRIX2 0: through shared memory. An invocation has the weights of key m of a block and of key m of the next block in its hands, at
// the same place of two accumulators, and not those of two neighbours. So these two share a word, and V lies in the same order.
//
// MATRIX2 1: by the conversion of VK_NV_cooperative_matrix2, which trades elements between invocations as the device likes, where an
// accumulator has as many keys as an operand. Keys stay in order. By way of an accumulator of fp16: drivers do not round weights that
// become an operand in one go.

#include "matrix_tile.glsl"
#if MATRIX2
#extension GL_NV_cooperative_matrix2 : require
#endif

layout(constant_id = SPEC_QUERY_TILES) const uint QUERY_TILES = 1;

const uint SUBGROUPS = LOCAL_SIZE / SUBGROUP;
const uint TEAMS = SUBGROUPS / TEAM;
const uint OWN_ROWS = QUERY_TILES * MATRIX_N;            // query rows of a team
const uint ROWS = TEAMS * OWN_ROWS;
const uint BLOCKS_P = STEP_KEYS / MATRIX_K;              // of the keys of a step
const uint OWN_KEY_TILES = KEY_TILES / TEAM;             // of a subgroup
const uint BLOCKS_S = OWN_KEY_TILES * QUERY_TILES;       // matrices of scores
const uint BLOCKS_W = BLOCKS_P * QUERY_TILES;            // and of weights
const uint SHARERS = TEAM * SUBGROUP / MATRIX_N;         // invocations that share a row
const uint SCORE_PITCH = TEAM * MATRIX_M / 2 + 2;        // of a row of fp32, a matrix of each of a team, in uvec2
const uint WEIGHT_PITCH = STEP_KEYS / 4 + 1;             // of a row of weights
const uint EXCHANGE = QUERY_TILES * WEIGHT_PITCH > SCORE_PITCH ? QUERY_TILES * WEIGHT_PITCH : SCORE_PITCH;

#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define MATRIX_HALF coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define BY_ROW gl_CooperativeMatrixLayoutRowMajor
#define BY_COLUMN gl_CooperativeMatrixLayoutColumnMajor
#define EACH(i, matrix) [[unroll]] for (int i = 0; i < matrix.length(); i++)

// What a team, or a subgroup, passes from hand to hand: weights of a step, of all its query tiles, [row][key]; what references move by; of
// teams scores of a careful step, which turn into weights where they are. At the beginning Q and at the end sums, [row][channel]. The
// memory of another team is never touched.
shared uvec2 exchange[TEAMS * MATRIX_N * EXCHANGE];

MATRIX_C totals[QUERY_TILES];  // the sum of a column is the total of a row. Not of teams
float rowTotal[QUERY_TILES];   // of teams: the sum over its sharers is the total of a row

// Between the invocations of a team. If that is more than a subgroup, all of the work-group meets here.
void handOver() {
  if (TEAM > 1) {
    barrier();
    computeAnew(0u);
  } else {
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
  }
}

uint team() { return subgroup() / TEAM; }
uint member() { return subgroup() % TEAM; }
// Where the rows of the team, or of one of its query tiles, begin.
uint firstReference(uint t) { return team() * OWN_ROWS + t * MATRIX_N; }
uint firstOfTeam() { return team() * MATRIX_N * EXCHANGE; }
uint firstOfMember() { return firstOfTeam() + member() * MATRIX_M / 2; }  // one of its accumulators
uint firstWeight(uint t) { return firstOfTeam() + t * MATRIX_N * WEIGHT_PITCH; }
// In careful tiles and at the end an invocation works for one row of a query tile.
uint rowOfTile() { return lane() % MATRIX_N; }
uint sharer() { return (member() * SUBGROUP + lane()) / MATRIX_N; }
uint rowOfBlock(uint t) { return firstReference(t) + rowOfTile(); }

// Elements of fp32 of this invocation's row.
uint elementAt(uint i) { return firstOfTeam() + rowOfTile() * SCORE_PITCH + i / 2; }
float loadElement(uint i) { return uintBitsToFloat(exchange[elementAt(i)][i % 2]); }

// Weights of a plain step that are in memory.
MATRIX_B weightsAt(uint t, uint k) {
  MATRIX_B weights;
  coopMatLoad(weights, exchange, firstWeight(t) + k * MATRIX_K / 4, WEIGHT_PITCH, BY_COLUMN);
  return weights;
}

// 2^x, exactly 0 for a hidden key. NaN is handed on explicitly, as in weightOf.
float carefulWeight(float x) { return x == -kInfinity ? 0.0 : isNan(x) ? x : exp2(x); }

// Scores relative to their rows' references to weights, and their sums to `total`.
void weigh(inout MATRIX_C s[BLOCKS_S], inout MATRIX_C total[QUERY_TILES], const bool careful) {
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    [[unroll]] for (uint k = 0; k < OWN_KEY_TILES; k++) {
      EACH(i, total[t]) {
        float x = s[k * QUERY_TILES + t][i];
        s[k * QUERY_TILES + t][i] = careful ? carefulWeight(x) : exp2(x);
        total[t][i] += s[k * QUERY_TILES + t][i];
      }
    }
  }
}

#if MATRIX2

void operandsOf(MATRIX_C weights[BLOCKS_S], out MATRIX_B operands[BLOCKS_W]) {
  [[unroll]] for (uint i = 0; i < BLOCKS_W; i++) operands[i] = MATRIX_B(MATRIX_HALF(weights[i]));
}

#else

// To memory, for all of a team.
void storeWeights(MATRIX_C weights[BLOCKS_S]) {
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    [[unroll]] for (uint k = 0; k < OWN_KEY_TILES; k += 2) {
      MATRIX_C pairs;
      EACH(i, pairs) {
        vec2 two = vec2(weights[k * QUERY_TILES + t][i], weights[(k + 1) * QUERY_TILES + t][i]);
        pairs[i] = uintBitsToFloat(packFloat2x16(f16vec2(two)));
      }
      uint at = firstWeight(t) + (member() * OWN_KEY_TILES + k) * MATRIX_M / 4;
      coopMatStore(pairs, exchange, at, WEIGHT_PITCH, BY_COLUMN);
    }
  }
}

void operandsOf(MATRIX_C weights[BLOCKS_S], out MATRIX_B operands[BLOCKS_W]) {
  storeWeights(weights);
  handOver();
  [[unroll]] for (uint k = 0; k < BLOCKS_P; k++) {
    [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) operands[k * QUERY_TILES + t] = weightsAt(t, k);
  }
  handOver();
}

#endif

#endif  // SACCADE_MATRIX_WEIGHTS_GLSL
