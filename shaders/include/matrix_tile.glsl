// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_MATRIX_TILE_GLSL
#define SACCADE_MATRIX_TILE_GLSL
// Tiles of K and V in shared memory, as matrix units take them: K as rows of channels, V turned round, as rows of keys.
//
// An invocation copies pieces: 8 channels of a key of K, or of VALUES_EACH keys of V, whose elements of one channel it writes together.
// Keys of V lie in the order of their weights: see matrix_weights.glsl.
//
// Rows are padded so that their length in 32-bit words is 4 n + 2: matrices are read 64 bits at a time, and 16 rows then meet
// every bank once.

#include "attention.glsl"

layout(constant_id = SPEC_SUBGROUP) const uint SUBGROUP = 32;
layout(constant_id = SPEC_MATRIX_M) const uint MATRIX_M = 16;
layout(constant_id = SPEC_MATRIX_N) const uint MATRIX_N = 16;
layout(constant_id = SPEC_MATRIX_K) const uint MATRIX_K = 16;
layout(constant_id = SPEC_KEY_TILES) const uint KEY_TILES = 2;   // even
layout(constant_id = SPEC_TEAM) const uint TEAM = 1;             // subgroups that share query rows; divides KEY_TILES / 2
layout(constant_id = SPEC_ROLLED) const uint ROLLED = 0;

// Pieces of a tile and blocks of channels or keys, whose arrays lie in registers: GPUs need constant indices for that. Drivers of CPUs, for
// which that is memory anyway, take a minute for the code.
#define EACH_BLOCK(d, count, statement)                             \
  if (ROLLED != 0) {                                                \
    [[dont_unroll]] for (uint d = 0; d < count; d++) { statement; } \
  } else {                                                          \
    [[unroll]] for (uint d = 0; d < count; d++) { statement; }      \
  }

const uint STEP_KEYS = KEY_TILES * MATRIX_M;                     // of a step of the softmax
const uint PAIR_DISTANCE = MATRIX2 != 0 ? 1 : MATRIX_M;      // between the keys whose elements of V share a word

const uint BLOCKS_QK = (HEAD_DIM_QK + MATRIX_K - 1) / MATRIX_K;  // of channels
const uint OWN_BLOCKS_V = (HEAD_DIM_V + MATRIX_M * TEAM - 1) / (MATRIX_M * TEAM);  // of a subgroup
const uint BLOCKS_V = OWN_BLOCKS_V * TEAM;
const uint PIECES_QK = BLOCKS_QK * MATRIX_K / 8;                 // of a row
const uint PIECES_V = BLOCKS_V * MATRIX_M / 8;
const uint K_PITCH = PIECES_QK * 2 + 1;                          // of a row in shared memory, in uvec2
const uint V_PITCH = KEYS / 4 + 1;

const uint VALUES_EACH = KEYS * PIECES_V >= 4 * LOCAL_SIZE * TEAM ? 4 : 2;
const uint VALUE_BLOCKS = KEYS / VALUES_EACH;
const uint K_COUNT = (KEYS * PIECES_QK + LOCAL_SIZE - 1) / LOCAL_SIZE;        // pieces of an invocation
const uint V_COUNT = (VALUE_BLOCKS * PIECES_V + LOCAL_SIZE - 1) / LOCAL_SIZE;
const bool K_EVEN = KEYS * PIECES_QK % LOCAL_SIZE == 0;                       // no invocation has a piece too many
const bool V_EVEN = VALUE_BLOCKS * PIECES_V % LOCAL_SIZE == 0;

shared uvec2 keyTile[KEYS * K_PITCH];
shared uvec2 valueTile[BLOCKS_V * MATRIX_M * V_PITCH];

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer PiecesIn { uvec4 v[]; };

// Teams are for devices with few registers, and what they compute from an invocation's number would take many in loops. A zero that
// compilers do not see through makes them compute it anew.
shared uint sharedZeros[2];
uint zero = 0u;
void computeAnew(uint i) {
  if (TEAM > 1) zero = sharedZeros[i];
}
uint subgroup() { return gl_SubgroupID + zero; }
uint lane() { return gl_SubgroupInvocationID + zero; }
uint invocation() { return TEAM > 1 ? subgroup() * SUBGROUP + lane() : gl_LocalInvocationIndex; }

// Pieces on their way. Teams have no registers for many of them: each comes to its place before the next is asked for.
const uint K_HELD = TEAM > 1 ? 1 : K_COUNT;
const uint V_HELD = TEAM > 1 ? 1 : V_COUNT;
uvec4 keyPieces[K_HELD];
uvec4 valuePieces[V_HELD * VALUES_EACH];
#define VALUE_PIECE(i, k) valuePieces[(i) % V_HELD * VALUES_EACH + (k)]

