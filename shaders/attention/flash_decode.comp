#version 460
// SPDX-License-Identifier: Apache-2.0
// Attention of few query rows over many keys, on GPUs. Work-groups share the keys of a block of rows ("flash decoding", Dao et al. 2023);
// the kernel `combine` merges what they found. docs/kernels.md draws it.
//
// LOCAL_SIZE invocations form lines of COLUMNS neighbours. A line has keys of its own, an online softmax of its own and all ROWS_EACH
// rows of the block: FOLD query heads of a group, ROWS_EACH / FOLD rows of each. An invocation has the channels of units x, x + COLUMNS, ...
// of a row, 16 bytes each:
//
//   scores   it multiplies its channels of Q and of its line's keys; the sums over its neighbours are the scores
//   weights  SHARERS neighbours make those of as many shares of the keys, and hand them round
//   P V      it multiplies the weights with its channels of its line's values
//
// So K and V go straight from device memory to registers, once, and nothing passes between lines before all keys are done. Where
// neighbours may lie in different subgroups, or there are no subgroup operations, the scores are added in shared memory.
//
// Keys that every row sees have a loop of their own, KEYS_EACH keys of a line at a time, with no test of visibility in it. It takes finite
// scores for granted; where that was wrong, everything is done again by the second loop, which is for all other keys.

#extension GL_GOOGLE_include_directive : require
#if NATIVE
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "attention.glsl"
#include "pieces.glsl"

layout(constant_id = SPEC_SHARERS) const uint SHARERS = 1;

const uint LINES = LOCAL_SIZE / COLUMNS;
const uint KEYS_EACH = KEYS / LINES;
const uint LINE_ELEMENTS = COLUMNS * UNIT_ELEMENTS;
const uint UNITS_QK = (HEAD_DIM_QK + LINE_ELEMENTS - 1) / LINE_ELEMENTS;  // of an invocation
const uint UNITS_V = (HEAD_DIM_V + LINE_ELEMENTS - 1) / LINE_ELEMENTS;
const uint PIECES_QK = UNITS_QK * UNIT_PIECES;
const uint PIECES_V = UNITS_V * UNIT_PIECES;
const uint SHARE = KEYS_EACH / SHARERS;  // of SHARERS neighbours, n makes the weights of keys n, n + SHARERS, ... of a step
const uint STORED_BYTES = UNIT_ELEMENTS * KEY_BYTES;  // of a unit of K or V
const uint WIDTH = UNITS_V * LINE_ELEMENTS;

const uint Q_WIDTH = UNITS_QK * LINE_ELEMENTS;

// Shared memory is for one thing after the other: Q, scores where neighbours can't exchange them otherwise, and the merging of lines.
const uint Q_FLOATS = ROWS_EACH * Q_WIDTH;
const uint SCORE_FLOATS = ROWS_EACH * KEYS_EACH * LOCAL_SIZE * (1 - SUBGROUP_ROWS);
const uint MERGED_FLOATS = LINES * WIDTH;
const uint LOOP_FLOATS = Q_FLOATS > SCORE_FLOATS ? Q_FLOATS : SCORE_FLOATS;
shared float exchanged[MERGED_FLOATS > LOOP_FLOATS ? MERGED_FLOATS : LOOP_FLOATS];
shared float lineMaximum[LINES * ROWS_EACH], lineTotal[LINES * ROWS_EACH];
shared float rowMaximum[ROWS_EACH], rowTotal[ROWS_EACH];
shared uint flag;

uint lane, x, y;
vec4 q[ROWS_EACH * PIECES_QK];
vec4 sums[PIECES_V * ROWS_EACH];
float maximum[ROWS_EACH], total[ROWS_EACH];  // of the line

// ---- Units of 16 bytes; of a cache of bytes, as many elements

bool isAligned(const AttentionParams p) {
  if (HEAD_DIM_QK % UNIT_ELEMENTS != 0) return false;
  if (HEAD_DIM_V % UNIT_ELEMENTS != 0) return false;
  if (KV_DTYPE != 0) return KV_WORDS != 0;
  if (DTYPE == DTYPE_F32) return true;  // four of them may be read from any multiple of 4 bytes
  uint strides = p.kStrideB | p.kStrideH | p.kStrideT | p.vStrideB | p.vStrideH | p.vStrideT;
  return strides % UNIT_ELEMENTS == 0u && isUnitAligned(push.buffers[BUFFER_K]) && isUnitAligned(push.buffers[BUFFER_V]);
}

