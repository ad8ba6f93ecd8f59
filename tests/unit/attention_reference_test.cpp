// SPDX-License-Identifier: Apache-2.0
// Rules of the operator that no golden case covers, on problems small enough to check by hand.
#include "io/special_values.hpp"
#include "reference/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/exact_zeros.hpp"
#include "reference/linear_attention.hpp"
#include "reference/visibility.hpp"

namespace saccade::reference {
namespace {

const double kNan = std::nan("");

// One batch entry, one head, head sizes 1: every score is q_i * k_j.
class SmallProblem : public testing::Test {
 protected:
  AttentionResult run() {
    problem_.batch = problem_.numHeadsQ = problem_.numHeadsKv = problem_.headDimQk = problem_.headDimV = 1;
    problem_.seqlenQ = static_cast<std::int64_t>(q_.size());
    problem_.seqlenK = static_cast<std::int64_t>(k_.size());
    problem_.q = {q_.data(), {0, 0, 1, 1}};
    problem_.k = {k_.data(), {0, 0, 1, 1}};
    problem_.v = {v_.data(), {0, 0, 1, 1}};
    if (!bias_.empty()) {
      problem_.bias = {bias_.data(), {0, 0, problem_.seqlenK, 1}};
    }
    problem_.sink = sink_;
    return attention(problem_, Probs::Store);
  }

