// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <random>
#include <string>

#include "io/safetensors.hpp"

namespace saccade {

// A model of random weights under the names of Hugging Face's Dinov2Model: 2 blocks of 24 channels in 3
// heads, 3 x 3 stored patches of 4 x 4 pixels.
inline io::Safetensors smallDinov2(const std::string& prefix = "") {
  io::Safetensors file{"small.safetensors", {{"num_heads", "3"}, {"epsilon", "1e-06"}}, {}};
  std::mt19937 generator(7);
  const auto add = [&](const std::string& name, const io::Shape& shape, float around, float spread) {
    std::vector<float> values(static_cast<std::size_t>(io::elementCount(shape)));
    for (float& value : values) {
      value = around + spread * (static_cast<float>(generator() >> 8) / 8388608.0f - 1.0f);
    }
    file.tensors.emplace(prefix + name, io::TensorData::fromFloats(io::DType::F32, shape, values));
  };
  const auto addLinear = [&](const std::string& name, const io::Shape& shape) {
    add(name + ".weight", shape, 0, 0.4f);
    add(name + ".bias", {shape[0]}, 0, 0.3f);
  };
  const auto addNorm = [&](const std::string& name) {
    add(name + ".weight", {24}, 1, 0.5f);
    add(name + ".bias", {24}, 0, 0.3f);
  };
  add("embeddings.cls_token", {1, 1, 24}, 0, 1);
  add("embeddings.position_embeddings", {1, 10, 24}, 0, 1);
  addLinear("embeddings.patch_embeddings.projection", {24, 3, 4, 4});
  for (const std::string block : {"encoder.layer.0.", "encoder.layer.1."}) {
    addNorm(block + "norm1");
    for (const std::string part : {"query", "key", "value"}) {
      addLinear(block + "attention.attention." + part, {24, 24});
    }
    addLinear(block + "attention.output.dense", {24, 24});
    add(block + "layer_scale1.lambda1", {24}, 0.5f, 0.5f);
    addNorm(block + "norm2");
    addLinear(block + "mlp.fc1", {48, 24});
    addLinear(block + "mlp.fc2", {24, 48});
    add(block + "layer_scale2.lambda1", {24}, 0.5f, 0.5f);
  }
  addNorm("layernorm");
  return file;
}

}  // namespace saccade
