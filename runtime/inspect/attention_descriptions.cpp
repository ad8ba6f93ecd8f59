// SPDX-License-Identifier: Apache-2.0
#include "inspect/attention_descriptions.hpp"

namespace saccade::inspect {

AttentionDesc plainAttention(const std::string& kernel, Dtype dtype, std::int64_t headDim, std::int64_t rows,
                             std::int64_t keys) {
  return {.q = {dtype, {kBatch, kHeadsQ, rows, headDim}},
          .k = {dtype, {kBatch, kHeadsKv, keys, headDim}},
          .v = {dtype, {kBatch, kHeadsKv, keys, headDim}},
          .kernel = kernel};
}

AttentionDesc everything(const AttentionDesc& plain) {
  AttentionDesc desc = plain;
  const std::int64_t rows = plain.q.sizes[2], keys = plain.k.sizes[2];
  desc.causal = Causal::BottomRight;
  desc.windowLeft = 64;
  desc.windowRight = 8;
  desc.mask = {Dtype::U8, {kBatch, 1, rows, keys}};
  desc.bias = {plain.q.dtype, {kBatch, 1, rows, keys}};
  desc.alibiSlopes = {Dtype::F32, {1, 1, 1, kHeadsQ}};
  desc.sink = {Dtype::F32, {1, 1, 1, kHeadsQ}};
  desc.softcap = 30;
  desc.seqlensQ = desc.seqlensK = true;
  desc.lse = {Dtype::F32, {kBatch, kHeadsQ, rows, 1}};
  desc.probs = {plain.q.dtype, {kBatch, kHeadsQ, rows, keys}};
  return desc;
}

}  // namespace saccade::inspect
