// SPDX-License-Identifier: Apache-2.0
#include "attention/plan.hpp"

#include <algorithm>

#include "api/message.hpp"
#include "attention/choice.hpp"
#include "attention/coopmat_tile.hpp"
#include "plan/rounding.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "attention_params.h"

namespace {

static_assert(sizeof(AttentionParams) <= 256, "a parameter block holds 256 bytes");

AttentionParams makeParams(const AttentionProblem& p, const AttentionTile& tile) {
  AttentionParams params{};
  params.headsPerGroup = p.numHeadsQ / p.numHeadsKv;
  params.headBlocks = p.numHeadsKv * static_cast<uint32_t>(divideUp(params.headsPerGroup, tile.fold));
  params.seqlenQ = p.seqlenQ;
  params.seqlenK = p.seqlenK;
  params.rowBlocks = p.packed ? p.seqlenQ / tile.rows + p.batch + 1 : static_cast<uint32_t>(divideUp(p.seqlenQ, tile.rows));
  params.splits = tile.splits;
  params.numSequences = p.packed ? p.batch : 0;
  params.pages = p.paging.pages;
  params.windowLeft = static_cast<int32_t>(p.windowLeft);
  params.windowRight = static_cast<int32_t>(p.windowRight);
  params.scale = p.scale;
  params.softcap = p.softcap;
  // Axis 0 of packed tensors has size 1, so the number of a sequence must not move an address.
  const auto strides = [&](const Tensor& tensor, uint& b, uint& h, uint& t) {
    b = p.packed ? 0 : tensor.strides[0];
    h = tensor.strides[1];
    t = tensor.strides[2];
  };
  strides(p.q, params.qStrideB, params.qStrideH, params.qStrideT);
  strides(p.k, params.kStrideB, params.kStrideH, params.kStrideT);
  strides(p.v, params.vStrideB, params.vStrideH, params.vStrideT);
  strides(p.kScale, params.kScaleStrideB, params.kScaleStrideH, params.kScaleStrideT);
  strides(p.vScale, params.vScaleStrideB, params.vScaleStrideH, params.vScaleStrideT);
  if (p.paged()) {
    params.kStrideB = p.k.strides[0];
    params.vStrideB = p.v.strides[0];
    params.kScaleStrideB = p.kScale.strides[0];
    params.vScaleStrideB = p.vScale.strides[0];
    params.tableStrideB = p.blockTable.strides[2];
  }
  params.alibiStrideB = p.alibiSlopes.strides[2];
  strides(p.out, params.outStrideB, params.outStrideH, params.outStrideT);
  strides(p.lse, params.lseStrideB, params.lseStrideH, params.lseStrideT);
  strides(p.probs, params.probsStrideB, params.probsStrideH, params.probsStrideT);
  strides(p.mask, params.maskStrideB, params.maskStrideH, params.maskStrideQ);
  params.maskStrideK = p.mask.strides[3];
  strides(p.bias, params.biasStrideB, params.biasStrideH, params.biasStrideQ);
  params.biasStrideK = p.bias.strides[3];
  return params;
}

// Bytes are read four at a time where every row begins at a multiple of 4, which then the addresses must, too.
bool hasWords(const AttentionProblem& p) {
  const auto whole = [](const Tensor& tensor) {
    return tensor.sizes[3] % 4 == 0 && std::all_of(tensor.strides.begin(), tensor.strides.end() - 1, [](uint32_t s) { return s % 4 == 0; });
  };
  return p.quantised() && whole(p.k) && whole(p.v);
}

bool hasKeys(const AttentionProblem& p) { return p.seqlenK > 0 && p.batch > 0; }

uint32_t partialRows(const AttentionTile& tile) { return tile.partialRows != 0 ? tile.partialRows : tile.localSize; }

StepDraft makeStep(const DeviceFacts& facts, const AttentionProblem& p, const char* kernel, const AttentionTile& tile) {
  StepDraft step;
  step.shader = &shaderFor(kernel, p.q.dtype, facts);
  step.specialisation.resize(SPEC_COUNT);
  step.specialisation[SPEC_LOCAL_SIZE] = tile.localSize;
  step.specialisation[SPEC_HEAD_DIM_QK] = p.headDimQk;
  step.specialisation[SPEC_HEAD_DIM_V] = p.headDimV;
  step.specialisation[SPEC_TOP_LEFT] = p.topLeft;
  step.specialisation[SPEC_HAS_KEYS] = hasKeys(p);
  step.specialisation[SPEC_MASK] = p.mask.present();
  step.specialisation[SPEC_BIAS] = static_cast<uint32_t>(p.bias.dtype);
  step.specialisation[SPEC_SEQLENS_Q] = p.hasSeqlensQ;
  step.specialisation[SPEC_SEQLENS_K] = p.hasSeqlensK;
  step.specialisation[SPEC_LSE] = p.lse.present();
  step.specialisation[SPEC_KEYS] = tile.keys;
  step.specialisation[SPEC_CHANNELS] = tile.channels;
  step.specialisation[SPEC_WINDOW_LEFT] = p.windowLeft >= 0;
  step.specialisation[SPEC_WINDOW_RIGHT] = p.windowRight >= 0;
  step.specialisation[SPEC_SOFTCAP] = p.softcap > 0;
  step.specialisation[SPEC_ALIBI] = p.alibiSlopes.elements() > 0;
  step.specialisation[SPEC_SINK] = p.sink.present();
  step.specialisation[SPEC_PACKED] = p.packed;
  step.specialisation[SPEC_PAGE_SIZE] = p.paged() ? std::max(p.paging.pageSize, 1u) : 0;
  if (p.quantised() && !tile.widened) {
    step.specialisation[SPEC_KV_DTYPE] = p.k.dtype == SACCADE_DTYPE_I8 ? KV_I8 : KV_E4M3;
    step.specialisation[SPEC_KV_WORDS] = hasWords(p);
    step.specialisation[SPEC_K_SCALE] = p.kScale.present();
    step.specialisation[SPEC_V_SCALE] = p.vScale.present();
    step.specialisation[SPEC_SCALE_BLOCK] = p.scaleBlock;
  }
  const AttentionParams params = makeParams(p, tile);
  step.setParams(params);
  step.specialisation[SPEC_FOLD] = tile.fold;
  step.specialisation[SPEC_SPLIT] = tile.splits > 1;
  step.specialisation[SPEC_WIDENED] = tile.widened;
  step.specialisation[SPEC_COLUMNS] = std::max(tile.columns, 1u);
  step.specialisation[SPEC_ROWS_EACH] = std::max(tile.rowsEach, 1u);
  step.specialisation[SPEC_SUBGROUP_ROWS] = sharesRowsInSubgroups(facts, tile);
  step.specialisation[SPEC_PARTIAL_ROWS] = partialRows(tile);
  step.specialisation[SPEC_SHARERS] = tile.sharers;
  step.specialisation[SPEC_SUBGROUP] = std::max(tile.subgroupSize, 1u);
  step.specialisation[SPEC_TEAM] = tile.team;
  step.specialisation[SPEC_ROLLED] = tile.rolled;
  step.subgroupSize = tile.subgroupSize;
  const bool natural = needsNaturalScores(p);
  step.specialisation[SPEC_TILES] = natural || p.mask.present() ? TILES_CAREFUL : TILES_PLAIN | TILES_CAREFUL;
  if (tile.matrix.m > 0) {
    step.subgroupSize = tile.matrix.subgroupSize;
    step.specialisation[SPEC_SUBGROUP] = tile.matrix.subgroupSize;
    step.specialisation[SPEC_MATRIX_M] = tile.matrix.m;
    step.specialisation[SPEC_MATRIX_N] = tile.matrix.n;
    step.specialisation[SPEC_MATRIX_K] = tile.matrix.k;
    step.specialisation[SPEC_QUERY_TILES] = tile.queryTiles;
    step.specialisation[SPEC_KEY_TILES] = tile.keyTiles;
    step.specialisation[SPEC_SHARED_Q] = tile.sharedQ;
    step.specialisation[SPEC_NATURAL] = natural;
  }
  step.groups = static_cast<uint64_t>(params.rowBlocks) * params.headBlocks * (p.packed ? 1 : p.batch) * tile.splits;
  // Never without packed sequences: an output has fewer than 2^32 elements.
  if (step.groups > UINT32_MAX) {
    refuse("num_sequences", "numSequences is {}; with num_heads_q {} that makes more than the 4294967295 work-groups of one call, "
           "split it along heads", p.batch, p.numHeadsQ);
  }
  step.slots.resize(BUFFER_K_SCALE + 1);
  step.slots[BUFFER_Q] = kSlotQ;
  step.slots[BUFFER_K] = kSlotK;
  step.slots[BUFFER_V] = kSlotV;
  step.slots[BUFFER_OUT] = kSlotOut;
  step.slots[BUFFER_LSE] = kSlotLse;
  step.slots[BUFFER_K_SCALE] = kSlotKScale;
  step.slots[BUFFER_V_SCALE] = kSlotVScale;
  step.slots[BUFFER_MASK] = kSlotMask;
  step.slots[BUFFER_BIAS] = kSlotBias;
  step.slots[BUFFER_SEQLENS_Q] = p.packed ? kSlotCuSeqlensQ : kSlotSeqlensQ;
  step.slots[BUFFER_SEQLENS_K] = p.packed ? kSlotCuSeqlensK : kSlotSeqlensK;
  step.slots[BUFFER_ALIBI] = kSlotAlibi;
  step.slots[BUFFER_SINK] = kSlotSink;
  step.slots[BUFFER_BLOCK_TABLE] = kSlotBlockTable;
  return step;
}

std::string makeLabel(const AttentionProblem& p, const char* kernel) {
  std::string label = formatted("attention {} {} B{} Hq{} Hkv{} Tq{} Tk{} Dqk{} Dv{}", kernel, dtypeName(p.q.dtype), p.batch,
                                  p.numHeadsQ, p.numHeadsKv, p.seqlenQ, p.seqlenK, p.headDimQk, p.headDimV);
  if (p.quantised()) label += std::string(" kv ") + dtypeName(p.k.dtype);
  if (p.kScale.present() || p.vScale.present()) label += formatted(" scales({})", p.scaleBlock);
  if (p.windowRight == 0) label += " causal";
  if (p.topLeft) label += " top_left";
  if (p.windowLeft >= 0 || p.windowRight > 0) label += formatted(" window({},{})", p.windowLeft, p.windowRight);
  if (p.softcap > 0) label += formatted(" softcap {}", p.softcap);
  if (p.mask.present()) label += " mask";
  if (p.bias.present()) label += std::string(" bias ") + dtypeName(p.bias.dtype);
  if (p.alibiSlopes.present()) label += " alibi";
  if (p.sink.present()) label += " sink";
  if (p.packed) label += " packed";
  if (p.paged()) label += formatted(" paged({})", p.paging.pageSize);
  if (p.hasSeqlensQ) label += " seqlens_q";
  if (p.hasSeqlensK) label += " seqlens_k";
  if (p.lse.present()) label += " lse";
  if (p.probs.present()) label += " probs";
  return label;
}

// Pairs of row and key of one head that the diagonal and the window leave, by the sizes of the tensors. A plain causal mask
// counts as half of them, as is usual.
double visiblePairs(const AttentionProblem& p) {
  const double rows = p.seqlenQ, keys = p.seqlenK;
  if (p.windowLeft < 0 && p.windowRight < 0) return rows * keys;
  if (p.windowLeft < 0 && p.windowRight == 0) return rows * keys / 2;
  // The sum over all rows i of i + shift, clamped to [0, keys].
  const auto clampedSum = [&](double shift) {
    const auto below = [&](double limit) { return std::clamp(limit - shift, 0.0, rows); };  // rows whose i + shift is below it
    const double first = below(0), last = below(keys);
    return (last - first) * (shift + (first + last - 1) / 2) + (rows - last) * keys;
  };
  const double offset = p.topLeft ? 0 : keys - rows;
  const double upTo = p.windowRight < 0 ? rows * keys : clampedSum(offset + static_cast<double>(p.windowRight) + 1);
  const double before = p.windowLeft < 0 ? 0 : clampedSum(offset - static_cast<double>(p.windowLeft));
  return upTo - before;
}

double usefulFlops(const AttentionProblem& p) {
  const double heads = static_cast<double>(p.packed ? 1 : p.batch) * p.numHeadsQ;
  return 2.0 * heads * visiblePairs(p) * (static_cast<double>(p.headDimQk) + p.headDimV);
}

// How much work a step over the keys is, for cutting it by time: causal rows and rows at the rim of a window see fewer keys than
// others, so some work-groups have more to do than the mean.
void setWork(const AttentionProblem& p, StepDraft& step) {
  const double pairs = visiblePairs(p), keys = p.seqlenK;
  const bool bounded = p.windowLeft >= 0 && p.windowRight >= 0;
  const double most = bounded ? std::min(keys, static_cast<double>(p.windowLeft) + static_cast<double>(p.windowRight) + 1) : keys;
  step.work = usefulFlops(p);
  step.costliestGroup = pairs > 0 ? std::max(most * p.seqlenQ / pairs, 1.0) : 1.0;
  step.workIsAtMost = p.hasSeqlensQ || p.hasSeqlensK || p.packed;
}

constexpr uint32_t kCombineLanes = 128;  // every device has as many

// The draft's one step becomes that of the parts, which write to scratch memory; a second merges them.
void addCombine(const DeviceFacts& facts, const AttentionProblem& p, const AttentionTile& tile, PlanDraft& draft) {
  StepDraft& parts = draft.steps.back();
  const uint64_t blocks = parts.groups / tile.splits;
  parts.slots[BUFFER_PARTIAL_OUT] = kSlotScratch;
  draft.slots[kSlotScratch].bytes = parts.groups * (p.headDimV + 2) * partialRows(tile) * sizeof(float);
  AttentionTile combineTile = tile;
  combineTile.channels = 16;
  if (tile.partialRows != 0) {  // of few rows, a channel to an invocation
    combineTile.channels = 1;
    combineTile.localSize = tile.partialRows * std::clamp(p.headDimV, 1u, std::max(kCombineLanes / tile.partialRows, 1u));
    combineTile.subgroupSize = 0;
  }
  StepDraft combine = makeStep(facts, p, "combine", combineTile);
  const uint32_t channels = combineTile.localSize / partialRows(tile) * combineTile.channels;  // of a work-group
  combine.groups = blocks * divideUp(p.headDimV, channels);
  combine.slots[BUFFER_PARTIAL_IN] = kSlotScratch;
  combine.barrierBefore = true;
  combine.work = static_cast<double>(draft.slots[kSlotScratch].bytes);
  draft.steps.push_back(std::move(combine));
}

// Before the draft's one step K and V are copied to scratch memory as fp32, and that step reads the copies.
void addWiden(const DeviceFacts& facts, const AttentionProblem& p, const AttentionTile& tile, PlanDraft& draft) {
  const WidenedSizes k = widenedSizes(p, p.headDimQk), v = widenedSizes(p, p.headDimV);
  AttentionParams params = makeParams(p, tile);
  params.widenedV = static_cast<uint32_t>(k.elements);

  AttentionTile asStored = tile;
  asStored.widened = false;  // it reads K and V themselves
  StepDraft widen = makeStep(facts, p, "widen", asStored);
  AttentionParams widenParams = params;
  widenParams.headBlocks = p.numHeadsKv;
  widen.setParams(widenParams);
  widen.groups = 2 * (k.elements / k.strideH) * divideUp(p.seqlenK, WIDEN_TOKENS);
  widen.slots[BUFFER_WIDENED] = kSlotScratch;

  StepDraft& rows = draft.steps.back();
  const auto strides = [](const WidenedSizes& sizes, uint& b, uint& h, uint& t) {
    b = static_cast<uint32_t>(sizes.strideB);
    h = static_cast<uint32_t>(sizes.strideH);
    t = static_cast<uint32_t>(sizes.strideT);
  };
  strides(k, params.kStrideB, params.kStrideH, params.kStrideT);
  strides(v, params.vStrideB, params.vStrideH, params.vStrideT);
  rows.setParams(params);
  rows.slots[BUFFER_K] = kSlotScratch;
  rows.slots[BUFFER_V] = kSlotScratch;
  rows.barrierBefore = true;
  draft.slots[kSlotScratch].bytes = (k.elements + v.elements) * sizeof(float);
  draft.steps.insert(draft.steps.begin(), std::move(widen));
}

}  // namespace

