// SPDX-License-Identifier: Apache-2.0
#include "attention/problem.hpp"

#include <cmath>

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
  if (desc.windowLeft < -1) refuse("window_left", "window_left is {}; it must be -1 (unbounded) or a distance >= 0", desc.windowLeft);
  if (desc.windowRight < -1) refuse("window_right", "window_right is {}; it must be -1 (unbounded) or a distance >= 0", desc.windowRight);
  if (desc.windowLeft != -1) later("window_left", std::format("{}", desc.windowLeft), "-1");
  if (desc.windowRight != -1) later("window_right", std::format("{}", desc.windowRight), "-1");
  if (!std::isfinite(desc.softcap) || desc.softcap < 0) refuse("softcap", "softcap is {}; it must be 0 (off) or finite and > 0", desc.softcap);
  if (desc.softcap != 0) later("softcap", std::format("{}", desc.softcap), "0");
  if (desc.hasAlibiSlopes) later("alibi_slopes", "given", "absent");
  if (desc.hasSink) later("sink", "given", "absent");
  if (desc.hasCuSeqlens) later("cu_seqlens", "given", "absent");
  if (desc.pageSize != 0) later("page_size", std::format("{}", desc.pageSize), "0");
  if (!(desc.dropout >= 0 && desc.dropout < 1)) refuse("dropout", "dropout is {}; it must be at least 0 and below 1", desc.dropout);
  if (desc.dropout != 0) later("dropout", std::format("{}", desc.dropout), "0");
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
  checkScale(desc);
  refuseLaterRules(desc);

  AttentionProblem problem;
  problem.q = checkInput(desc.q, "q", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16});
  const SaccadeDtype dtype = problem.q.dtype;
  problem.k = checkInput(desc.k, "k", {dtype});
  problem.v = checkInput(desc.v, "v", {dtype});
  problem.batch = problem.q.sizes[0];
  problem.numHeadsQ = problem.q.sizes[1];
  problem.numHeadsKv = problem.k.sizes[1];
  problem.seqlenQ = problem.q.sizes[2];
  problem.seqlenK = problem.k.sizes[2];
  problem.headDimQk = problem.q.sizes[3];
  problem.headDimV = problem.v.sizes[3];

  const int64_t batch = problem.batch, heads = problem.numHeadsQ, headsKv = problem.numHeadsKv;
  const int64_t seqlenQ = problem.seqlenQ, seqlenK = problem.seqlenK;
  requireSizes(problem.k, "k", {batch, headsKv, seqlenK, problem.headDimQk}, "batch and head_dim_qk come from q");
  requireSizes(problem.v, "v", {batch, headsKv, seqlenK, problem.headDimV}, "batch, num_heads_kv and seqlen_k come from k");
  if (headsKv == 0 ? heads != 0 : heads % headsKv != 0) {
    refuse("num_heads_kv", "num_heads_q is {} and num_heads_kv is {}; num_heads_q must be a multiple of num_heads_kv", heads,
           headsKv);
  }
  problem.out = checkOutput(desc.out, "out", {dtype}, {batch, heads, seqlenQ, problem.headDimV});
  if (desc.lse.dtype != SACCADE_DTYPE_NONE) {
    problem.lse = checkOutput(desc.lse, "lse", {SACCADE_DTYPE_F32}, {batch, heads, seqlenQ, 1});
  }
  if (desc.probs.dtype != SACCADE_DTYPE_NONE) {
    problem.probs = checkOutput(desc.probs, "probs", {dtype}, {batch, heads, seqlenQ, seqlenK});
  }
  const Sizes scores{batch, heads, seqlenQ, seqlenK};
  if (desc.mask.dtype != SACCADE_DTYPE_NONE) {
    problem.mask = checkInput(desc.mask, "mask", {SACCADE_DTYPE_U8}, Axes::Any);
    broadcastTo(problem.mask, "mask", scores);
  }
  if (desc.bias.dtype != SACCADE_DTYPE_NONE) {
    problem.bias = checkInput(desc.bias, "bias", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16}, Axes::Any);
    broadcastTo(problem.bias, "bias", scores);
  }
  problem.hasSeqlensQ = desc.hasSeqlensQ;
  problem.hasSeqlensK = desc.hasSeqlensK;
  problem.causal = desc.causal;
  const double scale = desc.hasSoftmaxScale ? desc.softmaxScale : 1.0 / std::sqrt(static_cast<double>(problem.headDimQk));
  problem.scale = static_cast<float>(scale / desc.temperature);
  if (!std::isfinite(problem.scale)) {
    refuse("temperature", "temperature is {}; softmax_scale / temperature overflows fp32", desc.temperature);
  }
  if (desc.kernel != nullptr) problem.kernel = desc.kernel;
  return problem;
}

}  // namespace saccade::core