  std::vector<double> q_ = {0};
  std::vector<double> k_ = {0, 0};
  std::vector<double> v_ = {1, 3};
  std::vector<double> bias_, sink_;
  AttentionProblem problem_;
};

TEST_F(SmallProblem, EqualScoresGiveTheMeanAndTheLogarithmOfTheCount) {
  const AttentionResult result = run();
  EXPECT_DOUBLE_EQ(result.out[0], 2);
  EXPECT_DOUBLE_EQ(result.lse[0], std::log(2));
  EXPECT_EQ(result.probs, (std::vector{0.5, 0.5}));
}

TEST_F(SmallProblem, WithoutKeysGivesZeroAndMinusInfinity) {
  k_ = v_ = {};
  const AttentionResult result = run();
  EXPECT_EQ(result.out[0], 0);
  EXPECT_EQ(result.lse[0], -kInfinity);
}

TEST_F(SmallProblem, WithoutKeysButWithASinkHasTheLseOfTheSink) {
  k_ = v_ = {};
  sink_ = {2.5};
  EXPECT_EQ(run().lse[0], 2.5);
  EXPECT_EQ(run().out[0], 0);
}

TEST_F(SmallProblem, ASinkTakesWeightAway) {
  sink_ = {0};
  const AttentionResult result = run();
  EXPECT_DOUBLE_EQ(result.probs[0] + result.probs[1], 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.lse[0], std::log(3));
}

TEST_F(SmallProblem, AScoreOfMinusInfinityHidesItsKey) {
  q_ = {1};
  k_ = {-kInfinity, 0};
  v_ = {kNan, 3};
  const AttentionResult result = run();
  EXPECT_EQ(result.out[0], 3);
  EXPECT_EQ(result.lse[0], 0);
  EXPECT_EQ(result.probs, (std::vector{0.0, 1.0}));
}

TEST_F(SmallProblem, AScoreOfPlusInfinityMakesTheRowNan) {
  q_ = {1};
  k_ = {kInfinity, 0};
  const AttentionResult result = run();
  EXPECT_TRUE(std::isnan(result.out[0]));
  EXPECT_TRUE(std::isnan(result.lse[0]));
  EXPECT_TRUE(std::isnan(result.probs[1]));
}

TEST_F(SmallProblem, ABiasOfMinusInfinityHidesANanKey) {
  k_ = {kNan, 0};
  bias_ = {-kInfinity, 0};
  EXPECT_EQ(run().out[0], 3);
}

TEST_F(SmallProblem, ALowestFloatAsBiasIsAnOrdinaryNumber) {
  bias_ = {-3.4028234663852886e38, -3.4028234663852886e38};
  EXPECT_DOUBLE_EQ(run().out[0], 2);
}

TEST_F(SmallProblem, TemperatureDividesTheScale) {
  q_ = {3};
  k_ = {1, 0};
  problem_.softmaxScale = 0.5;
  problem_.temperature = 2;
  EXPECT_DOUBLE_EQ(run().lse[0], std::log(std::exp(0.75) + 1));
}

TEST_F(SmallProblem, LengthsAreClampedToTheTensor) {
  const std::int32_t tooLong[] = {99};
  problem_.seqlensK = tooLong;
  EXPECT_DOUBLE_EQ(run().out[0], 2);
  const std::int32_t negative[] = {-4};
  problem_.seqlensK = negative;
  EXPECT_EQ(run().out[0], 0);
}

TEST_F(SmallProblem, AWindowMayReachFurtherThanAnyKey) {
  problem_.windowLeft = problem_.windowRight = std::numeric_limits<std::int64_t>::max();
  EXPECT_DOUBLE_EQ(run().out[0], 2);
}

TEST_F(SmallProblem, WithoutQueriesMayNameAnyBatch) {
  q_ = {};
  problem_.batch = std::int64_t{1} << 40;
  problem_.numHeadsQ = problem_.numHeadsKv = problem_.headDimQk = problem_.headDimV = 1;
  problem_.seqlenK = 2;
  EXPECT_TRUE(attention(problem_).out.empty());
}

TEST_F(SmallProblem, PaddedQueryRowsIgnoreTheSink) {
  q_ = {0, 0};
  sink_ = {1};
  const std::int32_t length[] = {1};
  problem_.seqlensQ = length;
  const AttentionResult result = run();
  EXPECT_GT(result.lse[0], 1);
  EXPECT_EQ(result.lse[1], -kInfinity);
  EXPECT_EQ(result.out[1], 0);
}

TEST_F(SmallProblem, TopLeftDiagonalsDoNotMoveWithTheLengths) {
  q_ = {0, 0};
  k_ = v_ = {0, 1, 2, 3};
  problem_.causal = Causal::TopLeft;
  const std::int32_t length[] = {3};
  problem_.seqlensK = length;
  run();
  EXPECT_TRUE(isVisible(problem_, 0, 0, 1, 1));
  EXPECT_FALSE(isVisible(problem_, 0, 0, 1, 2));
  problem_.causal = Causal::BottomRight;
  EXPECT_TRUE(isVisible(problem_, 0, 0, 1, 2));
  EXPECT_FALSE(isVisible(problem_, 0, 0, 1, 3));
}

TEST_F(SmallProblem, HasNoLseWithSigmoidOrRelu) {
  for (const Normalizer normalizer : {Normalizer::Sigmoid, Normalizer::Relu}) {
    problem_.normalizer = normalizer;
    EXPECT_TRUE(run().lse.empty());
  }
}

TEST(PackedTokens, BehindTheLastSequenceAreZero) {
  const std::vector<double> ones(3, 1.0);
  const std::int32_t offsets[] = {0, 1};
  AttentionProblem problem;
  problem.batch = problem.numHeadsQ = problem.numHeadsKv = problem.headDimQk = problem.headDimV = 1;
  problem.seqlenQ = problem.seqlenK = 3;
  problem.q = problem.k = problem.v = {ones.data(), {0, 1, 1, 1}};
  problem.cuSeqlensQ = problem.cuSeqlensK = offsets;
  const AttentionResult result = attention(problem);
  EXPECT_EQ(result.out, (std::vector{1.0, 0.0, 0.0}));
  EXPECT_EQ(result.lse, (std::vector<double>{1.0, -kInfinity, -kInfinity}));
  EXPECT_EQ(exactZeros(problem).at("out"), (std::vector<std::uint8_t>{0, 1, 1}));
}

TEST(ExactZeros, MarkRowsWithoutKeysAndKeysThatNobodySees) {
  const std::vector<double> ones(3, 1.0);
  AttentionProblem problem;
  problem.batch = problem.numHeadsQ = problem.numHeadsKv = problem.headDimQk = problem.headDimV = 1;
  problem.seqlenQ = 3;
  problem.seqlenK = 2;
  problem.q = problem.k = problem.v = {ones.data(), {0, 0, 1, 1}};
  problem.causal = Causal::BottomRight;  // row 0 stands before the first key
  problem.windowLeft = 0;                // and every row sees one key only
  const ZeroMasks zeros = exactZeros(problem);
  EXPECT_EQ(zeros.at("out"), (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(zeros.at("probs"), (std::vector<std::uint8_t>{1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(zeros.at("dk"), (std::vector<std::uint8_t>{0, 0}));
  problem.causal = Causal::TopLeft;  // now row 2 stands behind the last key
  EXPECT_EQ(exactZeros(problem).at("out"), (std::vector<std::uint8_t>{0, 0, 1}));
}

TEST(LinearAttention, OfNoKeysIsZero) {
  const std::vector<double> ones(2, 1.0);
  const std::int32_t none[] = {0};
  AttentionProblem problem;
  problem.batch = problem.numHeadsQ = problem.numHeadsKv = problem.headDimQk = problem.headDimV = 1;
  problem.seqlenQ = problem.seqlenK = 2;
  problem.q = problem.k = problem.v = {ones.data(), {0, 0, 1, 1}};
  problem.seqlensK = none;
  EXPECT_EQ(linearAttention(problem), (std::vector{0.0, 0.0}));
}

}  // namespace
}  // namespace saccade::reference