uvec4 loadKeyUnit(Address unit) {
#if DTYPE == DTYPE_F32
  if (KV_DTYPE == 0) return floatBitsToUint(loadElements4(unit, 0u));
#else
  if (KV_DTYPE == 0) return loadUnit(unit);
#endif
  return uvec4(WordsIn(unit).v[0], UNIT_ELEMENTS == 8 ? WordsIn(unit).v[UNIT_ELEMENTS / 8] : 0u, 0u, 0u);
}

uint keyBits(Address row, uint channel) {
  if (KEY_BYTES == 1) return load8(row, channel);
#if DTYPE == DTYPE_F32
  return floatBitsToUint(loadRaw(row, channel));
#else
  return loadRaw(row, channel);
#endif
}

// Unit `unit` of a row of K or V that may lie anywhere, element by element; 0 past the head dim.
uvec4 gatheredUnit(Address row, uint unit, const uint headDim) {
  uvec4 bits = uvec4(0u);
  [[unroll]] for (uint i = 0; i < UNIT_ELEMENTS; i++) {
    uint channel = unit * UNIT_ELEMENTS + i;
    uint element = keyBits(row, min(channel, headDim - 1u));
    bits[i * KEY_BYTES / 4] |= channel < headDim ? element << (i * KEY_BYTES % 4 * 8) : 0u;
  }
  return bits;
}

vec4 quadOf(uvec4 bits, uint i) { return widened(pieceOfUnit(bits, i)); }

vec4 keyQuadOf(uvec4 bits, uint i) {
  if (KV_DTYPE == 0) return quadOf(bits, i);
  return bytesToFloat((uvec4(bits[i]) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu);
}

// Unit i of the invocation lies in the row. Where it doesn't, it is 0, and another is read for it.
bool isInside(uint i, const uint headDim) { return headDim % LINE_ELEMENTS == 0 || (x + i * COLUMNS) * UNIT_ELEMENTS < headDim; }

// The invocation's units of `count` keys, LINES apart, of its line; rowAddress is an expression in `key`. Keys `simple` lie strideBytes apart
// from `base` on.
#define LOAD_KEYS(bits, count, units, headDim, aligned, simple, base, strideBytes, lineOffset, rowAddress)              \
  [[unroll]] for (uint j = 0; j < count; j++) {                                                                         \
    [[unroll]] for (uint i = 0; i < units; i++) {                                                                       \
      uint unit = isInside(i, headDim) ? x + i * COLUMNS : 0u, key = first + j * LINES + y;                             \
      uvec4 loaded;                                                                                                     \
      if (simple) loaded = loadKeyUnit(elementAddress(elementAddress(base, j * LINES, strideBytes), lineOffset + unit * STORED_BYTES, 1u)); \
      else if (aligned) loaded = loadKeyUnit(elementAddress(rowAddress, unit, STORED_BYTES));                           \
      else loaded = gatheredUnit(rowAddress, unit, headDim);                                                 \
      bits[j * units + i] = isInside(i, headDim) ? loaded : uvec4(0u);                                                  \
    }                                                                                                                   \
  }

// ---- Rows. Row r is of head r % FOLD.

uint rowOf(const Block b, uint r) { return b.firstRow + r / FOLD; }

Block withHead(const AttentionParams p, Block b, uint r) {
  if (FOLD == 1) return b;
  uint headOfGroup = b.head - b.headKv * p.headsPerGroup + r % FOLD;
  b.isHead = headOfGroup < p.headsPerGroup;
  b.head = b.headKv * p.headsPerGroup + min(headOfGroup, p.headsPerGroup - 1u);
  if (ALIBI != 0) b.slope = loadF32(elementAddress(push.buffers[BUFFER_ALIBI], b.batch * p.alibiStrideB + b.head, 4u), 0u);
  return b;
}

// Through shared memory, so that an element is read and converted in one place of the code. Rows past the length, which may hold anything,
// are the last one: NaN in them must not decide which loop the others take.
void loadQ(const AttentionParams p, const Block b) {
  // The sign of the scale goes into Q, so that the largest product of a row has the largest score.
  float sign = p.scale < 0.0 ? -1.0 : 1.0;
  [[dont_unroll]] for (uint i = lane; i < Q_FLOATS; i += LOCAL_SIZE) {
    uint r = i / Q_WIDTH, channel = i % Q_WIDTH;
    Address row = queryRow(p, withHead(p, b, r), min(rowOf(b, r), max(b.seqlenQ, 1u) - 1u));
    float element = loadElement(row, min(channel, HEAD_DIM_QK - 1u)) * sign;
    exchanged[i] = channel < HEAD_DIM_QK ? element : 0.0;
  }
  barrier();
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    [[unroll]] for (uint i = 0; i < PIECES_QK; i++) {
      uint channel = (x + i / UNIT_PIECES * COLUMNS) * UNIT_ELEMENTS + i % UNIT_PIECES * 4;
      [[unroll]] for (uint c = 0; c < 4; c++) q[r * PIECES_QK + i][c] = exchanged[r * Q_WIDTH + channel + c];
    }
  }
  barrier();
}