#define EACH_PIECE(i, count, statement)                             \
  if (ROLLED != 0 || TEAM > 1 && count > 2) {                       \
    [[dont_unroll]] for (uint i = 0; i < count; i++) { statement; } \
  } else {                                                          \
    [[unroll]] for (uint i = 0; i < count; i++) { statement; }      \
  }

// Rows that begin at multiples of 16 bytes and consist of whole pieces.
bool isAligned(Address base, uint strideB, uint strideH, uint strideT, const uint headDim) {
  return headDim % 8 == 0 && ((uint(base) | 2u * (strideB | strideH | strideT)) & 15u) == 0u;
}

// 8 channels of an aligned row; those past the head dim are 0 and never read.
uvec4 loadPiece(Address row, uint piece, const uint headDim) {
  return 8 * piece < headDim ? PiecesIn(row + 16u * piece).v[0] : uvec4(0);
}

// Channels d and d + 1 of any row.
uint loadWord(Address row, uint d, const uint headDim) {
  uint word = d < headDim ? load16(row, d) : 0u;
  if (d + 1u < headDim) word |= load16(row, d + 1u) << 16;
  return word;
}

// Which piece the i-th of an invocation is: row (or block of rows) and piece of it. LOCAL_SIZE is mostly a multiple of the row's
// pieces; then the invocation's part is known before any loop.
uint keyOfPiece(uint i) {
  uint t = invocation();
  return LOCAL_SIZE % PIECES_QK == 0 ? t / PIECES_QK + i * (LOCAL_SIZE / PIECES_QK) : (t + i * LOCAL_SIZE) / PIECES_QK;
}
uint pieceOfKey(uint i) {
  uint t = invocation();
  return LOCAL_SIZE % PIECES_QK == 0 ? t % PIECES_QK : (t + i * LOCAL_SIZE) % PIECES_QK;
}
uint blockOfValue(uint i) {
  uint t = invocation();
  return LOCAL_SIZE % VALUE_BLOCKS == 0 ? t % VALUE_BLOCKS : (t + i * LOCAL_SIZE) % VALUE_BLOCKS;
}
uint pieceOfValue(uint i) {
  uint t = invocation();
  return LOCAL_SIZE % VALUE_BLOCKS == 0 ? t / VALUE_BLOCKS + i * (LOCAL_SIZE / VALUE_BLOCKS) : (t + i * LOCAL_SIZE) / VALUE_BLOCKS;
}
bool hasKeyPiece(uint i) { return K_EVEN || invocation() + i * LOCAL_SIZE < KEYS * PIECES_QK; }
bool hasValuePiece(uint i) { return V_EVEN || invocation() + i * LOCAL_SIZE < VALUE_BLOCKS * PIECES_V; }

// The first key of the pair whose elements make word `word` of a row of V, or of weights. The second is PAIR_DISTANCE further on.
uint firstOfPair(uint word) { return word / PAIR_DISTANCE * (2 * PAIR_DISTANCE) + word % PAIR_DISTANCE; }

uint keyOfValue(uint block, uint k) { return firstOfPair(block * (VALUES_EACH / 2) + k / 2) + k % 2 * PAIR_DISTANCE; }

// Where an invocation's first pieces lie in a tile, in bytes.
struct TileOffsets {
  uint key, value;
};
TileOffsets tileOffsets(const AttentionParams p) {
  return TileOffsets(2u * (p.kStrideT * keyOfPiece(0u) + 8u * pieceOfKey(0u)),
                     2u * (p.vStrideT * keyOfValue(blockOfValue(0u), 0u) + 8u * pieceOfValue(0u)));
}

