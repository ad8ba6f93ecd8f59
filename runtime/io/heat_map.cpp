// SPDX-License-Identifier: Apache-2.0
#include "io/heat_map.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace saccade::io {

namespace {

// Control points at equal distances; brightness grows by about the same step each time.
constexpr double kColours[][3] = {
    {10, 12, 46}, {68, 30, 130}, {176, 50, 110}, {240, 120, 50}, {255, 236, 150}};

// The weight at a point of the picture, given in patches; beyond the outer patch centres it is theirs.
double interpolated(std::span<const double> weights, std::int64_t rows, std::int64_t columns, double y,
                    double x) {
  const double row = std::clamp(y - 0.5, 0.0, static_cast<double>(rows - 1));
  const double column = std::clamp(x - 0.5, 0.0, static_cast<double>(columns - 1));
  const auto top = static_cast<std::int64_t>(row);
  const auto left = static_cast<std::int64_t>(column);
  const std::int64_t bottom = std::min(top + 1, rows - 1);
  const std::int64_t right = std::min(left + 1, columns - 1);
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return weights[static_cast<std::size_t>(r * columns + c)];
  };
  return std::lerp(std::lerp(at(top, left), at(top, right), column - static_cast<double>(left)),
                   std::lerp(at(bottom, left), at(bottom, right), column - static_cast<double>(left)),
                   row - static_cast<double>(top));
}

std::uint8_t toByte(double value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
}

}  // namespace

std::array<std::uint8_t, 3> heatColour(double value) {
  if (std::isnan(value)) {
    return {128, 128, 128};
  }
  constexpr auto kLast = static_cast<double>(std::size(kColours) - 1);
  const double position = std::clamp(value, 0.0, 1.0) * kLast;
  const auto below = static_cast<std::size_t>(std::min(position, kLast - 1));
  std::array<std::uint8_t, 3> colour{};
  for (std::size_t c = 0; c < 3; ++c) {
    colour[c] =
        toByte(std::lerp(kColours[below][c], kColours[below + 1][c], position - static_cast<double>(below)));
  }
  return colour;
}

Picture heatMapOver(const Picture& picture, std::span<const double> weights, std::int64_t rows,
                    std::int64_t columns) {
  if (rows < 1 || columns < 1 || weights.size() != static_cast<std::size_t>(rows * columns)) {
    throw std::invalid_argument("a heat map needs one weight per patch");
  }
  std::vector<double> sorted(weights.begin(), weights.end());
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted.front();
  const double high = sorted[(sorted.size() - 1) * 99 / 100];
  const double range = high > low ? high - low : 1;

  const Picture grey = toGrey(picture);
  Picture out{picture.width, picture.height, 3, {}};
  out.pixels.reserve(grey.pixels.size() * 3);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      const double patchY =
          (static_cast<double>(y) + 0.5) * static_cast<double>(rows) / static_cast<double>(picture.height);
      const double patchX =
          (static_cast<double>(x) + 0.5) * static_cast<double>(columns) / static_cast<double>(picture.width);
      const double value =
          std::clamp((interpolated(weights, rows, columns, patchY, patchX) - low) / range, 0.0, 1.0);
      const double opacity = std::lerp(0.45, 0.8, value);
      for (const std::uint8_t channel : heatColour(value)) {
        out.pixels.push_back(
            toByte(std::lerp(static_cast<double>(grey.at(x, y, 0)), static_cast<double>(channel), opacity)));
      }
    }
  }
  return out;
}

Picture placeInGrid(const std::vector<Picture>& pictures, std::int64_t columns, std::int64_t gap) {
  if (pictures.empty()) {
    return {0, 0, 3, {}};
  }
  const auto count = static_cast<std::int64_t>(pictures.size());
  const std::int64_t across = std::min(columns, count);
  const std::int64_t down = (count + columns - 1) / columns;
  const std::int64_t width = pictures.front().width;
  const std::int64_t height = pictures.front().height;
  Picture grid{across * width + (across - 1) * gap, down * height + (down - 1) * gap, 3, {}};
  grid.pixels.assign(static_cast<std::size_t>(grid.width * grid.height * 3), 255);
  for (std::int64_t n = 0; n < count; ++n) {
    const Picture colour = toRgb(pictures[static_cast<std::size_t>(n)]);
    if (colour.width != width || colour.height != height) {
      throw std::invalid_argument("pictures in a grid have one size");
    }
    const std::int64_t left = n % columns * (width + gap);
    const std::int64_t top = n / columns * (height + gap);
    for (std::int64_t y = 0; y < height; ++y) {
      std::copy_n(colour.pixels.begin() + y * width * 3, width * 3,
                  grid.pixels.begin() + ((top + y) * grid.width + left) * 3);
    }
  }
  return grid;
}

}  // namespace saccade::io
