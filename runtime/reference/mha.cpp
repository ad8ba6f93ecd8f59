// SPDX-License-Identifier: Apache-2.0
#include "reference/mha.hpp"

#include <type_traits>

#include "reference/ops.hpp"
#include "reference/plain_fp32.hpp"

namespace saccade::reference {

namespace {

// Values [B,T,H*D] seen as [B,H,T,D].
View4<double> headsOf(const std::vector<double>& values, std::int64_t seqlen, std::int64_t heads,
                      std::int64_t headDim) {
  return {values.data(), {seqlen * heads * headDim, headDim, heads * headDim, 1}};
}

template <typename Real>
std::vector<double> widened(const std::vector<Real>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

template <typename Real>
std::vector<Real> Linear<Real>::operator()(std::span<const Real> x, std::int64_t rows) const {
  return matmul<Real>(x, weight, WeightLayout::Nk, bias, rows, outputs, inputs);
}

template <typename Real>
Linear<Real> Linear<Real>::rows(std::int64_t first, std::int64_t count) const {
  Linear part;
  part.weight.assign(weight.begin() + first * inputs, weight.begin() + (first + count) * inputs);
  if (!bias.empty()) {
    part.bias.assign(bias.begin() + first, bias.begin() + first + count);
  }
  part.outputs = count;
  part.inputs = inputs;
  return part;
}

template <typename Real>
MhaResult<Real> multiHeadAttention(const Mha<Real>& module, std::span<const Real> x,
                                   std::span<const Real> xKv, const MhaSize& size,
                                   std::span<const std::uint8_t> keyPaddingMask, Probs probs) {
  const std::vector<double> q = widened(module.q(x, size.batch * size.seqlenQ));
  const std::vector<double> k = widened(module.k(xKv, size.batch * size.seqlenK));
  const std::vector<double> v = widened(module.v(xKv, size.batch * size.seqlenK));

  const std::int64_t headDim = module.q.outputs / module.numHeads;
  const std::int64_t headDimV = module.v.outputs / module.numKvHeads;
  AttentionProblem problem;
  problem.batch = size.batch;
  problem.numHeadsQ = module.numHeads;
  problem.numHeadsKv = module.numKvHeads;
  problem.seqlenQ = size.seqlenQ;
  problem.seqlenK = size.seqlenK;
  problem.headDimQk = headDim;
  problem.headDimV = headDimV;
  problem.q = headsOf(q, size.seqlenQ, module.numHeads, headDim);
  problem.k = headsOf(k, size.seqlenK, module.numKvHeads, headDim);
  problem.v = headsOf(v, size.seqlenK, module.numKvHeads, headDimV);
  problem.causal = module.causal;
  if (!keyPaddingMask.empty()) {
    problem.mask = {keyPaddingMask.data(), {size.seqlenK, 0, 0, 1}};
  }
  const AttentionResult attended = std::is_same_v<Real, double>
                                       ? attention(problem, probs)
                                       : plainFp32Attention(problem, PlainFormulation::Unfused, probs);

  std::vector<Real> tokens(attended.out.size());  // from [B,H,T,D] back to [B,T,H*D]
  std::size_t from = 0;
  for (std::int64_t b = 0; b < size.batch; ++b) {
    for (std::int64_t h = 0; h < module.numHeads; ++h) {
      for (std::int64_t i = 0; i < size.seqlenQ; ++i) {
        for (std::int64_t c = 0; c < headDimV; ++c) {
          tokens[static_cast<std::size_t>(((b * size.seqlenQ + i) * module.numHeads + h) * headDimV + c)] =
              static_cast<Real>(attended.out[from++]);
        }
      }
    }
  }
  return {module.out(tokens, size.batch * size.seqlenQ), {attended.probs.begin(), attended.probs.end()}};
}

template struct Linear<float>;
template struct Linear<double>;
template MhaResult<float> multiHeadAttention(const Mha<float>&, std::span<const float>,
                                             std::span<const float>, const MhaSize&,
                                             std::span<const std::uint8_t>, Probs);
template MhaResult<double> multiHeadAttention(const Mha<double>&, std::span<const double>,
                                              std::span<const double>, const MhaSize&,
                                              std::span<const std::uint8_t>, Probs);

}  // namespace saccade::reference
