// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/vit_weights.hpp"
#include "reference/ops.hpp"

namespace saccade::reference {

struct VitInput {
  ImageSize size;                          // height and width are multiples of the patch size
  std::optional<std::int64_t> probsBlock;  // store the attention weights of that block
};

template <typename Real>
struct VitResult {
  std::int64_t seqlen = 0;                // T: class token and patches
  std::vector<Real> tokens;               // [B,T,E] after the final norm
  std::vector<Real> logits;               // [B,classes]; empty for a backbone
  std::vector<std::vector<Real>> states;  // depth + 1 times [B,T,E]: before the first block, then after each
  std::vector<Real> probs;                // [B,H,T,T] of input.probsBlock
};

// A pre-norm Vision Transformer: patch embedding, class token in front, position embeddings (resized
// bicubically if the picture has another number of patches), blocks x += scale1 * attention(norm1(x)), x +=
// scale2 * mlp(norm2(x)), norm, head on token 0. images [B,C,H,W], normalised. Exists for double and float.
template <typename Real>
VitResult<Real> vitForward(const io::VitWeights& weights, std::span<const Real> images,
                           const VitInput& input);

}  // namespace saccade::reference
