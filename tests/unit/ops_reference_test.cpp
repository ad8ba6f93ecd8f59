// SPDX-License-Identifier: Apache-2.0
// The scalar layers where no golden case reaches: by hand, and in single precision beside double.
#include "io/special_values.hpp"
#include "reference/ops.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/position_embedding.hpp"

namespace saccade::reference {
namespace {

TEST(ScalarMatmul, TakesWeightsInEitherLayout) {
  const std::vector<double> a = {1, 2, 3, 4};         // [2,2]
  const std::vector<double> nk = {1, 0, 0, 1, 1, 1};  // [3,2]
  const std::vector<double> kn = {1, 0, 1, 0, 1, 1};  // its transpose
  const std::vector<double> bias = {10, 20, 30};
  const std::vector<double> expected = {11, 22, 33, 13, 24, 37};
  EXPECT_EQ(matmul<double>(a, nk, WeightLayout::Nk, bias, 2, 3, 2), expected);
  EXPECT_EQ(matmul<double>(a, kn, WeightLayout::Kn, bias, 2, 3, 2), expected);
  EXPECT_EQ(matmul<double>(a, kn, WeightLayout::Kn, {}, 2, 3, 2), (std::vector<double>{1, 2, 3, 3, 4, 7}));
}

TEST(ScalarMatmul, OfAnEmptyInnerDimensionIsTheBias) {
  EXPECT_EQ(matmul<double>({}, {}, WeightLayout::Nk, std::vector{5.0}, 2, 1, 0), (std::vector<double>{5, 5}));
}

TEST(ScalarSoftmax, GivesZerosForARowOfMinusInfinity) {
  const std::vector<double> x = {-kInfinity, -kInfinity, 0, -kInfinity};
  EXPECT_EQ(softmax<double>(x, 2, 2), (std::vector<double>{0, 0, 1, 0}));
}

TEST(ScalarSoftmax, MakesARowNanThatHoldsNanOrInfinity) {
  for (const double poison : {std::nan(""), double{kInfinity}}) {
    const std::vector<double> result = softmax<double>(std::vector{0.0, poison, 1.0, 1.0}, 2, 2);
    EXPECT_TRUE(std::isnan(result[0]));
    EXPECT_TRUE(std::isnan(result[1]));
    EXPECT_EQ(result[2], 0.5);
  }
}

TEST(ScalarSoftmax, StandsLargeLogits) {
  EXPECT_EQ(softmax<float>(std::vector{-5e5f, -5e5f}, 1, 2), (std::vector<float>{0.5f, 0.5f}));
}

TEST(ScalarLayerNorm, NeedsNoWeights) {
  const std::vector<double> result = layerNorm<double>(std::vector{1.0, 3.0}, {}, {}, 1, 2, 0);
  EXPECT_EQ(result, (std::vector<double>{-1, 1}));
}

TEST(ScalarGelu, IsZeroFarLeftAndTheIdentityFarRight) {
  for (const Gelu form : {Gelu::Exact, Gelu::Tanh}) {
    const std::vector<double> result = gelu<double>(std::vector{-40.0, 0.0, 40.0}, form);
    EXPECT_EQ(result, (std::vector<double>{0, 0, 40}));
  }
}

TEST(SinusoidalPositions, LeaveOutTheLastCosineOfAnOddDimension) {
  const std::vector<double> interleaved = sinusoidalPositions(1, 3, 100, PositionLayout::Interleaved, 2);
  const double slow = 2 * std::pow(100, -2.0 / 3);
  EXPECT_EQ(interleaved, (std::vector{std::sin(2.0), std::cos(2.0), std::sin(slow)}));
  const std::vector<double> halves = sinusoidalPositions(1, 3, 100, PositionLayout::Halves, 2);
  EXPECT_EQ(halves, (std::vector{std::sin(2.0), std::sin(slow), std::cos(2.0)}));
}

TEST(PositionEmbedding, StaysAsItIsForTheSameGrid) {
  const std::vector<double> positions = {9, 1, 2, 3, 4};  // class token, 2 x 2 patches, one channel
  EXPECT_EQ(io::resizePositionEmbedding(positions, 2, 1, 2, 2), positions);
}

TEST(PositionEmbedding, KeepsTheClassTokenAndConstantPatches) {
  std::vector<double> positions(1 + 9, 5.0);
  positions[0] = 9;
  const std::vector<double> resized = io::resizePositionEmbedding(positions, 3, 1, 5, 2);
  ASSERT_EQ(resized.size(), 11u);
  EXPECT_EQ(resized[0], 9);
  for (std::size_t i = 1; i < resized.size(); ++i) {
    EXPECT_NEAR(resized[i], 5, 1e-14) << i;
  }
}

TEST(PositionEmbedding, RunsRowsDownAndColumnsAcross) {
  const std::vector<double> positions = {0, 1, 2, 1, 2};  // columns rise, rows are alike
  const std::vector<double> resized = io::resizePositionEmbedding(positions, 2, 1, 1, 4);
  ASSERT_EQ(resized.size(), 5u);
  for (std::size_t i = 1; i + 1 < resized.size(); ++i) {
    EXPECT_LT(resized[i], resized[i + 1]) << i;
  }
}

}  // namespace
}  // namespace saccade::reference
