// SPDX-License-Identifier: Apache-2.0
// Model files as bytes: the weights of a Vision Transformer under timm's and under DINOv2's names.
#include "fuzz.hpp"
#include "io/vit_weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace saccade;
  fuzz::readOrRefuse([&] {
    const io::Safetensors file = io::parseSafetensors(fuzz::kPath, fuzz::bytesOf(data, size), nullptr);
    const io::VitWeights weights = io::vitWeightsFrom(file.path, file.tensors, file.metadata);
    fuzz::require(static_cast<std::size_t>(weights.config.depth) == weights.blocks.size(), "depth counts the blocks");
  });
  return 0;
}