void start() {
  [[unroll]] for (uint i = 0; i < PIECES_V * ROWS_EACH; i++) sums[i] = vec4(0.0);
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    maximum[r] = -kInfinity;
    total[r] = 0.0;
  }
}

void rescale(uint r, float factor) {
  total[r] *= factor;
  [[unroll]] for (uint i = 0; i < PIECES_V; i++) sums[i * ROWS_EACH + r] *= factor;
}

// ---- Scores: products of the invocation's channels, added up over its line

#if NATIVE
// The sum over two or four neighbours: of `a` in those that have it as their share, of `b` in the others.
float sumOfPair(float a, float b) {
  bool odd = (x & 1u) != 0u;
  return (odd ? b : a) + subgroupQuadSwapHorizontal(odd ? a : b);
}
float sumOfPairs(float a, float b) {
  bool second = (x & 2u) != 0u;
  return (second ? b : a) + subgroupQuadSwapVertical(second ? a : b);
}

// The sum over the line of the one of `sharers` values that is the invocation's.
float sumOfLine(uint sharers, float a, float b, float c, float d) {
  if (sharers == 1) {
    return COLUMNS == 4 ? subgroupClusteredAdd(a, 4) : COLUMNS == 8 ? subgroupClusteredAdd(a, 8) : subgroupClusteredAdd(a, 16);
  }
  float low = sumOfPair(a, b), high = sharers == 4 ? sumOfPair(c, d) : low;
  float sum = sumOfPairs(low, high);
  // The neighbour 4 away: a mirror image, which AMD's vector unit exchanges by itself, turned round.
  if (COLUMNS > 4) sum += subgroupQuadSwapDiagonal(subgroupShuffleXor(sum, 7u));
  if (COLUMNS > 8) sum += subgroupShuffleXor(sum, 8u);
  return sum;
}

float maximumOfSharers(float value) {
  if (SHARERS > 1) value = max(value, subgroupQuadSwapHorizontal(value));
  return SHARERS > 2 ? max(value, subgroupQuadSwapVertical(value)) : value;
}

float totalOfSharers(float value) {
  if (SHARERS > 1) value += subgroupQuadSwapHorizontal(value);
  return SHARERS > 2 ? value + subgroupQuadSwapVertical(value) : value;
}

float ofSharer(uint n, float value) {
  if (SHARERS == 1) return value;
  return n == 0 ? subgroupQuadBroadcast(value, 0) : n == 1 ? subgroupQuadBroadcast(value, 1) :
         n == 2 ? subgroupQuadBroadcast(value, 2) : subgroupQuadBroadcast(value, 3);
}
#else
float sumOfLine(uint sharers, float a, float b, float c, float d) { return a; }
float maximumOfSharers(float value) { return value; }
float totalOfSharers(float value) { return value; }
float ofSharer(uint n, float value) { return value; }
#endif

// The invocation's channels of each row times those of `count` keys.
#define PRODUCTS(s, k, count)                                                                                           \
  [[unroll]] for (uint i = 0; i < ROWS_EACH * count; i++) s[i] = 0.0;                                                   \
  [[unroll]] for (uint i = 0; i < PIECES_QK; i++) {                                                                     \
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {                                                                   \
      vec4 a = q[r * PIECES_QK + i];                                                                                    \
      [[unroll]] for (uint j = 0; j < count; j++) {                                                                     \
        vec4 other = keyQuadOf(k[j * UNITS_QK + i / UNIT_PIECES], i % UNIT_PIECES);                                     \
        [[unroll]] for (uint c = 0; c < 4; c++) s[r * count + j] = a[c] * other[c] + s[r * count + j];                  \
      }                                                                                                                 \
    }                                                                                                                   \
  }

