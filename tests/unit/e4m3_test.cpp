// SPDX-License-Identifier: Apache-2.0
#include "io/e4m3.hpp"
#include "io/special_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace saccade::io {
namespace {

// Straight from the definition of the format.
double definition(int code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

bool isNanCode(int code) { return (code & 0x7f) == 0x7f; }

TEST(E4m3, WidensEveryCodeToItsValue) {
  for (int code = 0; code < 256; ++code) {
    const float value = e4m3ToFloat(static_cast<std::uint8_t>(code));
    EXPECT_EQ(std::signbit(value), (code & 0x80) != 0) << code;
    if (isNanCode(code)) {
      EXPECT_TRUE(std::isnan(value)) << code;
    } else {
      EXPECT_EQ(double{value}, definition(code)) << code;
    }
  }
  EXPECT_EQ(e4m3ToFloat(0x7e), 448.0f);
  EXPECT_EQ(e4m3ToFloat(0x01), 0x1p-9f);
}

TEST(E4m3, NarrowsEveryValueToItsCode) {
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(floatToE4m3(e4m3ToFloat(static_cast<std::uint8_t>(code))), code);
  }
}

// Between two neighbours: below the middle the lower one, above it the upper one, on it the even one.
TEST(E4m3, RoundsToNearestEven) {
  for (int code = 0; code < 0x7e; ++code) {
    const double middle = (definition(code) + definition(code + 1)) / 2;
    const int even = code % 2 == 0 ? code : code + 1;
    for (const int sign : {0, 0x80}) {
      const double s = sign == 0 ? 1 : -1;
      EXPECT_EQ(doubleToE4m3(s * middle), sign | even) << code;
      EXPECT_EQ(doubleToE4m3(s * std::nextafter(middle, 0.0)), sign | code) << code;
      EXPECT_EQ(doubleToE4m3(s * std::nextafter(middle, kInfinity)), sign | (code + 1)) << code;
    }
  }
}

TEST(E4m3, SaturatesAndKeepsNan) {
  for (const double large : {448.0, 449.0, 464.0, 480.0, 1e300, double{kInfinity}}) {
    EXPECT_EQ(doubleToE4m3(large), 0x7e) << large;
    EXPECT_EQ(doubleToE4m3(-large), 0xfe) << large;
  }
  EXPECT_EQ(doubleToE4m3(std::nan("")), 0x7f);
  EXPECT_EQ(doubleToE4m3(-std::nan("")), 0xff);
  EXPECT_EQ(doubleToE4m3(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(doubleToE4m3(-0.0), 0x80);
}

}  // namespace
}  // namespace saccade::io
