// SPDX-License-Identifier: Apache-2.0
#include "vit_attention_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "io/file_error.hpp"
#include "io/heat_map.hpp"

namespace saccade::tool {

namespace {

constexpr std::int64_t kComfortableSize = 224;  // pixels
constexpr std::int64_t kGap = 4;

io::Picture enlarge(const io::Picture& picture, std::int64_t factor) {
  io::Picture large{picture.width * factor, picture.height * factor, picture.channels, {}};
  large.pixels.reserve(static_cast<std::size_t>(large.width * large.height * large.channels));
  for (std::int64_t y = 0; y < large.height; ++y) {
    for (std::int64_t x = 0; x < large.width; ++x) {
      for (std::int64_t channel = 0; channel < large.channels; ++channel) {
        large.pixels.push_back(picture.at(x / factor, y / factor, channel));
      }
    }
  }
  return large;
}

}  // namespace

io::Picture attentionMap(const io::Picture& picture, const ClassAttention& attention) {
  const std::int64_t shown = std::max<std::int64_t>(1, kComfortableSize / std::max(picture.width, picture.height));
  const io::Picture base = enlarge(picture, shown);
  const std::int64_t patches = attention.rows * attention.columns;
  std::vector<io::Picture> pictures = {base};
  std::vector<double> mean(static_cast<std::size_t>(patches), 0.0);
  for (std::int64_t head = 0; head < attention.heads; ++head) {
    const auto ofPatches = attention.weights.subspan(static_cast<std::size_t>(head * (1 + patches) + 1),
                                                     static_cast<std::size_t>(patches));
    const std::vector<double> weights(ofPatches.begin(), ofPatches.end());
    for (std::size_t patch = 0; patch < weights.size(); ++patch) {
      mean[patch] += weights[patch] / static_cast<double>(attention.heads);
    }
    pictures.push_back(io::heatMapOver(base, weights, attention.rows, attention.columns));
  }
  pictures.push_back(io::heatMapOver(base, mean, attention.rows, attention.columns));
  return io::placeInGrid(pictures, static_cast<std::int64_t>(pictures.size()), kGap);
}

void makeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw io::FileError::fromErrno(folder, "make the folder", error.value());
  }
}

std::vector<std::filesystem::path> mapPaths(const std::filesystem::path& folder,
                                            const std::vector<std::string>& pictures) {
  std::set<std::string> taken;
  std::vector<std::filesystem::path> paths;
  for (const std::string& picture : pictures) {
    const std::string stem = std::filesystem::path(picture).stem().string();
    std::string name = stem;
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = fmt::format("{}_{}", stem, number);
    }
    paths.push_back(folder / (name + ".png"));
  }
  return paths;
}

}  // namespace saccade::tool
