// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/attention.hpp"

namespace saccade::reference {

// y = x W^T + b with W [outputs,inputs] and b [outputs] (empty: none).
template <typename Real>
struct Linear {
  std::vector<Real> weight;
  std::vector<Real> bias;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;

  std::vector<Real> operator()(std::span<const Real> x, std::int64_t rows) const;
  // Rows first .. first+count-1 as a map of its own: one of the parts of a fused projection.
  Linear rows(std::int64_t first, std::int64_t count) const;
};

// The multi-head attention module: projections of x and x_kv, attention, output projection. Head h owns
// channels h*D .. h*D+D-1 of q, with D = E / num_heads; scale 1/sqrt(D).
template <typename Real>
struct Mha {
  Linear<Real> q, k, v, out;
  std::int64_t numHeads = 0;
  std::int64_t numKvHeads = 0;
  Causal causal = Causal::None;
};

struct MhaSize {
  std::int64_t batch = 0;
  std::int64_t seqlenQ = 0;
  std::int64_t seqlenK = 0;
};

template <typename Real>
struct MhaResult {
  std::vector<Real> out;    // [B,Tq,E]
  std::vector<Real> probs;  // on request: [B,H,Tq,Tk]
};

// x [B,Tq,E], xKv [B,Tk,Ekv] (self-attention: the same span). keyPaddingMask [B,Tk], non-zero = attend, or
// empty. A row that sees no key gives the bias of the output projection.
template <typename Real>
MhaResult<Real> multiHeadAttention(const Mha<Real>& module, std::span<const Real> x,
                                   std::span<const Real> xKv, const MhaSize& size,
                                   std::span<const std::uint8_t> keyPaddingMask, Probs probs);

}  // namespace saccade::reference
