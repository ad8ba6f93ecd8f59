// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "io/tensor_data.hpp"

// The safetensors format (https://github.com/huggingface/safetensors): eight bytes little-endian header
// length, a JSON object {name: {dtype, shape, data_offsets}, "__metadata__": {string: string}}, then the
// tensors without gaps.

namespace saccade::io {

using TensorMap = std::map<std::string, TensorData>;
using Metadata = std::map<std::string, std::string>;

// What a safetensors file holds. The tensors look into the mapped file, which stays mapped as long as one of
// them lives.
struct Safetensors {
  std::filesystem::path path;
  Metadata metadata;
  TensorMap tensors;

  // The tensor of that name; throws FileError naming it if the file holds none.
  const TensorData& tensor(const std::string& name) const;
};

// Maps the file and checks every number in its header against the file's size before using it; nothing is
// allocated by a size that the file claims. Throws FileError for anything that the format does not allow, and
// for a dtype that DType does not list.
Safetensors readSafetensors(const std::filesystem::path& path);

// The same for bytes in memory, which `owner` keeps alive; `path` is for messages only.
Safetensors parseSafetensors(const std::filesystem::path& path, std::span<const std::byte> bytes,
                             const std::shared_ptr<const void>& owner);

// Writes a complete file or none (see AtomicFile). Tensors are laid out by falling element size, so that each
// one is aligned. Throws FileError if the path cannot be written or a name is not one that the format allows.
void writeSafetensors(const std::filesystem::path& path, const TensorMap& tensors,
                      const Metadata& metadata = {});

}  // namespace saccade::io
