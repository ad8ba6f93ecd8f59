// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "io/picture.hpp"

namespace saccade::io {

namespace {

// Weights are integers in units of 2^-22: with them every machine gives the same pixels, and sums of 8-bit
// values times weights fit 32 bits.
constexpr int kFractionBits = 22;

double cubic(double distance) {
  constexpr double a = -0.5;
  const double x = std::abs(distance);
  if (x < 1) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// The source pixels that one target pixel is made of.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

Taps tapsFor(std::int64_t target, std::int64_t targetSize, std::int64_t sourceSize) {
  const double scale = static_cast<double>(sourceSize) / static_cast<double>(targetSize);
  const double stretch =
      std::max(scale, 1.0);  // the kernel covers as many source pixels as one target pixel spans
  const double support = 2 * stretch;
  const double centre = (static_cast<double>(target) + 0.5) * scale;
  const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + 0.5), 0);
  const auto last = std::min<std::int64_t>(static_cast<std::int64_t>(centre + support + 0.5), sourceSize);

  std::vector<double> exact;
  double sum = 0;
  for (std::int64_t i = first; i < last; ++i) {
    exact.push_back(cubic((static_cast<double>(i) - centre + 0.5) / stretch));
    sum += exact.back();
  }
  Taps taps{first, {}};
  for (const double weight : exact) {
    taps.weights.push_back(static_cast<std::int32_t>(std::lround(weight / sum * (1 << kFractionBits))));
  }
  return taps;
}

std::uint8_t rounded(std::int64_t sum) {
  const std::int64_t half = std::int64_t{1} << (kFractionBits - 1);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>((sum + half) >> kFractionBits, 0, 255));
}

Picture resizeRows(const Picture& picture, std::int64_t width) {
  Picture out{width, picture.height, picture.channels, {}};
  out.pixels.resize(static_cast<std::size_t>(width * picture.height * picture.channels));
  for (std::int64_t x = 0; x < width; ++x) {
    const Taps taps = tapsFor(x, width, picture.width);
    for (std::int64_t y = 0; y < picture.height; ++y) {
      for (std::int64_t c = 0; c < picture.channels; ++c) {
        std::int64_t sum = 0;
        for (std::size_t n = 0; n < taps.weights.size(); ++n) {
          sum += std::int64_t{taps.weights[n]} * picture.at(taps.first + static_cast<std::int64_t>(n), y, c);
        }
        out.pixels[static_cast<std::size_t>((y * width + x) * picture.channels + c)] = rounded(sum);
      }
    }
  }
  return out;
}

Picture resizeColumns(const Picture& picture, std::int64_t height) {
  Picture out{picture.width, height, picture.channels, {}};
  out.pixels.resize(static_cast<std::size_t>(picture.width * height * picture.channels));
  for (std::int64_t y = 0; y < height; ++y) {
    const Taps taps = tapsFor(y, height, picture.height);
    for (std::int64_t x = 0; x < picture.width; ++x) {
      for (std::int64_t c = 0; c < picture.channels; ++c) {
        std::int64_t sum = 0;
        for (std::size_t n = 0; n < taps.weights.size(); ++n) {
          sum += std::int64_t{taps.weights[n]} * picture.at(x, taps.first + static_cast<std::int64_t>(n), c);
        }
        out.pixels[static_cast<std::size_t>((y * picture.width + x) * picture.channels + c)] = rounded(sum);
      }
    }
  }
  return out;
}

}  // namespace

Picture resize(const Picture& picture, std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1 || picture.width < 1 || picture.height < 1) {
    throw std::invalid_argument("pictures have at least one pixel on each side");
  }
  Picture out = width == picture.width ? picture : resizeRows(picture, width);
  return height == out.height ? out : resizeColumns(out, height);
}

Picture resizeShorterSide(const Picture& picture, std::int64_t size) {
  return picture.width <= picture.height ? resize(picture, size, size * picture.height / picture.width)
                                         : resize(picture, size * picture.width / picture.height, size);
}

}  // namespace saccade::io
