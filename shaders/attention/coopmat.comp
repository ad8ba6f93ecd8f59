#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention on matrix units, for fp16: `coopmat` (VK_KHR_cooperative_matrix) and, with MATRIX2, `coopmat2` (VK_NV_cooperative_matrix2,
// of which it takes conversions, reductions and per-element operations). Both products are written the other way round, so that query
// rows are the columns of what the matrix units add up:
//
//   S' = K Q'    keys x rows      A: keys x channels, from shared memory     B: channels x rows, in registers for the whole loop
//   O' = V' P'   channels x rows  A: channels x keys, from shared memory     B: keys x rows, through shared memory or converted
//
// Which elements of a matrix an invocation holds is the device's own affair; a matrix that is loaded with a stride of 0 from an array
// of a number per row has that number in every element of the row's column. So the scores of a step stay where they are: each is
// compared with its row's reference, which is the largest score so far or was until lately, and becomes a weight on the spot. How
// weights get from accumulator to operand, how an element learns which row and key it is of, and how the largest of a column is found
// are what the two kernels differ in: see matrix_weights.glsl and matrix_steps.glsl, which has the steps of both kinds. Tiles of K and V
// are in matrix_tile.glsl; here are the loops over tiles, Q and the result.
//
// Two kinds of tiles. "Plain" ones, whose keys every row sees and whose scores are final as they are, have a loop without anything
// else. All others, tiles with a value that is not finite, and steps in which a score exceeds its row's reference by more than
// THRESHOLD, are "careful": whatever hides a key or changes a score does so where the score is, references move and sums are rescaled
// ("lazy rescaling"). A subgroup that meets such a step in a plain tile leaves out the rest of the tile, and the whole work-group comes
// back to it: after the first tile of a row that is rare.
//
// Where registers are few, a team of subgroups shares its rows: each has a part of the keys' scores, and of the channels of the sums
// (matrix_team.glsl).
//
// The value of a hidden key must not meet the matrix unit, where 0 * NaN is NaN: careful tiles have 0 for values that are not finite,
// and what those do to the rows that see them is added after the loop.

#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "matrix_steps.glsl"

bool alignedK(const AttentionParams p) { return isAligned(push.buffers[BUFFER_K], p.kStrideB, p.kStrideH, p.kStrideT, HEAD_DIM_QK); }
bool alignedV(const AttentionParams p) { return isAligned(push.buffers[BUFFER_V], p.vStrideB, p.vStrideH, p.vStrideT, HEAD_DIM_V); }

Address headOfK(const AttentionParams p, const Block b) {
  return tensorAddress(push.buffers[BUFFER_K], b.batch * p.kStrideB + b.headKv * p.kStrideH + b.keyBase * p.kStrideT);
}
Address headOfV(const AttentionParams p, const Block b) {
  return tensorAddress(push.buffers[BUFFER_V], b.batch * p.vStrideB + b.headKv * p.vStrideH + b.keyBase * p.vStrideT);
}

// A plain tile of teams, which have no registers for one that waits. True if this invocation met a value that is not finite.
bool copyPlainTile(const AttentionParams p, const Block b, uint first) {
  if (CAREFUL && !(alignedK(p) && alignedV(p))) {
    copyKeys(p, b, first, false);
    return copyValues(p, b, first, false, KIND_FINITE);
  }
  TileOffsets offsets = tileOffsets(p);
  copyWholeKeys(p, b, headOfK(p, b), offsets, first);
  return copyWholeValues(p, b, headOfV(p, b), offsets, first);
}

