// SPDX-License-Identifier: Apache-2.0
// What the core's tests share: small descriptions, and refusals as values.
#pragma once

#include <optional>
#include <ostream>

#include <gtest/gtest.h>

#include "api/message.hpp"

namespace saccade::core {

inline void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << saccadeGetStatusName(refusal.status) << ": " << refusal.field << ": " << refusal.text;
}

}  // namespace saccade::core

namespace saccade::test {

inline SaccadeTensorDesc tensorDesc(SaccadeDtype dtype, std::initializer_list<int64_t> sizes,
                                    std::initializer_list<int64_t> strides = {}) {
  SaccadeTensorDesc desc{};
  desc.dtype = dtype;
  std::copy(sizes.begin(), sizes.end(), desc.sizes);
  std::copy(strides.begin(), strides.end(), desc.strides);
  return desc;
}

struct AttentionShape {
  int64_t batch = 2, headsQ = 6, headsKv = 3, seqlenQ = 5, seqlenK = 7, headDimQk = 16, headDimV = 24;
};

// Contiguous q, k, v; out as the inputs demand.
inline SaccadeAttentionDesc attentionDesc(const AttentionShape& s = {},
                                          SaccadeDtype dtype = SACCADE_DTYPE_F32) {
  SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
  desc.q = tensorDesc(dtype, {s.batch, s.headsQ, s.seqlenQ, s.headDimQk});
  desc.k = tensorDesc(dtype, {s.batch, s.headsKv, s.seqlenK, s.headDimQk});
  desc.v = tensorDesc(dtype, {s.batch, s.headsKv, s.seqlenK, s.headDimV});
  desc.out.dtype = dtype;
  return desc;
}

// K and V of 8 bits, with a scale per head and 4 tokens; there are 7 tokens.
inline void quantise(SaccadeAttentionDesc& desc, SaccadeDtype dtype) {
  desc.k.dtype = desc.v.dtype = dtype;
  desc.kScale = desc.vScale = tensorDesc(SACCADE_DTYPE_F32, {2, 3, 2, 1});
  desc.scaleBlock = 4;
}

// What the call refuses; empty if it returns.
template <class Call>
std::optional<core::Refusal> refusalOf(Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const core::Refusal& refusal) {
    return refusal;
  }
}

}  // namespace saccade::test
