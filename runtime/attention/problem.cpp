// SPDX-License-Identifier: Apache-2.0
#include "attention/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/message.hpp"

namespace saccade::core {
namespace {

constexpr int64_t kMaxHeadDim = 256;
// Rows, keys and their differences are computed in 32-bit signed integers.
constexpr int64_t kMaxSeqlen = (int64_t{1} << 30) - 1;

void checkHeadDim(int64_t value, const char* field, const char* tensor) {
  if (value < 1 || value > kMaxHeadDim) {
    refuse(field, "{} (axis 3 of {}) is {}; it must be between 1 and {}", field, tensor, value, kMaxHeadDim);
  }
}

void checkSeqlen(int64_t value, const char* field) {
  if (value > kMaxSeqlen) refuse(field, "{} is {}; at most {} are possible", field, value, kMaxSeqlen);
}

// Rules of the contract that this version does not compute: refused unless switched off.
void refuseLaterRules(const SaccadeAttentionDesc& desc) {
  const auto later = [](const char* field, const std::string& value, const char* off) {
    refuseUnsupported(field, "{} is {}; this version does not support it yet, leave it at {}", field, value, off);
  };
  if (!(desc.dropout >= 0 && desc.dropout < 1)) refuse("dropout", "dropout is {}; it must be at least 0 and below 1", desc.dropout);
  if (desc.dropout != 0) later("dropout", formatted("{}", desc.dropout), "0");
  if (desc.normalizer < SACCADE_NORMALIZER_SOFTMAX || desc.normalizer > SACCADE_NORMALIZER_RELU) {
    refuse("normalizer", "normalizer is {}; it must be a SaccadeNormalizer", static_cast<int>(desc.normalizer));
  }
  if (desc.normalizer != SACCADE_NORMALIZER_SOFTMAX) {
    later("normalizer", desc.normalizer == SACCADE_NORMALIZER_SIGMOID ? "sigmoid" : "relu", "softmax");
  }
}

void checkScale(const SaccadeAttentionDesc& desc) {
  if (desc.hasSoftmaxScale && !std::isfinite(desc.softmaxScale)) {
    refuse("softmax_scale", "softmax_scale is {}; it must be finite", desc.softmaxScale);
  }
  if (!std::isfinite(desc.temperature) || desc.temperature <= 0) {
    refuse("temperature", "temperature is {}; it must be finite and > 0", desc.temperature);
  }
}

void checkWindow(int64_t distance, const char* field) {
  if (distance < -1) refuse(field, "{} is {}; it must be -1 (unbounded) or a distance >= 0", field, distance);
}

void checkSoftcap(float softcap) {
  if (!std::isfinite(softcap) || softcap < 0) {
    refuse("softcap", "softcap is {}; it must be 0 (off) or finite and > 0", softcap);
  }
}

// What has no meaning for packed sequences.
void checkPacked(const SaccadeAttentionDesc& desc) {
  if (!desc.hasCuSeqlens) {
    if (desc.numSequences != 0) {
      refuse("num_sequences", "numSequences is {}, but hasCuSeqlens is false; it must be 0 without packed sequences",
             desc.numSequences);
    }
    return;
  }
  const auto exclude = [](bool given, const char* field, const char* instead) {
    if (given) refuse(field, "{} is given together with cu_seqlens, which is not possible; {}", field, instead);
  };
  exclude(desc.hasSeqlensQ, "seqlens_q", "cu_seqlens_q says how long each sequence is");
  exclude(desc.hasSeqlensK, "seqlens_k", "cu_seqlens_k says how long each sequence is");
  exclude(desc.mask.dtype != SACCADE_DTYPE_NONE, "mask", "packed rows and keys have no common axis; use padded sequences");
  exclude(desc.bias.dtype != SACCADE_DTYPE_NONE, "bias", "packed rows and keys have no common axis; use padded sequences");
  exclude(desc.probs.dtype != SACCADE_DTYPE_NONE, "probs", "packed rows and keys have no common axis; use padded sequences");
  if (desc.q.sizes[0] != 1) refuse("q.sizes", "q.sizes[0] is {}; it must be 1 where sequences are packed along axis 2", desc.q.sizes[0]);
  if (desc.numSequences > kMaxSeqlen) {
    refuse("num_sequences", "numSequences is {}; at most {} are possible", desc.numSequences, kMaxSeqlen);
  }
}

// The problem's K and V: batch entries, packed sequences or pages.
void checkKeysAndValues(const SaccadeAttentionDesc& desc, AttentionProblem& problem) {
  const SaccadeDtype dtype = problem.q.dtype;
  problem.k = checkInput(desc.k, "k", {dtype, SACCADE_DTYPE_F8E4M3, SACCADE_DTYPE_I8});
  problem.v = checkInput(desc.v, "v", {problem.k.dtype});
  problem.numHeadsKv = problem.k.sizes[1];
  problem.seqlenK = problem.k.sizes[2];
  int64_t entries = problem.packed ? 1 : problem.batch;
  const char* origin = problem.packed ? "axis 0 is 1 where sequences are packed, head_dim_qk comes from q" : "batch and head_dim_qk come from q";
  if (desc.blockTable.dtype != SACCADE_DTYPE_NONE) {
    problem.blockTable = checkInput(desc.blockTable, "block_table", {SACCADE_DTYPE_I32});
    const uint32_t maxPages = problem.blockTable.sizes[3];
    requireSizes(problem.blockTable, "block_table", {1, 1, problem.batch, maxPages}, "a row per batch entry or sequence");
    problem.paging = {problem.k.sizes[0], problem.k.sizes[2], maxPages};
    const uint64_t keys = uint64_t{maxPages} * problem.paging.pageSize;
    if (keys > static_cast<uint64_t>(kMaxSeqlen)) {
      refuse("block_table", "block_table has {} pages of {} keys per entry; at most {} keys are possible", maxPages,
             problem.paging.pageSize, kMaxSeqlen);
    }
    if (problem.paging.pages > kMaxSeqlen) refuse("k.sizes", "k.sizes[0] is {} pages; at most {} are possible", problem.paging.pages, kMaxSeqlen);
    if (keys > 0 && problem.batch > 0 && problem.paging.pages == 0) {
      refuse("k.sizes", "k.sizes[0] is 0, but block_table has {} entries per row; there must be at least one page", maxPages);
    }
    problem.seqlenK = static_cast<uint32_t>(keys);
    entries = problem.paging.pages;
    origin = "with a block table: pages, num_heads_kv, page_size, head_dim_qk";
  }
  const int64_t headsKv = problem.numHeadsKv, tokens = problem.k.sizes[2];
  requireSizes(problem.k, "k", {entries, headsKv, tokens, problem.headDimQk}, origin);
  requireSizes(problem.v, "v", {entries, headsKv, tokens, problem.headDimV}, "all but head_dim_v comes from k");
  if (headsKv == 0 ? problem.numHeadsQ != 0 : problem.numHeadsQ % headsKv != 0) {
    refuse("num_heads_kv", "num_heads_q is {} and num_heads_kv is {}; num_heads_q must be a multiple of num_heads_kv",
           problem.numHeadsQ, headsKv);
  }
}

// Scales lie beside what they belong to: axes 0 and 1 are those of the tensor, axis 2 counts blocks of its tokens.
Tensor checkScales(const SaccadeTensorDesc& desc, const char* field, const Tensor& scaled, uint32_t block) {
  if (desc.dtype == SACCADE_DTYPE_NONE) return {};
  if (scaled.dtype != SACCADE_DTYPE_F8E4M3 && scaled.dtype != SACCADE_DTYPE_I8) {
    refuse(field, "{} is given, but k and v are {}; only f8e4m3 and i8 have scales", field, dtypeName(scaled.dtype));
  }
  Tensor scales = checkInput(desc, field, {SACCADE_DTYPE_F32}, Axes::Any);
  const int64_t tokens = scaled.sizes[2];
  broadcastTo(scales, field, {scaled.sizes[0], scaled.sizes[1], block == 0 ? 1 : (tokens + block - 1) / block, 1});
  return scales;
}

void checkScales(const SaccadeAttentionDesc& desc, AttentionProblem& problem) {
  if (desc.scaleBlock > kMaxSeqlen) {
    refuse("scale_block", "scaleBlock is {}; at most {} are possible", desc.scaleBlock, kMaxSeqlen);
  }
  problem.scaleBlock = desc.scaleBlock;
  problem.kScale = checkScales(desc.kScale, "k_scale", problem.k, desc.scaleBlock);
  problem.vScale = checkScales(desc.vScale, "v_scale", problem.v, desc.scaleBlock);
  if (desc.scaleBlock != 0 && !problem.kScale.present() && !problem.vScale.present()) {
    refuse("scale_block", "scaleBlock is {}, but neither k_scale nor v_scale is given; give one or leave it at 0", desc.scaleBlock);
  }
}

}  // namespace

AttentionProblem validateAttention(const SaccadeAttentionDesc& desc) {
  if (desc.structSize != sizeof(SaccadeAttentionDesc)) {
    refuse("structSize", "structSize is {}, this library expects {}; start from saccadeAttentionDescDefault()", desc.structSize,
           sizeof(SaccadeAttentionDesc));
  }
  checkHeadDim(desc.q.sizes[3], "head_dim_qk", "q");
  checkHeadDim(desc.v.sizes[3], "head_dim_v", "v");
  checkSeqlen(desc.q.sizes[2], "seqlen_q");
  checkSeqlen(desc.k.sizes[2], "seqlen_k");
  if (desc.causal < SACCADE_CAUSAL_NONE || desc.causal > SACCADE_CAUSAL_TOP_LEFT) {
    refuse("causal", "causal is {}; it must be a SaccadeCausal: none, bottom_right or top_left", static_cast<int>(desc.causal));
  }
  checkWindow(desc.windowLeft, "window_left");
  checkWindow(desc.windowRight, "window_right");
  checkScale(desc);
  checkSoftcap(desc.softcap);
  checkPacked(desc);
  refuseLaterRules(desc);

  AttentionProblem problem;
  problem.packed = desc.hasCuSeqlens;
  problem.q = checkInput(desc.q, "q", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16});
  problem.batch = problem.packed ? desc.numSequences : problem.q.sizes[0];
  problem.numHeadsQ = problem.q.sizes[1];
  problem.seqlenQ = problem.q.sizes[2];
  problem.headDimQk = problem.q.sizes[3];
  problem.headDimV = static_cast<uint32_t>(desc.v.sizes[3]);
  checkKeysAndValues(desc, problem);
  checkScales(desc, problem);

