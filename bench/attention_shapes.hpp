// SPDX-License-Identifier: Apache-2.0
// The shapes S1 to S7 of docs/performance.md, for the programs that measure what surrounds the kernels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <saccade/runtime.hpp>

namespace saccade::bench {

struct NamedShape {
  const char* name;
  std::int64_t batch, headsQ, headsKv, seqlenQ, seqlenK, headDim;
  bool causal = false;
  bool lengths = false;  // entries of 1, 3/4, 1/2 and 1/4 of seqlenQ and seqlenK, in turn
};

inline constexpr std::array<NamedShape, 7> kShapes{{
    {"S1", 1, 3, 3, 197, 197, 64},
    {"S2", 1, 12, 12, 197, 197, 64},
    {"S3", 1, 3, 3, 1024, 1024, 64},
    {"S4", 1, 8, 8, 2048, 2048, 64, true},
    {"S5", 1, 8, 8, 1024, 1024, 128},
    {"S6", 1, 32, 8, 1, 4096, 128},
    {"S7", 8, 12, 12, 128, 128, 64, false, true},
}};

// The tensors of a shape, of ones: what surrounds a kernel does not depend on the values.
struct Inputs {
  Tensor q, k, v, out;
  AttentionOptions options;

  Inputs(const Device& device, const NamedShape& s)
      : q(Tensor::full(device, Dtype::F32, {s.batch, s.headsQ, s.seqlenQ, s.headDim}, 1)),
        k(Tensor::full(device, Dtype::F32, {s.batch, s.headsKv, s.seqlenK, s.headDim}, 1)),
        v(Tensor::full(device, Dtype::F32, {s.batch, s.headsKv, s.seqlenK, s.headDim}, 1)),
        out(Tensor::empty(device, Dtype::F32, {s.batch, s.headsQ, s.seqlenQ, s.headDim})) {
    if (s.causal) options.causal = Causal::BottomRight;
    if (!s.lengths) return;
    std::vector<std::int32_t> lengths;
    for (std::int64_t b = 0; b < s.batch; ++b) lengths.push_back(static_cast<std::int32_t>(s.seqlenQ * (4 - b % 4) / 4));
    options.seqlensQ = options.seqlensK = Tensor::fromInts(device, {s.batch}, lengths);
  }
};

}  // namespace saccade::bench
