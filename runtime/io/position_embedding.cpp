// SPDX-License-Identifier: Apache-2.0
#include "io/position_embedding.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace saccade::io {

namespace {

// The four source positions that one target position is made of, and their weights.
struct Taps {
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};
};

double cubic(double distance) {
  constexpr double a = -0.75;
  const double x = std::abs(distance);
  if (x <= 1) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

Taps tapsFor(std::int64_t target, std::int64_t targetSize, std::int64_t sourceSize) {
  const double scale = static_cast<double>(sourceSize) / static_cast<double>(targetSize);
  const double source = (static_cast<double>(target) + 0.5) * scale - 0.5;
  const double left = std::floor(source);
  Taps taps;
  for (std::size_t n = 0; n < 4; ++n) {
    const double position = left + static_cast<double>(n) - 1;
    taps.weight[n] = cubic(source - position);
    taps.index[n] = std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0, sourceSize - 1);
  }
  return taps;
}

}  // namespace

std::vector<double> resizePositionEmbedding(std::span<const double> positions, std::int64_t grid,
                                            std::int64_t embedDim, std::int64_t rows, std::int64_t columns) {
  if (rows == grid && columns == grid) {
    return {positions.begin(), positions.end()};
  }
  std::vector<double> out(positions.begin(), positions.begin() + embedDim);
  out.resize(static_cast<std::size_t>((1 + rows * columns) * embedDim), 0.0);
  double* to = out.data() + embedDim;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Taps down = tapsFor(row, rows, grid);
    for (std::int64_t column = 0; column < columns; ++column, to += embedDim) {
      const Taps across = tapsFor(column, columns, grid);
      for (std::size_t y = 0; y < 4; ++y) {
        for (std::size_t x = 0; x < 4; ++x) {
          const double weight = down.weight[y] * across.weight[x];
          const double* from = positions.data() + (1 + down.index[y] * grid + across.index[x]) * embedDim;
          for (std::int64_t c = 0; c < embedDim; ++c) {
            to[c] += weight * from[c];
          }
        }
      }
    }
  }
  return out;
}

}  // namespace saccade::io