// Plain tiles from `tile` to before plainEnd, until one has to be careful: a subgroup has left out of the one before `tile`, from its
// firstStep on, or `tile` has a value that is not finite.
void plainTiles(const AttentionParams p, const Block b, Address kHead, Address vHead, TileOffsets offsets, uint plainEnd,
                inout uint tile, inout uint firstStep) {
  float factor = p.scale * kLog2E;
  [[dont_unroll]] while (true) {
    bool more = tile < plainEnd;
    uint first = b.keysBegin + tile * KEYS;
    if (TEAM == 1 && more) {
      fetchWholeKeys(p, b, kHead, offsets, first);
      fetchWholeValues(p, b, vHead, offsets, first);
    }
    barrier();
    if (!more || anyInSubgroup(someLeftOut != 0u)) break;
    computeAnew(0u);
    bool special;
    if (TEAM == 1) {
      stageKeys();
      stageValues();
      special = holdsSpecialValue();
    } else {
      special = copyPlainTile(readAnew(p), b, first);
    }
    if (special) foundSpecial = 1u;
    barrier();
    if (anyInSubgroup(foundSpecial != 0u)) break;
    firstStep = STEPS;
    [[unroll]] for (uint step = 0; step < STEPS; step++) {
      if (firstStep == STEPS && !((TEAM > 1 || allSet) && plainStep(step, factor))) {
        firstStep = step;
        someLeftOut = 1u;
      }
    }
    if (TEAM > 1) firstStep = 0u;  // all leave out the tile, or none
    tile++;
  }
  computeAnew(0u);
}

void loadQueryBlock(const AttentionParams p, const Block b, uint t, uint d, bool aligned) {
  [[unroll]] for (uint j = 0; j < MATRIX_N * MATRIX_K / 8; j += SUBGROUP) {
    uint i = lane() + j, row = i / (MATRIX_K / 8), piece = i % (MATRIX_K / 8);
    if (row >= MATRIX_N) continue;
    // Rows past the length, which may hold anything, are the last one: NaN in them must not decide what the others do.
    uint ownRow = b.firstRow + firstReference(t) + row;
    Address rowAddress = queryRow(p, b, min(ownRow, max(b.seqlenQ, 1u) - 1u));
    uvec4 x;
    if (aligned) {
      x = loadPiece(rowAddress, d * MATRIX_K / 8 + piece, HEAD_DIM_QK);
    } else {
      [[unroll]] for (uint c = 0; c < 4; c++) x[c] = loadWord(rowAddress, d * MATRIX_K + 8 * piece + 2 * c, HEAD_DIM_QK);
    }
    if (SHARED_Q != 0) {
      uint at = (firstReference(t) + row) % Q_ROWS * K_PITCH + d * MATRIX_K / 4 + 2 * piece;
      queryTile[at] = x.xy;
      queryTile[at + 1] = x.zw;
    } else {
      uint at = firstOfTeam() + row * WEIGHT_PITCH + 2 * piece;
      exchange[at] = x.xy;
      exchange[at + 1] = x.zw;
    }
  }
  if (SHARED_Q != 0) return;
  handOver();
  coopMatLoad(heldQueries[(t * BLOCKS_QK + d) % BLOCKS_HELD], exchange, firstWeight(0u), WEIGHT_PITCH, BY_COLUMN);
  handOver();
}

void loadQueries(const AttentionParams p, const Block b) {
  bool aligned = isAligned(push.buffers[BUFFER_Q], p.qStrideB, p.qStrideH, p.qStrideT, HEAD_DIM_QK);
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    EACH_BLOCK(d, BLOCKS_QK, if (d % TEAM == member()) loadQueryBlock(p, b, t, d, aligned))
  }
}

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer PiecesOut { uvec4 v[]; };

// Sums of a query tile, times what rowFactors holds.
void storeBlock(const AttentionParams p, const Block b, uint t, uint d, bool aligned) {
  coopMatStore(sums[t * OWN_BLOCKS_V + d], exchange, firstOfMember(), SCORE_PITCH, BY_COLUMN);
  handOver();
  [[unroll]] for (uint j = 0; j < MATRIX_N * MATRIX_M / 8; j += SUBGROUP) {
    uint i = lane() + j, row = i / (MATRIX_M / 8), piece = i % (MATRIX_M / 8);
    uint ownRow = b.firstRow + firstReference(t) + row;
    float factor = rowFactors[team() * MATRIX_N + row % MATRIX_N];
    uint at = firstOfMember() + row % MATRIX_N * SCORE_PITCH + 4 * piece;
    Address outAddress = outRow(p, b, min(ownRow, b.rowLimit - 1u));
    uvec4 halves;
    [[unroll]] for (uint c = 0; c < 4; c++) {
      vec2 x = uintBitsToFloat(exchange[at + c]);
      halves[c] = factor == 0.0 ? 0u : floatToHalf(x.x * factor) | floatToHalf(x.y * factor) << 16;
    }
    uint first = (member() * OWN_BLOCKS_V + d) * MATRIX_M + 8 * piece;
    if (row >= MATRIX_N || ownRow >= b.rowLimit || first >= HEAD_DIM_V) continue;
    if (aligned) {
      PiecesOut(outAddress + 2u * first).v[0] = halves;
    } else {
      [[unroll]] for (uint c = 0; c < 8; c++) {
        if (first + c < HEAD_DIM_V) store16(outAddress, first + c, halves[c / 2] >> (16 * (c % 2)) & 0xffffu);
      }
    }
  }
  handOver();
}

