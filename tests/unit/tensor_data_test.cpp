// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace saccade::io {
namespace {

TEST(TensorData, KeepsValuesThatItsDtypeHolds) {
  const std::vector<double> values = {0, 1, -2.5, 65504, 0x1p-24, std::numeric_limits<double>::infinity()};
  for (const DType dtype : {DType::F64, DType::F32, DType::F16}) {
    EXPECT_EQ(TensorData::fromDoubles(dtype, {2, 3}, values).toDoubles(), values) << dtypeName(dtype);
  }
  const std::vector<double> integers = {0, 1, 2, 127, 128, 255};
  for (const DType dtype : {DType::U8, DType::I32, DType::I64, DType::BF16}) {
    EXPECT_EQ(TensorData::fromDoubles(dtype, {6}, integers).toDoubles(), integers) << dtypeName(dtype);
  }
}

TEST(TensorData, KeepsEightBits) {
  const std::vector<double> values = {0, -1, 3.5, -448, 0x1p-9, 0.875};
  EXPECT_EQ(TensorData::fromDoubles(DType::F8_E4M3, {6}, values).toDoubles(), values);
  const std::vector<double> integers = {0, -128, 127, -1};
  EXPECT_EQ(TensorData::fromDoubles(DType::I8, {4}, integers).toDoubles(), integers);
  for (const double value : {-129.0, 128.0, 0.5, std::nan("")}) {
    EXPECT_THROW(TensorData::fromDoubles(DType::I8, {1}, std::vector{value}), std::invalid_argument) << value;
  }
  EXPECT_EQ(TensorData::fromDoubles(DType::F8_E4M3, {1}, std::vector{1e9}).at(0), 448);
}

TEST(TensorData, HasNoElementsWhereOneSizeIsZeroWhateverTheOthersAre) {
  EXPECT_EQ(elementCount({std::int64_t{1} << 62, std::int64_t{1} << 62, 0}), 0);
}

TEST(TensorData, RoundsOnceToNearestEven) {
  const TensorData half = TensorData::fromDoubles(DType::F16, {2}, std::vector{1 + 0x1p-11, 1 + 3 * 0x1p-11});
  EXPECT_EQ(half.at(0), 1);
  EXPECT_EQ(half.at(1), 1 + 0x1p-9);
}

TEST(TensorData, ConvertsBetweenDtypes) {
  const TensorData half = TensorData::fromDoubles(DType::F16, {3}, std::vector{0.5, -7.0, 1e9});
  const TensorData single = half.converted(DType::F32);
  EXPECT_EQ(single.dtype(), DType::F32);
  EXPECT_EQ(single.toFloats(), (std::vector<float>{0.5f, -7.0f, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(half.converted(DType::F16).bytes().data(), half.bytes().data());
}

TEST(TensorData, RefusesValuesThatAnIntegerDtypeCannotHold) {
  for (const double value : {-1.0, 256.0, 0.5, std::nan("")}) {
    EXPECT_THROW(TensorData::fromDoubles(DType::U8, {1}, std::vector{value}), std::invalid_argument) << value;
  }
  EXPECT_THROW(TensorData::fromDoubles(DType::I64, {1}, std::vector{0x1p63}), std::invalid_argument);
  EXPECT_THROW(TensorData::fromDoubles(DType::I64, {1}, std::vector{0x1p40}).toInt32s(), std::out_of_range);
}

TEST(TensorData, RefusesANumberOfValuesThatIsNotThatOfTheShape) {
  EXPECT_THROW(TensorData::fromDoubles(DType::F32, {2, 2}, std::vector{1.0, 2.0, 3.0}),
               std::invalid_argument);
  EXPECT_THROW(TensorData(DType::F32, {1}, std::vector<std::byte>(3)), std::invalid_argument);
}

TEST(TensorData, MayHaveNoElementsOrNoDimensions) {
  EXPECT_EQ(TensorData::fromDoubles(DType::F16, {2, 0, 3}, {}).elementCount(), 0u);
  EXPECT_EQ(TensorData::fromDoubles(DType::F32, {}, std::vector{4.0}).at(0), 4.0);
  EXPECT_EQ(TensorData().elementCount(), 0u);
}

TEST(TensorData, LooksAtBytesWithoutAlignment) {
  const auto owner = std::make_shared<std::vector<std::byte>>(9);
  const TensorData aligned = TensorData::fromDoubles(DType::F64, {1}, std::vector{-1.5});
  std::copy(aligned.bytes().begin(), aligned.bytes().end(), owner->begin() + 1);
  const TensorData view(DType::F64, {1}, std::span<const std::byte>(*owner).subspan(1), owner);
  EXPECT_EQ(view.at(0), -1.5);
  EXPECT_EQ(view.reshaped({1, 1}).at(0), -1.5);
}

TEST(TensorData, GivesTheBytesOfAMask) {
  const TensorData mask = TensorData::fromDoubles(DType::U8, {3}, std::vector{0.0, 1.0, 128.0});
  EXPECT_EQ(mask.toBytes(), (std::vector<std::uint8_t>{0, 1, 128}));
  EXPECT_THROW(mask.converted(DType::I32).toBytes(), std::invalid_argument);
}

TEST(UnitInLastPlace, IsTheStepAboveAValue) {
  EXPECT_EQ(unitInLastPlace(DType::F16, 3.0), 0x1p-9);
  EXPECT_EQ(unitInLastPlace(DType::BF16, -4.0), 0x1p-5);
  EXPECT_EQ(unitInLastPlace(DType::F32, 1.0), 0x1p-23);
  EXPECT_EQ(unitInLastPlace(DType::F16, 0.0), 0x1p-24);
  EXPECT_EQ(unitInLastPlace(DType::F16, 0x1p-20), 0x1p-24);
  EXPECT_EQ(unitInLastPlace(DType::F8_E4M3, 448.0), 32);
  EXPECT_EQ(unitInLastPlace(DType::F8_E4M3, 0.0), 0x1p-9);
}

TEST(Unflatten, GivesOneIndexPerDimension) {
  EXPECT_EQ(unflatten(0, {2, 3, 4}), (Shape{0, 0, 0}));
  EXPECT_EQ(unflatten(23, {2, 3, 4}), (Shape{1, 2, 3}));
  EXPECT_EQ(unflatten(0, {}), Shape{});
}

TEST(DTypeNames, AreThoseOfTheFileFormat) {
  EXPECT_EQ(dtypeFromName("BF16"), DType::BF16);
  EXPECT_EQ(dtypeFromName("F8_E4M3"), DType::F8_E4M3);
  EXPECT_EQ(dtypeFromName("F8_E5M2"), std::nullopt);
  EXPECT_EQ(dtypeName(DType::I8), "I8");
  EXPECT_EQ(dtypeName(DType::I64), "I64");
}

}  // namespace
}  // namespace saccade::io
