// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "io/tensor_data.hpp"

namespace saccade::io {

// The idx format of the MNIST family: two zero bytes, the type, the number of axes, their sizes (32 bits,
// big-endian), the elements. Files of bytes alone are read, gzipped or not: images [N,H,W] have 3 axes,
// labels [N] 1. Throws FileError for anything else and for a file that is shorter or longer than it says.
TensorData readIdx(const std::filesystem::path& path, std::size_t rank);

// The same for bytes in memory, which `owner` keeps alive; `path` is for messages only.
TensorData parseIdx(const std::filesystem::path& path, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner, std::size_t rank);

}  // namespace saccade::io