void storeRows(const AttentionParams p, const Block b) {
  bool aligned = isAligned(push.buffers[BUFFER_OUT], p.outStrideB, p.outStrideH, p.outStrideT, HEAD_DIM_V);
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    if (TEAM == 1) {
      coopMatStore(totals[t], exchange, firstOfTeam(), SCORE_PITCH, BY_COLUMN);
    } else {
      rowParts[subgroup() * SUBGROUP + lane()] = rowTotal[t];
    }
    handOver();
    float reference = rowReferences[rowOfBlock(t)], total = 0.0;
    if (TEAM == 1) {
      [[unroll]] for (uint i = 0; i < MATRIX_M; i++) total += loadElement(i);
    } else {
      [[unroll]] for (uint i = 0; i < SHARERS; i++) total += rowParts[team() * TEAM * SUBGROUP + i * MATRIX_N + rowOfTile()];
    }
    uint row = b.firstRow + rowOfBlock(t);
    float maximum = NATURAL != 0 ? reference : reference / kLog2E;
    float factor = 1.0;
    if (SINK != 0) {
      // A key without a value. Whichever of its score and the reference is larger becomes the one that the total refers to.
      float sink = loadF32(push.buffers[BUFFER_SINK], b.head);
      float above = NATURAL != 0 ? (sink - reference) * kLog2E : fma(sink, kLog2E, -reference);
      if (reference == -kInfinity) above = sink == -kInfinity ? sink : kInfinity;
      if (isNan(sink)) {
        total = sink;
      } else if (above > 0.0) {
        factor = exp2(-above);
        total = fma(total, factor, 1.0);
        maximum = sink;
      } else {
        total += exp2(above);
      }
    }
    // A row that sees a key, or the sink, has a weight of at least 2^-THRESHOLD.
    bool empty = total == 0.0 || row >= b.seqlenQ;
    rowFactors[team() * MATRIX_N + rowOfTile()] = empty ? 0.0 : factor / total;
    if (LSE != 0 && sharer() == 0u && row < b.rowLimit) storeLse(p, b, row, empty ? -kInfinity : logSumExp(maximum, total));
    handOver();
    EACH_BLOCK(d, OWN_BLOCKS_V, storeBlock(p, b, t, d, aligned))
  }
}

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  Block b = blockOf(p, groupIndex(), 0u, ROWS, 0u);
  if (isVacant(b)) return;
  if (TEAM > 1) {
    sharedZeros[0] = 0u;
    sharedZeros[1] = 0u;
    barrier();
    computeAnew(0u);
  }
  loadQueries(p, b);
  [[unroll]] for (uint i = 0; i < BLOCKS_O; i++) sums[i] = MATRIX_C(0.0);
  [[unroll]] for (uint t = 0; t < QUERY_TILES; t++) {
    totals[t] = MATRIX_C(0.0);
    rowTotal[t] = 0.0;
    rowReferences[rowOfBlock(t)] = CAREFUL ? -kInfinity : 0.0;
  }
  allSet = !CAREFUL;
  for (uint i = invocation(); i < MORE_ELEMENTS; i += LOCAL_SIZE) numbers[i] = float(i);
  if (invocation() == 0u) {
    if (TEAM > 1) waiting = uvec3(b.rowBase, b.rowLimit, b.seqlenQ);
    someLeftOut = 0u;
    foundSpecial = 0u;
    anySpecial = 0u;
    specialTiles[0] = 0u;
    specialTiles[1] = 0u;
  }
  barrier();

  uint keysEnd = HAS_KEYS != 0 ? max(b.keysEnd, b.keysBegin) : b.keysBegin;
  uint tiles = (keysEnd - b.keysBegin + KEYS - 1u) / KEYS;
  Address kHead = TEAM == 1 ? headOfK(p, b) : 0ul, vHead = TEAM == 1 ? headOfV(p, b) : 0ul;
  TileOffsets offsets = tileOffsets(p);

  // Plain tiles are those before plainEnd, from plainBegin on. The first tile of all sets the references.
  uint plainBegin = max((max(b.plainBegin, b.keysBegin) - b.keysBegin + KEYS - 1u) / KEYS, CAREFUL ? 1u : 0u);
  uint plainEnd = (clamp(b.plainEnd, b.keysBegin, keysEnd) - b.keysBegin) / KEYS;
  if (!PLAIN) plainEnd = 0u;
  bool wholeK = alignedK(p), wholeV = alignedV(p);  // teams find out where they need it
  bool aligned = wholeK && wholeV;
  float factor = p.scale * kLog2E;

  uint tile = 0u, firstStep = 0u;
  if (!CAREFUL) plainTiles(p, b, kHead, vHead, offsets, plainEnd, tile, firstStep);
  [[dont_unroll]] while (CAREFUL && tile < tiles) {
    firstStep = 0u;  // of this subgroup, in the careful tile
    computeAnew(0u);
    if (PLAIN && (TEAM > 1 || aligned) && tile >= plainBegin) {
      plainTiles(p, b, kHead, vHead, offsets, plainEnd, tile, firstStep);
    }
    // A tile that a subgroup has left out of, one that is not plain, or the end.
    if (PLAIN && (TEAM > 1 || aligned) && anyInSubgroup(someLeftOut != 0u)) {
      tile--;
    } else {
      firstStep = 0u;
    }
    if (tile < tiles) {
      uint first = b.keysBegin + tile * KEYS;
      barrier();
      computeAnew(0u);
      if (invocation() == 0u) {
        someLeftOut = 0u;
        foundSpecial = 0u;
      }
      AttentionParams q = readAnew(p);
      copyKeys(q, b, first, TEAM == 1 ? wholeK : alignedK(q));
      if (copyValues(q, b, first, TEAM == 1 ? wholeV : alignedV(q), KIND_FINITE)) {
        anySpecial = 1u;
        specialTiles[tile % 2u] = 1u;
      }
      barrier();
      // Plain tiles of rows that are not aligned are copied here, and then treated as the others: where tensors lie changes no bit.
      bool plain = PLAIN && TEAM == 1 && !aligned && tile >= plainBegin && tile < plainEnd && allSet &&
                   !anyInSubgroup(specialTiles[tile % 2u] != 0u);
      if (invocation() == 0u) specialTiles[(tile + 1u) % 2u] = 0u;
      [[dont_unroll]] for (uint step = firstStep * CAREFUL_STEPS; step < STEPS * CAREFUL_STEPS; step++) {
        if (TEAM == 1) plain = plain && plainStep(step, factor);
        if (!plain) carefulSteps(p, b, tile, step, true, KIND_FINITE);
      }
      if (TEAM == 1) allSet = seesKeys();
      tile++;
    }
  }

  barrier();
  computeAnew(0u);
  if (CAREFUL && anyInSubgroup(anySpecial != 0u)) {
    [[dont_unroll]] for (tile = 0u; tile < tiles; tile++) {
      computeAnew(0u);
      p = readAnew(p);
      copyKeys(p, b, b.keysBegin + (tile + zero) * KEYS, TEAM == 1 ? wholeK : alignedK(p));
      [[dont_unroll]] for (uint kind = KIND_FINITE + 1u; kind < KINDS; kind++) {
        computeAnew(0u);
        p = readAnew(p);
        copyValues(p, b, b.keysBegin + (tile + zero) * KEYS, TEAM == 1 ? wholeV : alignedV(p), kind);
        barrier();
        [[dont_unroll]] for (uint step = 0; step < STEPS * CAREFUL_STEPS; step++) carefulSteps(p, b, tile, step, false, kind);
        barrier();
      }
    }
  }
  computeAnew(0u);
  if (TEAM > 1) {
    b.rowBase = waiting.x;
    b.rowLimit = waiting.y;
    b.seqlenQ = waiting.z;
  }
  storeRows(readAnew(p), b);
}