  const SaccadeDtype dtype = problem.q.dtype;
  const int64_t entries = problem.q.sizes[0], heads = problem.numHeadsQ, seqlenQ = problem.seqlenQ;
  problem.out = checkOutput(desc.out, "out", {dtype}, {entries, heads, seqlenQ, problem.headDimV});
  if (desc.lse.dtype != SACCADE_DTYPE_NONE) {
    problem.lse = checkOutput(desc.lse, "lse", {SACCADE_DTYPE_F32}, {entries, heads, seqlenQ, 1});
  }
  const Sizes scores{entries, heads, seqlenQ, problem.seqlenK};
  if (desc.probs.dtype != SACCADE_DTYPE_NONE) problem.probs = checkOutput(desc.probs, "probs", {dtype}, scores);
  if (desc.mask.dtype != SACCADE_DTYPE_NONE) {
    problem.mask = checkInput(desc.mask, "mask", {SACCADE_DTYPE_U8}, Axes::Any);
    broadcastTo(problem.mask, "mask", scores);
  }
  if (desc.bias.dtype != SACCADE_DTYPE_NONE) {
    problem.bias = checkInput(desc.bias, "bias", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16}, Axes::Any);
    broadcastTo(problem.bias, "bias", scores);
  }
  if (desc.alibiSlopes.dtype != SACCADE_DTYPE_NONE) {
    problem.alibiSlopes = checkInput(desc.alibiSlopes, "alibi_slopes", {SACCADE_DTYPE_F32});
    const int64_t rows = problem.alibiSlopes.sizes[2] == 1 ? 1 : problem.batch;
    requireSizes(problem.alibiSlopes, "alibi_slopes", {1, 1, rows, heads}, "a slope per query head, one row for all entries or one each");
    if (rows == 1) problem.alibiSlopes.strides[2] = 0;
  }
  if (desc.sink.dtype != SACCADE_DTYPE_NONE) {
    problem.sink = checkInput(desc.sink, "sink", {SACCADE_DTYPE_F32});
    requireSizes(problem.sink, "sink", {1, 1, 1, heads}, "one logit per query head");
  }
  problem.hasSeqlensQ = desc.hasSeqlensQ;
  problem.hasSeqlensK = desc.hasSeqlensK;
  problem.topLeft = desc.causal == SACCADE_CAUSAL_TOP_LEFT;
  // A distance beyond every sequence bounds nothing more.
  problem.windowLeft = std::min(desc.windowLeft, kMaxSeqlen);
  problem.windowRight = desc.causal != SACCADE_CAUSAL_NONE ? 0 : std::min(desc.windowRight, kMaxSeqlen);
  const double scale = desc.hasSoftmaxScale ? desc.softmaxScale : 1.0 / std::sqrt(static_cast<double>(problem.headDimQk));
  problem.scale = static_cast<float>(scale / desc.temperature);
  if (!std::isfinite(problem.scale)) {
    refuse("temperature", "temperature is {}; softmax_scale / temperature overflows fp32", desc.temperature);
  }
  // A device may take a subnormal cap for 0; scores that small are the same anyway.
  problem.softcap = desc.softcap == 0 ? 0 : std::max(desc.softcap, std::numeric_limits<float>::min());
  if (desc.kernel != nullptr) problem.kernel = desc.kernel;
  return problem;
}

}  // namespace saccade::core