// Their sums over the line, in every invocation that has a share in them.
#define SCORES(s, products, count, sharers)                                                                             \
  if (SUBGROUP_ROWS != 0) {                                                                                             \
    [[unroll]] for (uint i = 0; i < ROWS_EACH * (count / sharers); i++) {                                               \
      uint n = i * sharers, n1 = n + (sharers > 1 ? 1 : 0), n2 = n + (sharers > 2 ? 2 : 0), n3 = n + (sharers > 2 ? 3 : 0); \
      s[i] = sumOfLine(sharers, products[n], products[n1], products[n2], products[n3]);                                 \
    }                                                                                                                   \
  } else {                                                                                                              \
    barrier();                                                                                                          \
    [[unroll]] for (uint i = 0; i < ROWS_EACH * count; i++) exchanged[i * LOCAL_SIZE + lane] = products[i];             \
    barrier();                                                                                                          \
    [[unroll]] for (uint i = 0; i < ROWS_EACH * (count / sharers); i++) {                                               \
      s[i] = 0.0;                                                                                                       \
      [[unroll]] for (uint n = 0; n < COLUMNS; n++) s[i] += exchanged[i * LOCAL_SIZE + y * COLUMNS + n];                \
    }                                                                                                                   \
  }

// 2^x; NaN is handed on, see weightOf.
float powerOf2(float x) {
#if NATIVE
  return exp2(x);
#else
  return isNan(x) ? x : exp2(x);
#endif
}

// How far a row's reference may stay below its maximum, as an exponent of 2.
const float kSlack = 8.0;

// Keys from `begin` to `end`, which every row sees; `scale` is positive. False if a score was not finite: the results are of no use then.
// The same arithmetic in the same order, however K and V lie in memory.
bool addWholeSteps(const AttentionParams p, const Block b, uint begin, uint end, float scale, bool simple, bool aligned) {
  uint kStride = p.kStrideT * KEY_BYTES, vStride = p.vStrideT * KEY_BYTES, kLine = y * kStride, vLine = y * vStride;
  float factor = scale * kLog2E, lowest = 0.0;
  for (uint first = begin; first < end; first += KEYS) {
    uvec4 k[KEYS_EACH * UNITS_QK], v[KEYS_EACH * UNITS_V];
    LOAD_KEYS(k, KEYS_EACH, UNITS_QK, HEAD_DIM_QK, aligned, simple, keyRowOfK(p, b, first), kStride, kLine, keyRowOfK(p, b, key))
    LOAD_KEYS(v, KEYS_EACH, UNITS_V, HEAD_DIM_V, aligned, simple, keyRowOfV(p, b, first), vStride, vLine, keyRowOfV(p, b, key))
    float s[ROWS_EACH * KEYS_EACH], mine[ROWS_EACH * SHARE], exponents[ROWS_EACH * SHARE];
    PRODUCTS(s, k, KEYS_EACH)
    if (K_SCALE != 0) {
      [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
        float keyScale = keyScaleOfK(p, b, first + j * LINES + y);
        [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) s[r * KEYS_EACH + j] *= keyScale;
      }
    }
    SCORES(mine, s, KEYS_EACH, SHARERS)
    bool grew = false;
    [[unroll]] for (uint i = 0; i < ROWS_EACH * SHARE; i++) {
      lowest = min(lowest, mine[i]);
      exponents[i] = fma(mine[i], factor, -maximum[i / SHARE]);
      grew = grew || exponents[i] > kSlack;
    }
    if (anyInSubgroup(grew)) {  // after the first few steps rare; a factor of 1 changes nothing
      [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
        float largest = mine[r * SHARE];
        [[unroll]] for (uint j = 1; j < SHARE; j++) largest = max(largest, mine[r * SHARE + j]);
        float reference = max(maximum[r], maximumOfSharers(largest) * factor);
        rescale(r, powerOf2(maximum[r] - reference));
        maximum[r] = reference;
        [[unroll]] for (uint j = 0; j < SHARE; j++) exponents[r * SHARE + j] = fma(mine[r * SHARE + j], factor, -reference);
      }
    }
    [[unroll]] for (uint i = 0; i < ROWS_EACH * SHARE; i++) {
      mine[i] = powerOf2(exponents[i]);
      total[i / SHARE] += mine[i];
    }
    [[unroll]] for (uint i = 0; i < ROWS_EACH * KEYS_EACH; i++) s[i] = ofSharer(i % SHARERS, mine[i / SHARERS]);
    if (V_SCALE != 0) {
      [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
        float keyScale = keyScaleOfV(p, b, first + j * LINES + y);
        [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) s[r * KEYS_EACH + j] *= keyScale;
      }
    }
    [[unroll]] for (uint j = 0; j < KEYS_EACH; j++) {
      [[unroll]] for (uint i = 0; i < PIECES_V; i++) {
        vec4 value = keyQuadOf(v[j * UNITS_V + i / UNIT_PIECES], i % UNIT_PIECES);
        [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) sums[i * ROWS_EACH + r] = vec4(s[r * KEYS_EACH + j]) * value + sums[i * ROWS_EACH + r];
      }
    }
  }
  bool ordinary = lowest * factor > -1e30;
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    total[r] = totalOfSharers(total[r]);
    ordinary = ordinary && !(abs(maximum[r]) > 1e30);
    // From here on the reference is the natural maximum itself. log2(e) is kLog2E and a remainder.
    float natural = maximum[r] / kLog2E;
    rescale(r, powerOf2(fma(-natural, kLog2E, maximum[r]) - natural * 1.925963033500012e-8));
    maximum[r] = natural;
  }
  return ordinary;
}