void fetchWholeKey(const AttentionParams p, const Block b, Address kTile, const TileOffsets offsets, uint first, uint i) {
  if (!hasKeyPiece(i)) return;
  if (PAGE_SIZE == 0 && LOCAL_SIZE % PIECES_QK == 0 && PIECES_QK * 8 == HEAD_DIM_QK) {
    uint distance = 2u * i * (LOCAL_SIZE / PIECES_QK) * p.kStrideT;
    keyPieces[i % K_HELD] = PiecesIn(kTile + uint64_t(distance) + uint64_t(offsets.key)).v[0];
  } else {
    keyPieces[i % K_HELD] = loadPiece(keyRowOfK(p, b, first + keyOfPiece(i)), pieceOfKey(i), HEAD_DIM_QK);
  }
}
void fetchWholeValue(const AttentionParams p, const Block b, Address vTile, const TileOffsets offsets, uint first, uint i, uint k) {
  if (!hasValuePiece(i)) {
    VALUE_PIECE(i, k) = uvec4(0);
  } else if (PAGE_SIZE == 0 && LOCAL_SIZE % VALUE_BLOCKS == 0 && PIECES_V * 8 == HEAD_DIM_V) {
    uint distance = 2u * keyOfValue(0u, k) * p.vStrideT;
    VALUE_PIECE(i, k) =
        PiecesIn(vTile + uint64_t(distance) + uint64_t(offsets.value) + 16u * i * (LOCAL_SIZE / VALUE_BLOCKS)).v[0];
  } else {
    Address row = keyRowOfV(p, b, first + keyOfValue(blockOfValue(i), k));
    VALUE_PIECE(i, k) = loadPiece(row, pieceOfValue(i), HEAD_DIM_V);
  }
}
// A tile of which every key exists and every row is aligned. Its address is that of the whole work-group; mostly its pieces lie at
// distances that are, too. Where rows have fewer pieces than blocks have, the rest is 0 and never read.
void fetchWholeKeys(const AttentionParams p, const Block b, Address kHead, const TileOffsets offsets, uint first) {
  Address kTile = tensorAddress(kHead, first * p.kStrideT);
  EACH_BLOCK(i, K_COUNT, fetchWholeKey(p, b, kTile, offsets, first, i))
}
void fetchWholeValues(const AttentionParams p, const Block b, Address vHead, const TileOffsets offsets, uint first) {
  Address vTile = tensorAddress(vHead, first * p.vStrideT);
  [[unroll]] for (uint k = 0; k < VALUES_EACH; k++) {
    EACH_BLOCK(i, V_COUNT, fetchWholeValue(p, b, vTile, offsets, first, i, k))
  }
}

// Any tile of aligned rows; keys past the last are 0.
void fetchKey(const AttentionParams p, const Block b, uint first, uint i) {
  uint key = first + keyOfPiece(i);
  uvec4 x = uvec4(0);
  if (hasKeyPiece(i)) x = loadPiece(keyRowOfK(p, b, key), pieceOfKey(i), HEAD_DIM_QK);
  keyPieces[i % K_HELD] = key >= b.seqlenK ? uvec4(0) : x;
}
void fetchKeys(const AttentionParams p, const Block b, uint first) { EACH_BLOCK(i, K_COUNT, fetchKey(p, b, first, i)) }

void fetchValue(const AttentionParams p, const Block b, uint first, uint i) {
  [[unroll]] for (uint k = 0; k < VALUES_EACH; k++) {
    uint key = first + keyOfValue(blockOfValue(i), k);
    uvec4 x = uvec4(0);
    if (hasValuePiece(i)) x = loadPiece(keyRowOfV(p, b, key), pieceOfValue(i), HEAD_DIM_V);
    VALUE_PIECE(i, k) = key >= b.seqlenK ? uvec4(0) : x;
  }
}
void fetchValues(const AttentionParams p, const Block b, uint first) { EACH_BLOCK(i, V_COUNT, fetchValue(p, b, first, i)) }

void stageKey(uint i) {
  if (!hasKeyPiece(i)) return;
  uint at = keyOfPiece(i) * K_PITCH + 2 * pieceOfKey(i);
  keyTile[at] = keyPieces[i % K_HELD].xy;
  keyTile[at + 1] = keyPieces[i % K_HELD].zw;
}
void stageKeys() { EACH_BLOCK(i, K_COUNT, stageKey(i)) }

// The elements of one channel of a pair of keys; `a` and `b` hold two channels each.
uint pairOf(uint a, uint b, bool second) {
  return second ? (a >> 16) | (b & 0xffff0000u) : (a & 0xffffu) | (b << 16);
}

void stageValue(uint i) {
  if (!hasValuePiece(i)) return;
  uint block = blockOfValue(i), row = 8 * pieceOfValue(i);
  [[unroll]] for (uint c = 0; c < 8; c++) {
    bool second = c % 2 == 1;
    uint word = pairOf(VALUE_PIECE(i, 0)[c / 2], VALUE_PIECE(i, 1)[c / 2], second);
    if (VALUES_EACH == 4) {
      uint next = pairOf(VALUE_PIECE(i, VALUES_EACH - 2)[c / 2], VALUE_PIECE(i, VALUES_EACH - 1)[c / 2], second);
      valueTile[(row + c) * V_PITCH + block] = uvec2(word, next);
    } else {
      valueTile[(row + c) * V_PITCH + block / 2][block % 2] = word;
    }
  }
}
void stageValues() { EACH_BLOCK(i, V_COUNT, stageValue(i)) }

// Values that are not finite. 0 times such a value is NaN, so that the value of a hidden key must not meet the matrix unit.

#define KIND_FINITE 0u
#define KIND_NAN 1u
#define KIND_PLUS_INFINITY 2u
#define KIND_MINUS_INFINITY 3u
const uint KINDS = 4;

