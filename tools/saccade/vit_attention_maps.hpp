// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/picture.hpp"

namespace saccade::tool {

// The weights of a class token: for each head one for the class token itself and one for each of rows x
// columns patches.
struct ClassAttention {
  std::span<const float> weights;  // [heads, 1 + rows * columns]
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// The picture, each head's weights as colours over it, and those of the mean of the heads, side by side.
// Small pictures are enlarged, every pixel to a square, so that a person sees something.
io::Picture attentionMap(const io::Picture& picture, const ClassAttention& attention);

// Makes the folder if there is none. Throws FileError.
void makeFolder(const std::filesystem::path& folder);

// One path in `folder` for each picture: its name with the ending .png, and a number where a name comes
// again.
std::vector<std::filesystem::path> mapPaths(const std::filesystem::path& folder,
                                            const std::vector<std::string>& pictures);

}  // namespace saccade::tool
