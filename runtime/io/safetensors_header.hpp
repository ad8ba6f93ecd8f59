// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "io/safetensors.hpp"

namespace saccade::io {

// One tensor as the header describes it. `begin` and `end` count bytes from the end of the header.
struct TensorEntry {
  DType dtype = DType::F32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  Metadata metadata;
  std::map<std::string, TensorEntry> tensors;
};

// Reads the JSON text of a header and checks that each entry is consistent in itself and with `dataSize`, the
// number of bytes after the header, and that the entries cover those bytes without gap or overlap. `path` is
// for messages.
SafetensorsHeader parseSafetensorsHeader(const std::filesystem::path& path, std::string_view json,
                                         std::uint64_t dataSize);

}  // namespace saccade::io
