// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

// The 8-bit floating-point format "FP8 E4M3" of the Open Compute Project as its bit patterns: four bits of exponent with
// bias 7, three of mantissa, the largest number 448, no infinity, NaN 0x7f and 0xff. Narrowing rounds once, to nearest
// even, and saturates: whatever is larger than 448, infinity included, becomes 448. A NaN stays one with its sign.

namespace saccade::io {

constexpr std::uint8_t doubleToE4m3(double value) {
  constexpr double kLargest = 448, kSmallestNormal = 0x1p-6;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint8_t>((bits >> 63) << 7);
  const double magnitude = sign != 0 ? -value : value;
  if (value != value) return sign | 0x7f;
  if (magnitude >= kLargest) return sign | 0x7e;
  // In steps of the last place, which are those of the smallest normal numbers below them. Exact: powers of two.
  const int exponent = magnitude < kSmallestNormal ? -6 : static_cast<int>((std::bit_cast<std::uint64_t>(magnitude) >> 52) & 0x7ff) - 1023;
  const double steps = magnitude * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 3 - exponent) << 52);
  auto whole = static_cast<std::uint32_t>(steps);
  const double rest = steps - whole;
  if (rest > 0.5 || (rest == 0.5 && (whole & 1) != 0)) whole++;
  // `whole` of a normal number holds its implicit one, which adds the missing 1 to the exponent; so does a carry.
  return static_cast<std::uint8_t>(sign | ((static_cast<std::uint32_t>(exponent + 6) << 3) + whole));
}

constexpr std::uint8_t floatToE4m3(float value) { return doubleToE4m3(double{value}); }

constexpr float e4m3ToFloat(std::uint8_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80u) << 24;
  const std::uint32_t magnitude = code & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude < 8) {
    const float value = static_cast<float>(magnitude) * 0x1p-9f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}

}  // namespace saccade::io
