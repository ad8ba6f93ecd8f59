// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

// The two 16-bit floating-point formats, IEEE binary16 ("half", F16) and bfloat16 (BF16), as their bit
// patterns. Narrowing rounds once, to nearest even, straight from double: going through float would round
// twice. Subnormals, infinities and the sign of zero are exact; a NaN stays a (quiet) NaN with its sign and
// leading payload.

namespace saccade::io {

namespace detail {

template <int kExponentBits, int kMantissaBits>
constexpr std::uint16_t narrow(double value) {
  constexpr int kDoubleMantissaBits = 52;
  constexpr int kDoubleBias = 1023;
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint64_t kInfinityCode = std::uint64_t{(1 << kExponentBits) - 1} << kMantissaBits;
  constexpr std::uint64_t kQuietBit = std::uint64_t{1} << (kMantissaBits - 1);

  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 63) << (kExponentBits + kMantissaBits);
  const int exponent = static_cast<int>((bits >> kDoubleMantissaBits) & 0x7ff);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << kDoubleMantissaBits) - 1);

  if (exponent == 0x7ff) {
    const std::uint64_t payload = mantissa >> (kDoubleMantissaBits - kMantissaBits);
    return static_cast<std::uint16_t>(sign | kInfinityCode | (mantissa != 0 ? payload | kQuietBit : 0));
  }
  if (exponent == 0) {
    // Zero, or a double subnormal: far below half of our smallest value.
    return static_cast<std::uint16_t>(sign);
  }

  const std::uint64_t significand = mantissa | (std::uint64_t{1} << kDoubleMantissaBits);
  const int targetExponent = exponent - kDoubleBias + kBias;
  // Below the normal range the exponent stays at its lowest and the significand is shifted further instead.
  const int lostBits = targetExponent < 1 ? 1 - targetExponent : 0;
  const int shift = kDoubleMantissaBits - kMantissaBits + lostBits;
  if (shift > kDoubleMantissaBits + 1) {
    return static_cast<std::uint16_t>(sign);
  }
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  std::uint64_t kept = significand >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) {
    ++kept;
  }
  // A normal `kept` carries its implicit leading one, which adds the missing 1 to the exponent; so does a
  // carry.
  const std::uint64_t lowest = targetExponent < 1 ? 0 : static_cast<std::uint64_t>(targetExponent - 1);
  const std::uint64_t code = (lowest << kMantissaBits) + kept;
  return static_cast<std::uint16_t>(sign | (code < kInfinityCode ? code : kInfinityCode));
}

}  // namespace detail

constexpr std::uint16_t doubleToHalf(double value) { return detail::narrow<5, 10>(value); }
constexpr std::uint16_t floatToHalf(float value) { return detail::narrow<5, 10>(double{value}); }
constexpr std::uint16_t doubleToBfloat16(double value) { return detail::narrow<8, 7>(value); }
constexpr std::uint16_t floatToBfloat16(float value) { return detail::narrow<8, 7>(double{value}); }

constexpr float bfloat16ToFloat(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}

constexpr float halfToFloat(std::uint16_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x8000u) << 16;
  const std::uint32_t exponent = (code >> 10) & 0x1fu;
  const std::uint32_t mantissa = code & 0x3ffu;
  if (exponent == 0x1f) {
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  }
  if (exponent == 0) {
    // Exact: at most ten bits times a power of two.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace saccade::io
