// SPDX-License-Identifier: Apache-2.0
#include "io/half.hpp"
#include "io/special_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace saccade::io {
namespace {

// One of the two formats, so that every test runs on both.
struct Format {
  const char* name;
  int exponentBits;
  int mantissaBits;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(double);
  std::uint16_t (*narrowFloat)(float);

  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << exponentBits) - 1) << mantissaBits);
  }
  bool isNan(std::uint16_t code) const { return (code & 0x7fff) > infinity(); }

  // The value of a code straight from its definition.
  double definition(std::uint16_t code) const {
    const int exponent = (code >> mantissaBits) & ((1 << exponentBits) - 1);
    const int mantissa = code & ((1 << mantissaBits) - 1);
    const int bias = (1 << (exponentBits - 1)) - 1;
    const double magnitude = exponent == 0
                                 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                                 : std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
    return (code & 0x8000) != 0 ? -magnitude : magnitude;
  }
};

const Format kFormats[] = {
    {"half", 5, 10, halfToFloat, doubleToHalf, floatToHalf},
    {"bfloat16", 8, 7, bfloat16ToFloat, doubleToBfloat16, floatToBfloat16},
};

class SixteenBitFloat : public testing::TestWithParam<Format> {};

TEST_P(SixteenBitFloat, WidensEveryCodeToItsValue) {
  const Format& format = GetParam();
  for (std::uint32_t n = 0; n <= 0xffff; ++n) {
    const auto code = static_cast<std::uint16_t>(n);
    const float value = format.widen(code);
    ASSERT_EQ(std::signbit(value), (code & 0x8000) != 0) << n;
    if (format.isNan(code)) {
      ASSERT_TRUE(std::isnan(value)) << n;
    } else if ((code & 0x7fff) == format.infinity()) {
      ASSERT_TRUE(std::isinf(value)) << n;
    } else {
      ASSERT_EQ(double{value}, format.definition(code)) << n;
    }
  }
}

TEST_P(SixteenBitFloat, NarrowsEveryValueItHasBackToItsCode) {
  const Format& format = GetParam();
  const auto quiet = static_cast<std::uint16_t>(1 << (format.mantissaBits - 1));
  for (std::uint32_t n = 0; n <= 0xffff; ++n) {
    const auto code = static_cast<std::uint16_t>(n);
    const auto expected = static_cast<std::uint16_t>(format.isNan(code) ? code | quiet : code);
    ASSERT_EQ(format.narrowFloat(format.widen(code)), expected) << n;
    ASSERT_EQ(format.narrow(double{format.widen(code)}), expected) << n;
  }
}

TEST_P(SixteenBitFloat, RoundsHalfwayValuesToEvenAndOthersToTheNearest) {
  const Format& format = GetParam();
  for (std::uint16_t code = 0; code + 1 < format.infinity(); ++code) {
    const double low = format.definition(code);
    const double high = format.definition(static_cast<std::uint16_t>(code + 1));
    const double middle = (low + high) / 2;  // exact in a double
    const auto even = static_cast<std::uint16_t>(code + (code & 1));
    ASSERT_EQ(format.narrow(middle), even) << code;
    ASSERT_EQ(format.narrow(-middle), even | 0x8000) << code;
    ASSERT_EQ(format.narrow(std::nextafter(middle, 0.0)), code) << code;
    ASSERT_EQ(format.narrow(std::nextafter(middle, kInfinity)), code + 1) << code;
  }
}

TEST_P(SixteenBitFloat, OverflowsToInfinityFromHalfAUnitAboveTheLargestValue) {
  const Format& format = GetParam();
  const auto largest = static_cast<std::uint16_t>(format.infinity() - 1);
  const double step = format.definition(largest) - format.definition(static_cast<std::uint16_t>(largest - 1));
  const double limit = format.definition(largest) + step / 2;
  EXPECT_EQ(format.narrow(std::nextafter(limit, 0.0)), largest);
  EXPECT_EQ(format.narrow(limit), format.infinity());
  EXPECT_EQ(format.narrow(-limit), format.infinity() | 0x8000);
  EXPECT_EQ(format.narrow(std::numeric_limits<double>::max()), format.infinity());
  EXPECT_EQ(format.narrow(kInfinity), format.infinity());
}

TEST_P(SixteenBitFloat, UnderflowsToZeroWithItsSign) {
  const Format& format = GetParam();
  const double smallest = format.definition(1);
  EXPECT_EQ(format.narrow(smallest / 2), 0);  // halfway to even
  EXPECT_EQ(format.narrow(std::nextafter(smallest / 2, 1.0)), 1);
  EXPECT_EQ(format.narrow(-smallest / 4), 0x8000);
  EXPECT_EQ(format.narrow(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(format.narrow(-0.0), 0x8000);
}

// Through float, 1 + 2^-11 + 2^-40 would first become 1 + 2^-11, a tie that rounds down.
TEST(DoubleToHalf, RoundsOnceNotTwice) {
  EXPECT_EQ(doubleToHalf(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(doubleToBfloat16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
}

INSTANTIATE_TEST_SUITE_P(Formats, SixteenBitFloat, testing::ValuesIn(kFormats),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace saccade::io