PlanDraft planAttention(const DeviceFacts& facts, const AttentionProblem& p, const std::string& forcedKernel,
                        const TuningTable& tuning) {
  const AttentionChoice choice = chooseAttention(facts, p, forcedKernel, tuning);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_ATTENTION;
  draft.kernel = choice.kernel;
  draft.reason = choice.reason;
  draft.tile = choice.tileText;
  draft.label = makeLabel(p, choice.kernel);
  draft.flops = usefulFlops(p);

  draft.hostValues = hostValueLimits(p);

  const bool nothing = p.empty();
  const auto slot = [&](const char* name, const Tensor& tensor, uint32_t alignment = 1) {
    const uint64_t bytes = nothing || !tensor.present() ? 0 : tensor.bytes();
    draft.slots.push_back({name, bytes, std::max(dtypeBytes(tensor.dtype), alignment)});
    draft.bytes += tensor.present() ? static_cast<double>(tensor.elements()) * dtypeBytes(tensor.dtype) : 0.0;
  };
  slot("q", p.q);
  slot("k", p.k, hasWords(p) ? 4 : 1);
  slot("v", p.v, hasWords(p) ? 4 : 1);
  slot("out", p.out);
  slot("lse", p.lse);
  slot("probs", p.probs);
  slot("mask", p.mask);
  slot("bias", p.bias);
  slot("alibi_slopes", p.alibiSlopes);
  slot("sink", p.sink);
  slot("block_table", p.blockTable);
  slot("k_scale", p.kScale);
  slot("v_scale", p.vScale);
  const auto integers = [&](const char* name, bool given, uint64_t count) {
    draft.slots.push_back({name, nothing || !given ? 0 : count * sizeof(int32_t), sizeof(int32_t)});
  };
  integers("seqlens_q", p.hasSeqlensQ, p.batch);
  integers("seqlens_k", p.hasSeqlensK, p.batch);
  integers("cu_seqlens_q", p.packed, uint64_t{p.batch} + 1);
  integers("cu_seqlens_k", p.packed, uint64_t{p.batch} + 1);
  draft.slots.push_back({"scratch", 0, 16});
  if (nothing) return draft;

  draft.steps.push_back(makeStep(facts, p, choice.kernel, choice.tile));
  setWork(p, draft.steps.back());
  if (choice.tile.widened && hasKeys(p)) addWiden(facts, p, choice.tile, draft);
  if (choice.tile.splits > 1) addCombine(facts, p, choice.tile, draft);
  // Independent of the first step: both read the inputs only, so no barrier stands between them.
  if (p.probs.present() && p.probs.elements() > 0) {
    draft.steps.push_back(makeStep(facts, p, "weights", weightsTile(facts)));
    draft.steps.back().slots[BUFFER_PROBS] = kSlotProbs;
    setWork(p, draft.steps.back());
  }
  return draft;
}

}  // namespace saccade::core