// The sum carries into the sign of a half whose exponent is the largest.
bool isSpecial(uint i) {
  uvec4 carries = uvec4(0);
  [[unroll]] for (uint k = 0; k < VALUES_EACH; k++) carries |= ((VALUE_PIECE(i, k) & 0x7fff7fffu) + 0x04000400u) & 0x80008000u;
  return (carries.x | carries.y | carries.z | carries.w) != 0u;
}
bool holdsSpecialValue() {
  bool special = false;
  EACH_BLOCK(i, V_COUNT, special = isSpecial(i) || special)
  return special;
}

uint kindOf(uint bits) {
  if ((bits & 0x7c00u) != 0x7c00u) return KIND_FINITE;
  return (bits & 0x3ffu) != 0u ? KIND_NAN : (bits & 0x8000u) == 0u ? KIND_PLUS_INFINITY : KIND_MINUS_INFINITY;
}

// Of two elements the finite ones and 0 for the others; or 1 for those of a kind and 0 for the others.
uint kept(uint word, uint kind) {
  uint value = kind == KIND_FINITE ? word : 0x3c003c00u;
  return (kindOf(word & 0xffffu) == kind ? value & 0xffffu : 0u) | (kindOf(word >> 16) == kind ? value & 0xffff0000u : 0u);
}

void keepValueOf(uint kind, uint i) {
  [[unroll]] for (uint k = 0; k < VALUES_EACH; k++) {
    [[unroll]] for (uint c = 0; c < 4; c++) VALUE_PIECE(i, k)[c] = kept(VALUE_PIECE(i, k)[c], kind);
  }
}
void keepValuesOf(uint kind) { EACH_BLOCK(i, V_COUNT, keepValueOf(kind, i)) }

// A whole tile of teams, piece by piece.
void copyWholeKeys(const AttentionParams p, const Block b, Address kHead, const TileOffsets offsets, uint first) {
  Address kTile = tensorAddress(kHead, first * p.kStrideT);
  EACH_PIECE(i, K_COUNT, {
    fetchWholeKey(p, b, kTile, offsets, first, i);
    stageKey(i);
  })
}
bool copyWholeValues(const AttentionParams p, const Block b, Address vHead, const TileOffsets offsets, uint first) {
  Address vTile = tensorAddress(vHead, first * p.vStrideT);
  bool special = false;
  EACH_PIECE(i, V_COUNT, {
    [[unroll]] for (uint k = 0; k < VALUES_EACH; k++) fetchWholeValue(p, b, vTile, offsets, first, i, k);
    special = isSpecial(i) || special;
    stageValue(i);
  })
  return special;
}

// Tiles of K and V of any kind, elements of one kind of V.

void copyKeys(const AttentionParams p, const Block b, uint first, bool aligned) {
  if (aligned) {
    if (TEAM == 1) {
      fetchKeys(p, b, first);
      stageKeys();
    } else {
      EACH_PIECE(i, K_COUNT, {
        fetchKey(p, b, first, i);
        stageKey(i);
      })
    }
    return;
  }
  const uint words = PIECES_QK * 4;  // of a row
  [[dont_unroll]] for (uint i = invocation(); i < KEYS * words; i += LOCAL_SIZE) {
    uint key = i / words, word = i % words;
    uint x = loadWord(keyRowOfK(p, b, first + key), 2u * word, HEAD_DIM_QK);
    keyTile[key * K_PITCH + word / 2][word % 2] = first + key < b.seqlenK ? x : 0u;
  }
}

// True if this invocation met a value that is not finite.
bool copyValues(const AttentionParams p, const Block b, uint first, bool aligned, uint kind) {
  bool special = false;
  if (aligned && TEAM > 1) {
    EACH_PIECE(i, V_COUNT, {
      fetchValue(p, b, first, i);
      special = isSpecial(i) || special;
      keepValueOf(kind, i);
      stageValue(i);
    })
    return special;
  }
  if (aligned) {
    fetchValues(p, b, first);
    special = holdsSpecialValue();
    if (special || kind != KIND_FINITE) keepValuesOf(kind);
    stageValues();
    return special;
  }
  const uint words = KEYS / 2;  // of a row
  uint lost = 0u;
  [[dont_unroll]] for (uint i = invocation(); i < PIECES_V * 8 * words; i += LOCAL_SIZE) {
    uint channel = i / words, word = i % words, key = first + firstOfPair(word);
    uint x = 0u;
    if (channel < HEAD_DIM_V && key < b.seqlenK) x = load16(keyRowOfV(p, b, key), channel);
    if (channel < HEAD_DIM_V && key + PAIR_DISTANCE < b.seqlenK) x |= load16(keyRowOfV(p, b, key + PAIR_DISTANCE), channel) << 16;
    lost |= kept(x, KIND_FINITE) ^ x;
    valueTile[channel * V_PITCH + word / 2][word % 2] = kept(x, kind);
  }
  return lost != 0u;
}

#endif  // SACCADE_MATRIX_TILE_GLSL
