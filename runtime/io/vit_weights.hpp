// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/safetensors.hpp"

// The weights of a Vision Transformer under one set of names, whatever the file calls them: timm's
// VisionTransformer or Hugging Face's Dinov2Model (with or without a prefix such as "backbone.").

namespace saccade::io {

struct VitConfig {
  std::int64_t embedDim = 0;
  std::int64_t depth = 0;
  std::int64_t numHeads = 0;
  std::int64_t mlpDim = 0;
  std::int64_t inChannels = 0;
  std::int64_t patchSize = 0;
  std::int64_t gridSize = 0;    // position embeddings are for gridSize x gridSize patches
  std::int64_t numClasses = 0;  // 0: a backbone without a head
  double epsilon = 1e-6;
  bool geluTanh = false;  // false: the erf form

  // How pictures are normalised, one value per channel: (pixel / 255 - mean) / std.
  std::vector<double> mean, std;
  std::vector<std::string> classNames;  // empty if the file names none

  // What the file does not say and was taken from custom, one sentence each, to be shown to the user.
  std::vector<std::string> assumptions;
};

// y = x W^T + b: weight [outputs,inputs], bias [outputs].
struct LinearWeights {
  TensorData weight, bias;
};

struct NormWeights {
  TensorData weight, bias;  // [E]
};

struct VitBlockWeights {
  NormWeights norm1;
  LinearWeights qkv;                 // [3E,E], rows Q, K, V; head h owns rows h*D .. h*D+D-1 of each
  LinearWeights proj;                // [E,E]
  std::optional<TensorData> scale1;  // LayerScale, [E]
  NormWeights norm2;
  LinearWeights fc1, fc2;            // [M,E], [E,M]
  std::optional<TensorData> scale2;  // [E]
};

struct VitWeights {
  VitConfig config;
  LinearWeights patch;    // weight [E,C,P,P]
  TensorData classToken;  // [E]
  TensorData positions;   // [1 + gridSize^2, E]: class token, then patches row by row
  std::vector<VitBlockWeights> blocks;
  NormWeights norm;
  std::optional<LinearWeights> head;  // [numClasses,E]
};

// Takes a model out of the tensors of a file. The geometry comes from the shapes; metadata say the rest
// (num_heads, epsilon, approximate, mean, std, class_names) and, where they name a size, must agree with the
// shapes. Tensors keep their dtype and share the file's bytes, but for query, key and value that a file keeps
// apart: those are joined. Throws FileError naming the tensor or key that is missing, misshapen or has no
// place in the model.
VitWeights vitWeightsFrom(const std::filesystem::path& path, const TensorMap& tensors,
                          const Metadata& metadata);

// The same for a whole file.
VitWeights readVitWeights(const std::filesystem::path& path);

}  // namespace saccade::io
