// SPDX-License-Identifier: Apache-2.0
#include "attention/plan.hpp"

#include <algorithm>

#include "api/message.hpp"
#include "attention/choice.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "attention_params.h"

namespace {

static_assert(sizeof(AttentionParams) <= 256, "a parameter block holds 256 bytes");

AttentionParams makeParams(const AttentionProblem& p, uint32_t rowsPerGroup) {
  AttentionParams params{};
  params.numHeadsQ = p.numHeadsQ;
  params.headsPerGroup = p.numHeadsQ / p.numHeadsKv;
  params.seqlenQ = p.seqlenQ;
  params.seqlenK = p.seqlenK;
  params.rowBlocks = (p.seqlenQ + rowsPerGroup - 1) / rowsPerGroup;
  params.scale = p.scale;
  const auto strides = [](const Tensor& tensor, uint& b, uint& h, uint& t) {
    b = tensor.strides[0];
    h = tensor.strides[1];
    t = tensor.strides[2];
  };
  strides(p.q, params.qStrideB, params.qStrideH, params.qStrideT);
  strides(p.k, params.kStrideB, params.kStrideH, params.kStrideT);
  strides(p.v, params.vStrideB, params.vStrideH, params.vStrideT);
  strides(p.out, params.outStrideB, params.outStrideH, params.outStrideT);
  strides(p.lse, params.lseStrideB, params.lseStrideH, params.lseStrideT);
  strides(p.probs, params.probsStrideB, params.probsStrideH, params.probsStrideT);
  strides(p.mask, params.maskStrideB, params.maskStrideH, params.maskStrideQ);
  params.maskStrideK = p.mask.strides[3];
  strides(p.bias, params.biasStrideB, params.biasStrideH, params.biasStrideQ);
  params.biasStrideK = p.bias.strides[3];
  return params;
}

StepDraft makeStep(const DeviceFacts& facts, const AttentionProblem& p, const char* kernel, const AttentionTile& tile) {
  StepDraft step;
  step.shader = &shaderFor(kernel, p.q.dtype, facts);
  step.specialisation.resize(SPEC_CHANNELS + 1);
  step.specialisation[SPEC_LOCAL_SIZE] = tile.localSize;
  step.specialisation[SPEC_HEAD_DIM_QK] = p.headDimQk;
  step.specialisation[SPEC_HEAD_DIM_V] = p.headDimV;
  step.specialisation[SPEC_CAUSAL] = static_cast<uint32_t>(p.causal);
  step.specialisation[SPEC_HAS_KEYS] = p.seqlenK > 0;
  step.specialisation[SPEC_MASK] = p.mask.present();
  step.specialisation[SPEC_BIAS] = static_cast<uint32_t>(p.bias.dtype);
  step.specialisation[SPEC_SEQLENS_Q] = p.hasSeqlensQ;
  step.specialisation[SPEC_SEQLENS_K] = p.hasSeqlensK;
  step.specialisation[SPEC_LSE] = p.lse.present();
  step.specialisation[SPEC_KEYS] = tile.keys;
  step.specialisation[SPEC_CHANNELS] = tile.channels;
  const AttentionParams params = makeParams(p, tile.rows);
  step.setParams(params);
  step.groups = static_cast<uint64_t>(params.rowBlocks) * p.numHeadsQ * p.batch;
  step.slots = {kSlotQ, kSlotK, kSlotV, kSlotOut, kSlotLse, kSlotProbs, kSlotMask, kSlotBias, kSlotSeqlensQ, kSlotSeqlensK};
  return step;
}

std::string makeLabel(const AttentionProblem& p, const char* kernel) {
  std::string label = std::format("attention {} {} B{} Hq{} Hkv{} Tq{} Tk{} Dqk{} Dv{}", kernel, dtypeName(p.q.dtype), p.batch,
                                  p.numHeadsQ, p.numHeadsKv, p.seqlenQ, p.seqlenK, p.headDimQk, p.headDimV);
  if (p.causal == SACCADE_CAUSAL_BOTTOM_RIGHT) label += " causal bottom_right";
  if (p.causal == SACCADE_CAUSAL_TOP_LEFT) label += " causal top_left";
  if (p.mask.present()) label += " mask";
  if (p.bias.present()) label += std::string(" bias ") + dtypeName(p.bias.dtype);
  if (p.hasSeqlensQ) label += " seqlens_q";
  if (p.hasSeqlensK) label += " seqlens_k";
  if (p.lse.present()) label += " lse";
  if (p.probs.present()) label += " probs";
  return label;
}

double usefulFlops(const AttentionProblem& p) {
  const double pairs = static_cast<double>(p.batch) * p.numHeadsQ * p.seqlenQ * p.seqlenK;
  const double full = 2.0 * pairs * (static_cast<double>(p.headDimQk) + p.headDimV);
  return p.causal == SACCADE_CAUSAL_NONE ? full : full / 2;
}

}  // namespace

PlanDraft planAttention(const DeviceFacts& facts, const AttentionProblem& p, const std::string& forcedKernel) {
  const AttentionChoice choice = chooseAttention(facts, p, forcedKernel);
  PlanDraft draft;
  draft.op = SACCADE_OPERATOR_ATTENTION;
  draft.kernel = choice.kernel;
  draft.reason = choice.reason;
  draft.label = makeLabel(p, choice.kernel);
  draft.flops = usefulFlops(p);

  draft.lengths = {p.hasSeqlensQ ? p.batch : 0, p.hasSeqlensK ? p.batch : 0, p.seqlenQ, p.seqlenK};

  const bool nothing = p.empty();
  const uint64_t lengthBytes = uint64_t{p.batch} * sizeof(int32_t);
  const auto slot = [&](const char* name, const Tensor& tensor) {
    const uint64_t bytes = nothing || !tensor.present() ? 0 : tensor.bytes();
    draft.slots.push_back({name, bytes, std::max(dtypeBytes(tensor.dtype), 1u)});
    draft.bytes += tensor.present() ? static_cast<double>(tensor.elements()) * dtypeBytes(tensor.dtype) : 0.0;
  };
  slot("q", p.q);
  slot("k", p.k);
  slot("v", p.v);
  slot("out", p.out);
  slot("lse", p.lse);
  slot("probs", p.probs);
  slot("mask", p.mask);
  slot("bias", p.bias);
  draft.slots.push_back({"seqlens_q", nothing || !p.hasSeqlensQ ? 0 : lengthBytes, 4});
  draft.slots.push_back({"seqlens_k", nothing || !p.hasSeqlensK ? 0 : lengthBytes, 4});
  draft.slots.push_back({"scratch", 0, 16});
  if (nothing) return draft;

  draft.steps.push_back(makeStep(facts, p, choice.kernel, choice.tile));
  // Independent of the first step: both read the inputs only, so no barrier stands between them.
  if (p.probs.present() && p.probs.elements() > 0) {
    draft.steps.push_back(makeStep(facts, p, "weights", weightsTile(facts)));
  }
  return draft;
}

void checkHostLengths(const int32_t* lengths, uint32_t batch, uint32_t limit, const char* field, const char* limitName) {
  if (lengths == nullptr) return;
  for (uint32_t b = 0; b < batch; b++) {
    if (lengths[b] < 0 || static_cast<uint32_t>(lengths[b]) > limit) {
      refuse(field, "{}[{}] is {}; it must be between 0 and {}, which is {}", field, b, lengths[b], limitName, limit);
    }
  }
}

}  // namespace saccade::core
