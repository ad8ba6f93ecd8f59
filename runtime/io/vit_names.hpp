// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "io/safetensors.hpp"

namespace saccade::io {

// How one family of files calls the parts of a Vision Transformer. "weight" and "bias" are appended to names
// of layers.
struct VitNames {
  std::string prefix;  // before every name, "" or "backbone." for example
  std::string classToken;
  std::string positions;
  std::string patch;
  std::string blocks;  // followed by the number of the block and a dot
  std::string norm1, norm2;
  std::vector<std::string> qkv;  // one fused projection, or query, key and value
  std::string proj;
  std::string scale1, scale2;  // complete names of the LayerScale vectors
  std::string fc1, fc2;
  std::string norm;
  std::string head;                  // empty: this family has none
  std::vector<std::string> ignored;  // tensors that are stored but play no part in inference
};

// The names that the file uses. Throws FileError if it follows neither family.
VitNames detectVitNames(const std::filesystem::path& path, const TensorMap& tensors);

}  // namespace saccade::io