// One key of each line, from `first` on, whether rows see it or not.
void addStep(const AttentionParams p, const Block b, uint first, float scale, bool aligned) {
  uvec4 k[UNITS_QK], v[UNITS_V];
  LOAD_KEYS(k, 1, UNITS_QK, HEAD_DIM_QK, aligned, false, keyRowOfK(p, b, first), 0u, 0u, keyRowOfK(p, b, key))
  LOAD_KEYS(v, 1, UNITS_V, HEAD_DIM_V, aligned, false, keyRowOfV(p, b, first), 0u, 0u, keyRowOfV(p, b, key))
  float s[ROWS_EACH], weights[ROWS_EACH];
  PRODUCTS(weights, k, 1)
  SCORES(s, weights, 1, 1)
  float kScale = keyScaleOfK(p, b, first + y), vScale = keyScaleOfV(p, b, first + y);
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    s[r] = finalScore(p, withHead(p, b, r), rowOf(b, r), first + y, s[r] * scale * kScale);
    float largest = max(maximum[r], s[r]), reference = safeMaximum(largest);
    rescale(r, weightOf(maximum[r], reference));
    maximum[r] = largest;
    weights[r] = weightOf(s[r], reference);
    total[r] += weights[r];
    weights[r] *= vScale;
  }
  [[unroll]] for (uint i = 0; i < PIECES_V; i++) {
    vec4 value = keyQuadOf(v[i / UNIT_PIECES], i % UNIT_PIECES);
    [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
      // Selected, not multiplied by 0: a hidden value may be NaN.
      vec4 sum = sums[i * ROWS_EACH + r];
      sums[i * ROWS_EACH + r] = s[r] == -kInfinity ? sum : vec4(weights[r]) * value + sum;
    }
  }
}

// ---- The end: lines are merged

bool writesRow(const Block b, uint r) { return b.isHead && rowOf(b, r) < b.rowLimit; }

// Maximum and total of row r over all lines, by one invocation.
void mergeStatistics(const AttentionParams p, const Block b, uint r) {
  Block rows = withHead(p, b, r);
  // The sink counts once, so the kernel that combines parts takes it.
  float sink = SPLIT != 0 ? -kInfinity : firstMaximum(rows), largest = sink;
  for (uint n = 0; n < LINES; n++) largest = max(largest, lineMaximum[n * ROWS_EACH + r]);
  float reference = safeMaximum(largest), sum = firstTotal(sink) * weightOf(sink, reference);
  for (uint n = 0; n < LINES; n++) {
    sum = fma(lineTotal[n * ROWS_EACH + r], weightOf(lineMaximum[n * ROWS_EACH + r], reference), sum);
  }
  rowMaximum[r] = largest;
  rowTotal[r] = sum;
  if (SPLIT != 0) {
    storePartial(p, b, r, PARTIAL_MAXIMUM, largest);
    storePartial(p, b, r, PARTIAL_TOTAL, sum);
  } else if (LSE != 0) {
    bool empty = sum == 0.0 || rowOf(b, r) >= b.seqlenQ;
    if (writesRow(rows, r)) storeLse(p, rows, rowOf(b, r), empty ? -kInfinity : logSumExp(largest, sum));
  }
}

