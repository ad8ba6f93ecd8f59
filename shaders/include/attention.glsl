// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_ATTENTION_GLSL
#define SACCADE_ATTENTION_GLSL
// What all attention kernels share: parameters, where a work-group works, and the one rule of visibility.
//
// A hidden key is one whose final score is -inf, whatever hid it: causal mask, window, lengths, boolean mask, a bias of -inf or
// the arithmetic itself. Kernels select on the score; nothing is ever added to hide a key.

#include "quantised.glsl"
#include "push.glsl"
#include "attention_params.h"

layout(local_size_x_id = SPEC_LOCAL_SIZE) in;
layout(constant_id = SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 8;
layout(constant_id = SPEC_HEAD_DIM_QK) const uint HEAD_DIM_QK = 64;
layout(constant_id = SPEC_HEAD_DIM_V) const uint HEAD_DIM_V = 64;
layout(constant_id = SPEC_TOP_LEFT) const uint TOP_LEFT = 0;
layout(constant_id = SPEC_HAS_KEYS) const uint HAS_KEYS = 1;
layout(constant_id = SPEC_MASK) const uint MASK = 0;
layout(constant_id = SPEC_BIAS) const uint BIAS = 0;
layout(constant_id = SPEC_SEQLENS_Q) const uint SEQLENS_Q = 0;
layout(constant_id = SPEC_SEQLENS_K) const uint SEQLENS_K = 0;
layout(constant_id = SPEC_LSE) const uint LSE = 0;
layout(constant_id = SPEC_KEYS) const uint KEYS = 8;
layout(constant_id = SPEC_CHANNELS) const uint CHANNELS = 32;
layout(constant_id = SPEC_WINDOW_LEFT) const uint WINDOW_LEFT = 0;
layout(constant_id = SPEC_WINDOW_RIGHT) const uint WINDOW_RIGHT = 0;
layout(constant_id = SPEC_SOFTCAP) const uint SOFTCAP = 0;
layout(constant_id = SPEC_ALIBI) const uint ALIBI = 0;
layout(constant_id = SPEC_SINK) const uint SINK = 0;
layout(constant_id = SPEC_PACKED) const uint PACKED = 0;
layout(constant_id = SPEC_PAGE_SIZE) const uint PAGE_SIZE = 0;
layout(constant_id = SPEC_FOLD) const uint FOLD = 1;
layout(constant_id = SPEC_SPLIT) const uint SPLIT = 0;
layout(constant_id = SPEC_K_SCALE) const uint K_SCALE = 0;
layout(constant_id = SPEC_V_SCALE) const uint V_SCALE = 0;
layout(constant_id = SPEC_SCALE_BLOCK) const uint SCALE_BLOCK = 0;
layout(constant_id = SPEC_COLUMNS) const uint COLUMNS = 8;
layout(constant_id = SPEC_ROWS_EACH) const uint ROWS_EACH = 4;
layout(constant_id = SPEC_SUBGROUP_ROWS) const uint SUBGROUP_ROWS = 0;
layout(constant_id = SPEC_PARTIAL_ROWS) const uint PARTIAL_ROWS = 8;
layout(constant_id = SPEC_TILES) const uint TILES = TILES_PLAIN | TILES_CAREFUL;
const bool PLAIN = (TILES & TILES_PLAIN) != 0;
const bool CAREFUL = (TILES & TILES_CAREFUL) != 0;

const uint QUADS_QK = (HEAD_DIM_QK + 3) / 4;
const uint QUADS_V = (HEAD_DIM_V + 3) / 4;

const float kLog2E = 1.4426950408889634;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ParamsIn { AttentionParams value; };

bool isNan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// A block of consecutive query rows, of FOLD query heads that share a key/value head, and the keys that its rows may see. Rows
// and keys count inside their batch entry or packed sequence.
struct Block {
  uint index;             // of the block, whichever of its parts this is
  uint part;              // of its keys
  uint batch, head, headKv;
  bool isHead;            // false: the last block of a group has room for more heads than there are
  uint firstRow;
  uint rowLimit;          // rows that the entry has in `out`; those from seqlenQ on are written as 0
  uint rowBase, keyBase;  // packed: tokens of the sequence's first row and key
  uint seqlenQ, seqlenK;  // lengths of this batch entry
  int offset;             // row i is aligned with key i + offset
  uint keysBegin;         // no row of the block sees a key before it
  uint keysEnd;           // ... or at or past it
  uint plainBegin;        // every row of the block sees every key from it
  uint plainEnd;          // ... until before it
  float slope;            // ALiBi
};

uint clampedInt(Address values, uint index, uint limit) { return uint(clamp(IntsIn(values).v[index], 0, int(limit))); }

// Finds the packed sequence that slot `slot` of a head belongs to. A sequence that begins at token t owns the slots from
// t / rows + (its number) on: always enough, and increasing from one sequence to the next, so that neither a prefix sum over the
// lengths nor a longest length is needed. Sequence numSequences stands for the tokens past the last one.
void findSequence(const AttentionParams p, uint slot, uint rows, inout Block b) {
  Address cuQ = push.buffers[BUFFER_CU_SEQLENS_Q], cuK = push.buffers[BUFFER_CU_SEQLENS_K];
  uint low = 0, high = p.numSequences;
  while (low < high) {
    uint middle = (low + high + 1u) / 2u;
    bool starts = clampedInt(cuQ, middle, p.seqlenQ) / rows + middle <= slot;
    low = starts ? middle : low;
    high = starts ? high : middle - 1u;
  }
  uint next = min(low + 1u, p.numSequences);
  b.rowBase = clampedInt(cuQ, low, p.seqlenQ);
  b.firstRow = (slot - min(b.rowBase / rows + low, slot)) * rows;
  if (low < p.numSequences) {
    b.batch = low;
    b.rowLimit = max(clampedInt(cuQ, next, p.seqlenQ), b.rowBase) - b.rowBase;
    b.seqlenQ = b.rowLimit;
    if (PAGE_SIZE != 0) {
      b.seqlenK = uint(clamp(IntsIn(cuK).v[next] - IntsIn(cuK).v[low], 0, int(p.seqlenK)));
    } else {
      b.keyBase = clampedInt(cuK, low, p.seqlenK);
      b.seqlenK = max(clampedInt(cuK, next, p.seqlenK), b.keyBase) - b.keyBase;
    }
  } else {
    b.batch = max(p.numSequences, 1u) - 1u;
    b.rowLimit = p.seqlenQ - b.rowBase;
    b.seqlenQ = 0;
    b.seqlenK = 0;
  }
}

// Of ALiBi.
float slopeOf(const AttentionParams p, const Block b) {
  if (ALIBI == 0) return 0.0;
  return loadF32(elementAddress(push.buffers[BUFFER_ALIBI], b.batch * p.alibiStrideB + b.head, 4u), 0u);
}

// Block `index` and its keys, or of these a part. A block has `rows` query rows per head; `fold` is the head of its FOLD that the
// invocation works for.
Block blockOf(const AttentionParams p, uint index, uint part, uint rows, uint fold) {
  Block b;
  b.index = index;
  b.part = part;
  uint headIndex = b.index / p.rowBlocks;
  uint rowBlock = b.index - headIndex * p.rowBlocks;
  b.batch = headIndex / p.headBlocks;
  uint headBlock = headIndex - b.batch * p.headBlocks;
  uint blocksPerGroup = (p.headsPerGroup + FOLD - 1u) / FOLD;
  b.headKv = headBlock / blocksPerGroup;
  uint headOfGroup = (headBlock - b.headKv * blocksPerGroup) * FOLD + fold;
  b.isHead = headOfGroup < p.headsPerGroup;
  b.head = b.headKv * p.headsPerGroup + min(headOfGroup, p.headsPerGroup - 1u);
  b.rowBase = 0;
  b.keyBase = 0;
  if (PACKED != 0) {
    findSequence(p, rowBlock, rows, b);
  } else {
    b.firstRow = rowBlock * rows;
    b.rowLimit = p.seqlenQ;
    b.seqlenQ = SEQLENS_Q != 0 ? clampedInt(push.buffers[BUFFER_SEQLENS_Q], b.batch, p.seqlenQ) : p.seqlenQ;
    b.seqlenK = SEQLENS_K != 0 ? clampedInt(push.buffers[BUFFER_SEQLENS_K], b.batch, p.seqlenK) : p.seqlenK;
  }
  b.offset = TOP_LEFT != 0 ? 0 : int(b.seqlenK) - int(b.seqlenQ);
  b.keysBegin = 0;
  b.keysEnd = b.seqlenK;
  b.plainBegin = 0;
  b.plainEnd = b.seqlenK;
  int firstDiagonal = int(b.firstRow) + b.offset;
  int lastDiagonal = int(min(b.firstRow + rows, b.seqlenQ)) - 1 + b.offset;
  if (WINDOW_LEFT != 0) {
    b.keysBegin = uint(clamp(firstDiagonal - p.windowLeft, 0, int(b.seqlenK)));
    b.plainBegin = uint(clamp(lastDiagonal - p.windowLeft, 0, int(b.seqlenK)));
  }
  if (WINDOW_RIGHT != 0) {
    b.keysEnd = uint(clamp(lastDiagonal + p.windowRight + 1, 0, int(b.seqlenK)));
    b.plainEnd = uint(clamp(firstDiagonal + p.windowRight + 1, 0, int(b.seqlenK)));
  }
  if (MASK != 0 || BIAS != 0 || SOFTCAP != 0 || ALIBI != 0) b.plainEnd = 0;
  if (b.firstRow >= b.seqlenQ) b.keysEnd = 0;
  if (SPLIT != 0) {
    // Whole steps, so that only the last part has a remainder.
    uint count = max(b.keysEnd, b.keysBegin) - b.keysBegin;
    uint each = ((count + p.splits - 1u) / p.splits + KEYS - 1u) / KEYS * KEYS;
    b.keysBegin = min(b.keysBegin + b.part * each, b.keysEnd);
    b.keysEnd = min(b.keysBegin + each, b.keysEnd);
  }
  b.slope = slopeOf(p, b);
  return b;
}

// True if no row of the block exists: packed sequences leave slots over. The whole work-group may return.
bool isVacant(const Block b) { return PACKED != 0 && b.firstRow >= b.rowLimit; }

// With FOLD heads and PARTIAL_ROWS / FOLD rows to a block: its row `lane` is one of `out`.
bool ownsRow(const Block b, uint lane) {
  return b.isHead && lane / FOLD < PARTIAL_ROWS / FOLD && b.firstRow + lane / FOLD < b.rowLimit;
}

// Every key from `first` on, `count` of them, is visible to every row and its score final as it is.
bool isPlain(const Block b, uint first, uint count) { return first >= b.plainBegin && first + count <= b.plainEnd; }

// Addresses. Devices may execute a load with a uniform address although every invocation is switched off, so whatever row or
// key is asked for, the address lies inside the tensor.

uint tokenOf(const AttentionParams p, const Block b, uint row) { return min(b.rowBase + row, p.seqlenQ - 1u); }

Address queryRow(const AttentionParams p, const Block b, uint row) {
  return tensorAddress(push.buffers[BUFFER_Q], b.batch * p.qStrideB + b.head * p.qStrideH + tokenOf(p, b, row) * p.qStrideT);
}

// Where key `key` lies on axis 0 (batch entries or pages) and axis 2 (tokens) of K and V. Copies have no pages.
uvec2 placeOfKey(const AttentionParams p, const Block b, uint key) {
  if (PAGE_SIZE != 0 && WIDENED == 0) {
    uint inside = min(key, max(b.seqlenK, 1u) - 1u);
    uint column = inside / PAGE_SIZE;
    Address entry = elementAddress(push.buffers[BUFFER_BLOCK_TABLE], b.batch * p.tableStrideB + column, 4u);
    return uvec2(clampedInt(entry, 0u, p.pages - 1u), inside - column * PAGE_SIZE);
  }
  return uvec2(b.batch, min(b.keyBase + key, p.seqlenK - 1u));
}

// Row `key` of K or V, whose address and strides are given.
Address keyRow(const AttentionParams p, const Block b, Address base, uint strideB, uint strideH, uint strideT, uint key) {
  uvec2 place = placeOfKey(p, b, key);
  return elementAddress(base, place.x * strideB + b.headKv * strideH + place.y * strideT, KEY_BYTES);
}

// What the elements of row `key` are multiplied by. One that is not finite counts as NaN.
float keyScale(const AttentionParams p, const Block b, Address base, uint strideB, uint strideH, uint strideT, uint key) {
  uvec2 place = placeOfKey(p, b, key);
  uint element = place.x * strideB + b.headKv * strideH;
  if (SCALE_BLOCK != 0) element += place.y / SCALE_BLOCK * strideT;
  float scale = loadF32(elementAddress(base, element, 4u), 0u);
  bool finite = (floatBitsToUint(scale) & 0x7f800000u) != 0x7f800000u;
  return finite ? scale : uintBitsToFloat(0x7fc00000u);
}

Address keyRowOfK(const AttentionParams p, const Block b, uint key) {
  return keyRow(p, b, push.buffers[BUFFER_K], p.kStrideB, p.kStrideH, p.kStrideT, key);
}

Address keyRowOfV(const AttentionParams p, const Block b, uint key) {
  Address base = push.buffers[BUFFER_V];
  if (WIDENED != 0) base = elementAddress(base, p.widenedV, 4u);
  return keyRow(p, b, base, p.vStrideB, p.vStrideH, p.vStrideT, key);
}

// The scales of row `key` of K and V; 1 where there are none.
float keyScaleOfK(const AttentionParams p, const Block b, uint key) {
  if (K_SCALE == 0) return 1.0;
  return keyScale(p, b, push.buffers[BUFFER_K_SCALE], p.kScaleStrideB, p.kScaleStrideH, p.kScaleStrideT, key);
}

float keyScaleOfV(const AttentionParams p, const Block b, uint key) {
  if (V_SCALE == 0) return 1.0;
  return keyScale(p, b, push.buffers[BUFFER_V_SCALE], p.vScaleStrideB, p.vScaleStrideH, p.vScaleStrideT, key);
}

Address outRow(const AttentionParams p, const Block b, uint row) {
  return tensorAddress(push.buffers[BUFFER_OUT],
                       b.batch * p.outStrideB + b.head * p.outStrideH + tokenOf(p, b, row) * p.outStrideT);
}

void storeLse(const AttentionParams p, const Block b, uint row, float lse) {
  uint element = b.batch * p.lseStrideB + b.head * p.lseStrideH + tokenOf(p, b, row) * p.lseStrideT;
  FloatsOut(elementAddress(push.buffers[BUFFER_LSE], element, 4u)).v[0] = lse;
}

// Partial results: per part of a block HEAD_DIM_V sums, a maximum and a total of every row.
const uint PARTIAL_MAXIMUM = HEAD_DIM_V;
const uint PARTIAL_TOTAL = HEAD_DIM_V + 1;

Address partialAddress(const AttentionParams p, Address base, uint block, uint part, uint row, uint value) {
  return elementAddress(base, ((block * p.splits + part) * (HEAD_DIM_V + 2u) + value) * PARTIAL_ROWS + row, 4u);
}

void storePartial(const AttentionParams p, const Block b, uint row, uint value, float x) {
  FloatsOut(partialAddress(p, push.buffers[BUFFER_PARTIAL_OUT], b.index, b.part, row, value)).v[0] = x;
}

float loadPartial(const AttentionParams p, const Block b, uint part, uint row, uint value) {
  return loadF32(partialAddress(p, push.buffers[BUFFER_PARTIAL_IN], b.index, part, row, value), 0u);
}

// softcap * tanh(score / softcap). Below 1, tanh(x) = x + x^3 P(x^2), minimax in relative error, fitted by Lawson's iteratively
// reweighted least squares (5e-9, 8e-8 evaluated in fp32); above it exp cannot do harm: 2 / (inf + 1) is 0.
float softcapped(float score, float softcap) {
  float x = score / softcap;
  float a = abs(x);
  float z = a * a;
  float t = -0.000358450022758916;
  t = t * z + 0.002301357686519623;
  t = t * z - 0.007946096360683441;
  t = t * z + 0.02148665115237236;
  t = t * z - 0.05387980118393898;
  t = t * z + 0.13332344591617584;
  t = t * z - 0.33333295583724976;
  t = a < 1.0 ? a + a * z * t : 1.0 - 2.0 / (exp2(a * (2.0 * kLog2E)) + 1.0);
  bool keeps = isNan(x) || a < 1e-4;  // tanh(x) is x there
  return keeps ? score : x < 0.0 ? -softcap * t : softcap * t;
}

// Conditions as numbers, since few devices hold many of the others at a time.
uint largestIfZero(uint x) { return min(x, 1u) - 1u; }
uint largestIfHidden(float score) { return largestIfZero(floatBitsToUint(score) ^ floatBitsToUint(-kInfinity)); }

// The final score of a pair: -inf if the key is hidden from the row. `score` is the scaled product; row and key may lie past
// the entry's lengths.
float finalScore(const AttentionParams p, const Block b, uint row, uint key, float score) {
  if (SOFTCAP != 0) score = softcapped(score, p.softcap);
  // A row sees keys from `begin` to before `end`. One comparison tells: it counts from the smallest number, which makes keys before
  // `begin`, and those that are hidden in other ways, the largest.
  int diagonal = int(row) + b.offset, begin = WINDOW_LEFT != 0 ? max(diagonal - p.windowLeft, 0) : 0, end = int(b.seqlenK);
  if (WINDOW_RIGHT != 0) end = min(end, diagonal + p.windowRight + 1);
  const bool fromSmallest = WINDOW_LEFT != 0 || MASK != 0 || BIAS != 0;
  uint origin = fromSmallest ? uint(begin) + 0x80000000u : 0u, distance = key - origin;
  uint maskRow = min(row, p.seqlenQ - 1u), maskKey = min(key, p.seqlenK - 1u);
  if (MASK != 0) {
    uint element = b.batch * p.maskStrideB + b.head * p.maskStrideH + maskRow * p.maskStrideQ + maskKey * p.maskStrideK;
    uint seen = load8(elementAddress(push.buffers[BUFFER_MASK], element, 1u), 0u);
    distance |= largestIfZero(seen);
  }
  if (BIAS != 0) {
    uint element = b.batch * p.biasStrideB + b.head * p.biasStrideH + maskRow * p.biasStrideQ + maskKey * p.biasStrideK;
    Address base = push.buffers[BUFFER_BIAS];
    float bias;
    if (BIAS == 1) bias = loadF32(elementAddress(base, element, 4u), 0u);
    else if (BIAS == 2) bias = halfToFloat(load16(elementAddress(base, element, 2u), 0u));
    else bias = bfloatToFloat(load16(elementAddress(base, element, 2u), 0u));
    // Only a bias of -inf hides; selecting it keeps a NaN score from surviving the addition.
    distance |= largestIfHidden(bias);
    score += bias;
  }
  if (ALIBI != 0) score -= b.slope * float(abs(int(key) - diagonal));
  return int(distance) < (fromSmallest ? int(uint(max(end, begin)) - origin) : end) ? score : -kInfinity;
}

// Where the online softmax of a row starts: a sink is a key without a value whose score is seen first.
float firstMaximum(const Block b) { return SINK != 0 ? loadF32(push.buffers[BUFFER_SINK], b.head) : -kInfinity; }
float firstTotal(float maximum) { return maximum == -kInfinity ? 0.0 : 1.0; }

// exp(score - maximum), exactly 0 for a hidden key. maximum must not be -inf. NaN is handed on explicitly, here and in
// logSumExp: exp2 and log of one device (SwiftShader) turn it into a number.
float weightOf(float score, float maximum) {
  if (score == -kInfinity) return 0.0;
  float x = (score - maximum) * kLog2E;
  return isNan(x) ? x : exp2(x);
}

// The log-sum-exp of a row that sees a key. total is the sum of its weights.
float logSumExp(float maximum, float total) { return isNan(total) ? total : maximum + log(total); }

// The maximum to subtract: that of a row which has seen no key yet is replaced, so that -inf - -inf never happens.
float safeMaximum(float maximum) { return maximum == -kInfinity ? 0.0 : maximum; }

#endif  // SACCADE_ATTENTION_GLSL
