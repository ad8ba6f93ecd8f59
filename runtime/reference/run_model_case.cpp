// SPDX-License-Identifier: Apache-2.0
#include "reference/run_model_case.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/file_error.hpp"
#include "reference/vit.hpp"

namespace saccade::reference {

namespace {

using io::DType;
using io::TensorData;
using io::TensorMap;

TensorData doubles(const io::Shape& shape, std::span<const double> values) {
  return TensorData::fromDoubles(DType::F64, shape, values);
}

VitInput inputFor(const io::CaseFile& file, const io::VitConfig& config, const TensorData& pictures) {
  const io::Shape& shape = pictures.shape();
  if (shape[2] % config.patchSize != 0 || shape[3] % config.patchSize != 0 || shape[2] == 0 ||
      shape[3] == 0) {
    throw io::FileError(file.path, "size of the pictures", fmt::format("{} x {}", shape[2], shape[3]),
                        fmt::format("it must be a multiple of the patch size, {}", config.patchSize));
  }
  return {.size = {shape[0], shape[1], shape[2], shape[3]}};
}

double euclideanNorm(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) {
    squares += value * value;
  }
  return std::sqrt(squares);
}

}  // namespace

TensorMap runVitCase(const io::CaseFile& file) {
  TensorMap tensors = file.inputs;
  tensors.erase("images");
  const io::VitWeights weights = io::vitWeightsFrom(file.path, tensors, file.metadata);
  const std::int64_t any = io::CaseFile::kAnySize;
  const TensorData& images = file.requireInput("images", {any, weights.config.inChannels, any, any});
  VitInput input = inputFor(file, weights.config, images);
  input.probsBlock = 0;
  const VitResult<double> result = vitForward<double>(weights, images.toDoubles(), input);
  TensorMap results;
  results["probs_layer0"] =
      doubles({input.size.batch, weights.config.numHeads, result.seqlen, result.seqlen}, result.probs);
  if (weights.head) {
    results["logits"] = doubles({input.size.batch, weights.config.numClasses}, result.logits);
  }
  return results;
}

TensorMap runModelCase(const io::CaseFile& file, const io::VitWeights& weights) {
  const io::VitConfig& config = weights.config;
  const std::int64_t any = io::CaseFile::kAnySize;
  const TensorData& pixels = file.requireInput("pixel_values", {1, config.inChannels, any, any});
  VitInput input = inputFor(file, config, pixels);
  input.probsBlock = config.depth - 1;
  const VitResult<double> result = vitForward<double>(weights, pixels.toDoubles(), input);

  const auto width = static_cast<std::size_t>(config.embedDim);
  const std::span<const double> tokens = result.tokens;
  std::vector<double> classAttention, classStates, blockNorms;
  for (std::int64_t h = 0; h < config.numHeads; ++h) {
    const auto row = result.probs.begin() + h * result.seqlen * result.seqlen;
    classAttention.insert(classAttention.end(), row, row + result.seqlen);
  }
  for (std::size_t n = 1; n < result.states.size(); ++n) {
    const std::vector<double>& state = result.states[n];
    classStates.insert(classStates.end(), state.begin(), state.begin() + config.embedDim);
    blockNorms.push_back(euclideanNorm(state));
  }
  return {{"class_token", doubles({config.embedDim}, tokens.first(width))},
          {"patch_tokens", doubles({result.seqlen - 1, config.embedDim}, tokens.subspan(width))},
          {"class_attention", doubles({config.numHeads, result.seqlen}, classAttention)},
          {"class_states", doubles({config.depth, config.embedDim}, classStates)},
          {"block_norms", doubles({config.depth}, blockNorms)},
          {"embedding_norm", doubles({1}, std::vector{euclideanNorm(result.states.front())})}};
}

}  // namespace saccade::reference