// The sum of a channel of row r, whose lines' sums are in shared memory.
void storeMerged(const AttentionParams p, const Block b, uint r, uint channel) {
  float sum = exchanged[channel];
  [[unroll]] for (uint n = 1; n < LINES; n++) sum += exchanged[n * WIDTH + channel];
  if (SPLIT != 0) {
    storePartial(p, b, r, channel, sum);
    return;
  }
  Block rows = withHead(p, b, r);
  // A visible key, or the sink, has weight 1 somewhere in the row, so a total of 0 means that the row saw none.
  bool empty = rowTotal[r] == 0.0 || rowOf(b, r) >= b.seqlenQ;
  if (writesRow(rows, r)) storeElement(outRow(p, rows, rowOf(b, r)), channel, empty ? 0.0 : sum * (1.0 / rowTotal[r]));
}

void merge(const AttentionParams p, const Block b) {
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    if (x == 0u) {
      lineMaximum[y * ROWS_EACH + r] = maximum[r];
      lineTotal[y * ROWS_EACH + r] = total[r];
    }
  }
  barrier();
  if (lane < ROWS_EACH) mergeStatistics(p, b, lane);
  [[unroll]] for (uint r = 0; r < ROWS_EACH; r++) {
    barrier();
    float weight = weightOf(maximum[r], safeMaximum(rowMaximum[r]));
    [[unroll]] for (uint i = 0; i < PIECES_V; i++) {
      uint channel = (x + i / UNIT_PIECES * COLUMNS) * UNIT_ELEMENTS + i % UNIT_PIECES * 4;
      [[unroll]] for (uint c = 0; c < 4; c++) exchanged[y * WIDTH + channel + c] = sums[i * ROWS_EACH + r][c] * weight;
    }
    barrier();
    [[unroll]] for (uint i = 0; i < (HEAD_DIM_V + LOCAL_SIZE - 1) / LOCAL_SIZE; i++) {
      uint channel = i * LOCAL_SIZE + lane;
      if (channel < HEAD_DIM_V) storeMerged(p, b, r, channel);
    }
  }
}

void main() {
  AttentionParams p = ParamsIn(push.params).value;
  uint group = groupIndex();
  uint index = SPLIT != 0 ? group / p.splits : group;
  Block b = blockOf(p, index, SPLIT != 0 ? group - index * p.splits : 0u, ROWS_EACH / FOLD, 0u);
  if (isVacant(b)) return;
  lane = gl_LocalInvocationIndex;
#if NATIVE
  if (SUBGROUP_ROWS != 0) lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#endif
  x = lane % COLUMNS;
  y = lane / COLUMNS;
  loadQ(p, b);
  start();

  if (HAS_KEYS != 0) {
    float scale = abs(p.scale);
    bool aligned = isAligned(p);
    // Steps of keys that every row sees, in step with the others.
    uint wholeBegin = b.keysBegin + (max(b.plainBegin, b.keysBegin) - b.keysBegin + KEYS - 1u) / KEYS * KEYS;
    uint wholeEnd = wholeBegin, plainEnd = min(b.plainEnd, b.keysEnd);
    // Scales with which neither products nor scores of finite inputs are lost.
    bool inRange = scale > 1e-30 && scale < 1e15;
    if (inRange && plainEnd > wholeBegin) wholeEnd += (plainEnd - wholeBegin) / KEYS * KEYS;
    if (wholeEnd > wholeBegin) {
      // Strides for which the offsets of a step stay below 2^32.
      bool simple = aligned && PAGE_SIZE == 0 && max(p.kStrideT, p.vStrideT) < (1u << 22), ordinary;
      // A loop without the other ways to read; small work-groups belong to CPU devices, which compile slowly, and have one for all.
      if (LOCAL_SIZE > 32 && simple) ordinary = addWholeSteps(p, b, wholeBegin, wholeEnd, scale, true, true);
      else ordinary = addWholeSteps(p, b, wholeBegin, wholeEnd, scale, LOCAL_SIZE > 32 ? false : simple, aligned);
      barrier();
      if (lane == 0u) flag = 0u;
      barrier();
      if (!ordinary) flag = 1u;
      barrier();
      if (flag != 0u) {
        start();
        wholeEnd = wholeBegin;
      }
    }
    for (uint first = b.keysBegin; first < b.keysEnd; first += LINES) {
      if (first == wholeBegin) {
        first = wholeEnd;
        if (first >= b.keysEnd) break;
      }
      addStep(p, b, first, scale, aligned);
    }
  }
  merge(p, b);
}
