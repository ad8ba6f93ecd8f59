// SPDX-License-Identifier: Apache-2.0
#include "reference/vit.hpp"

#include <utility>

#include "io/position_embedding.hpp"
#include "reference/mha.hpp"

namespace saccade::reference {

namespace {

template <typename Real>
std::vector<Real> realsOf(const io::TensorData& tensor) {
  const std::vector<double> values = tensor.toDoubles();
  return {values.begin(), values.end()};
}

template <typename Real>
Linear<Real> linearOf(const io::LinearWeights& weights) {
  return {realsOf<Real>(weights.weight), realsOf<Real>(weights.bias), weights.weight.shape()[0],
          weights.weight.shape()[1]};
}

template <typename Real>
std::vector<Real> norm(const io::NormWeights& weights, std::span<const Real> x, const io::VitConfig& config) {
  const std::vector<Real> weight = realsOf<Real>(weights.weight);
  const std::vector<Real> bias = realsOf<Real>(weights.bias);
  const auto width = static_cast<std::size_t>(config.embedDim);
  return layerNorm<Real>(x, weight, bias, static_cast<std::int64_t>(x.size() / width), config.embedDim,
                         config.epsilon);
}

// LayerScale: one factor per channel; absent: x unchanged.
template <typename Real>
void scaleChannels(std::vector<Real>& x, const std::optional<io::TensorData>& factors) {
  if (factors) {
    const std::vector<Real> values = realsOf<Real>(*factors);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] *= values[i % values.size()];
    }
  }
}

template <typename Real>
Mha<Real> attentionOf(const io::VitBlockWeights& block, const io::VitConfig& config) {
  const Linear<Real> qkv = linearOf<Real>(block.qkv);
  const std::int64_t width = config.embedDim;
  return {qkv.rows(0, width),         qkv.rows(width, width), qkv.rows(2 * width, width),
          linearOf<Real>(block.proj), config.numHeads,        config.numHeads};
}

// [B,T,E]: class token and patches of every picture, positions added.
template <typename Real>
std::vector<Real> embed(const io::VitWeights& weights, std::span<const Real> images, const ImageSize& size) {
  const io::VitConfig& config = weights.config;
  const std::int64_t rows = size.height / config.patchSize;
  const std::int64_t columns = size.width / config.patchSize;
  const std::vector<Real> patches =
      patchEmbed<Real>(images, realsOf<Real>(weights.patch.weight), realsOf<Real>(weights.patch.bias), size,
                       config.patchSize, config.embedDim);
  const std::vector<Real> classToken = realsOf<Real>(weights.classToken);
  const std::vector<double> positions = io::resizePositionEmbedding(
      weights.positions.toDoubles(), config.gridSize, config.embedDim, rows, columns);
  const std::int64_t perPicture = rows * columns * config.embedDim;
  std::vector<Real> tokens;
  for (std::int64_t b = 0; b < size.batch; ++b) {
    const std::size_t first = tokens.size();
    tokens.insert(tokens.end(), classToken.begin(), classToken.end());
    tokens.insert(tokens.end(), patches.begin() + b * perPicture, patches.begin() + (b + 1) * perPicture);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      tokens[first + i] += static_cast<Real>(positions[i]);
    }
  }
  return tokens;
}

}  // namespace

template <typename Real>
VitResult<Real> vitForward(const io::VitWeights& weights, std::span<const Real> images,
                           const VitInput& input) {
  const io::VitConfig& config = weights.config;
  const std::int64_t batch = input.size.batch;
  VitResult<Real> result;
  std::vector<Real> x = embed(weights, images, input.size);
  result.seqlen = 1 + input.size.height / config.patchSize * (input.size.width / config.patchSize);
  result.states.push_back(x);
  for (std::size_t n = 0; n < weights.blocks.size(); ++n) {
    const io::VitBlockWeights& block = weights.blocks[n];
    const bool storeProbs = input.probsBlock == static_cast<std::int64_t>(n);

    const std::vector<Real> normal1 = norm<Real>(block.norm1, x, config);
    MhaResult<Real> attended = multiHeadAttention<Real>(attentionOf<Real>(block, config), normal1, normal1,
                                                        {batch, result.seqlen, result.seqlen}, {},
                                                        storeProbs ? Probs::Store : Probs::Skip);
    scaleChannels(attended.out, block.scale1);
    x = add<Real>(x, attended.out);
    if (storeProbs) {
      result.probs = std::move(attended.probs);
    }

    const std::vector<Real> normal2 = norm<Real>(block.norm2, x, config);
    const std::vector<Real> hidden = linearOf<Real>(block.fc1)(normal2, batch * result.seqlen);
    const std::vector<Real> active = gelu<Real>(hidden, config.geluTanh ? Gelu::Tanh : Gelu::Exact);
    std::vector<Real> mlp = linearOf<Real>(block.fc2)(active, batch * result.seqlen);
    scaleChannels(mlp, block.scale2);
    x = add<Real>(x, mlp);
    result.states.push_back(x);
  }
  result.tokens = norm<Real>(weights.norm, x, config);
  if (weights.head) {
    std::vector<Real> classTokens;
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto first = result.tokens.begin() + b * result.seqlen * config.embedDim;
      classTokens.insert(classTokens.end(), first, first + config.embedDim);
    }
    result.logits = linearOf<Real>(*weights.head)(classTokens, batch);
  }
  return result;
}

template VitResult<float> vitForward(const io::VitWeights&, std::span<const float>, const VitInput&);
template VitResult<double> vitForward(const io::VitWeights&, std::span<const double>, const VitInput&);

}  // namespace saccade::reference
