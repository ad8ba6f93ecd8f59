// SPDX-License-Identifier: Apache-2.0
// Validation of attention descriptions: what is filled in, and where the limits of sizes lie.
#include <cmath>

#include "attention/problem.hpp"
#include "core_test.hpp"
#include "text/formatted.hpp"

namespace saccade::test {
namespace {

using core::AttentionProblem;
using core::validateAttention;
using Strides = std::array<uint32_t, 4>;

TEST(AttentionProblem, HasTheSizesOfTheDescription) {
  const AttentionProblem problem = validateAttention(attentionDesc());
  EXPECT_EQ(problem.batch, 2u);
  EXPECT_EQ(problem.numHeadsQ, 6u);
  EXPECT_EQ(problem.numHeadsKv, 3u);
  EXPECT_EQ(problem.seqlenQ, 5u);
  EXPECT_EQ(problem.seqlenK, 7u);
  EXPECT_EQ(problem.headDimQk, 16u);
  EXPECT_EQ(problem.headDimV, 24u);
  EXPECT_FALSE(problem.empty());
}

TEST(AttentionProblem, FillsInRowMajorStrides) {
  const AttentionProblem problem = validateAttention(attentionDesc());
  EXPECT_EQ(problem.q.strides, (Strides{6 * 5 * 16, 5 * 16, 16, 1}));
  EXPECT_EQ(problem.k.strides, (Strides{3 * 7 * 16, 7 * 16, 16, 1}));
  EXPECT_EQ(problem.v.strides, (Strides{3 * 7 * 24, 7 * 24, 24, 1}));
}

TEST(AttentionProblem, GivesAnUndescribedOutputTheSizesThatTheInputsDemand) {
  const AttentionProblem problem = validateAttention(attentionDesc());
  EXPECT_EQ(problem.out.sizes, (Strides{2, 6, 5, 24}));
  EXPECT_EQ(problem.out.strides, (Strides{6 * 5 * 24, 5 * 24, 24, 1}));
}

TEST(AttentionProblem, KeepsTheCallersStrides) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.q = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 16}, {5 * 6 * 16, 16, 6 * 16, 1});  // BSHD
  desc.k = tensorDesc(SACCADE_DTYPE_F32, {2, 3, 7, 16}, {0, 7 * 16, 16, 1});  // one K for both entries
  desc.out = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 24}, {5 * 6 * 24, 24, 6 * 24, 1});
  const AttentionProblem problem = validateAttention(desc);
  EXPECT_EQ(problem.q.strides, (Strides{480, 16, 96, 1}));
  EXPECT_EQ(problem.k.strides, (Strides{0, 112, 16, 1}));
  EXPECT_EQ(problem.out.strides, (Strides{720, 24, 144, 1}));
  EXPECT_EQ(problem.k.bytes(), uint64_t{3 * 7 * 16} * 4);
}

TEST(AttentionProblem, AcceptsAnyStrideOnALastAxisOfSizeOne) {
  SaccadeAttentionDesc desc = attentionDesc({.headDimQk = 1, .headDimV = 1});
  desc.k = tensorDesc(SACCADE_DTYPE_F32, {2, 3, 7, 1}, {21, 7, 1, 0});
  EXPECT_EQ(validateAttention(desc).k.bytes(), uint64_t{2 * 3 * 7} * 4);
}

TEST(AttentionProblem, ScalesByOneOverTheRootOfHeadDimByDefault) {
  EXPECT_FLOAT_EQ(validateAttention(attentionDesc()).scale, 0.25f);
  EXPECT_FLOAT_EQ(validateAttention(attentionDesc({.headDimQk = 3})).scale,
                  static_cast<float>(1 / std::sqrt(3.0)));
}

TEST(AttentionProblem, TakesACausalMaskForAWindowThatEndsAtTheDiagonal) {
  SaccadeAttentionDesc desc = attentionDesc();
  EXPECT_EQ(validateAttention(desc).windowRight, -1);
  desc.windowRight = 3;
  EXPECT_EQ(validateAttention(desc).windowRight, 3);
  desc.causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  EXPECT_EQ(validateAttention(desc).windowRight, 0);
  EXPECT_FALSE(validateAttention(desc).topLeft);
  desc.causal = SACCADE_CAUSAL_TOP_LEFT;
  EXPECT_TRUE(validateAttention(desc).topLeft);
}

TEST(AttentionProblem, BoundsWindowsBeyondEverySequence) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.windowLeft = desc.windowRight = INT64_MAX;
  const AttentionProblem problem = validateAttention(desc);
  EXPECT_EQ(problem.windowLeft, (1 << 30) - 1);
  EXPECT_EQ(problem.windowRight, (1 << 30) - 1);
}

TEST(AttentionProblem, CountsKeysOfPages) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.k = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 16});
  desc.v = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 24});
  desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 2, 5});
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 5, 20});
  const AttentionProblem problem = validateAttention(desc);
  EXPECT_EQ(problem.seqlenK, 20u);
  EXPECT_EQ(problem.paging.pages, 9u);
  EXPECT_EQ(problem.paging.pageSize, 4u);
  EXPECT_EQ(problem.paging.maxPages, 5u);
}

TEST(AttentionProblem, SharesAlibiSlopesOfOneRow) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 6});
  EXPECT_EQ(validateAttention(desc).alibiSlopes.strides[2], 0u);
  desc.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 2, 6});
  EXPECT_EQ(validateAttention(desc).alibiSlopes.strides[2], 6u);
}

TEST(AttentionProblem, IgnoresASoftmaxScaleThatIsNotSwitchedOn) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.softmaxScale = NAN;
  EXPECT_FLOAT_EQ(validateAttention(desc).scale, 0.25f);
}

TEST(AttentionProblem, TakesZeroAndNegativeScales) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.hasSoftmaxScale = VK_TRUE;
  desc.softmaxScale = 0;
  EXPECT_EQ(validateAttention(desc).scale, 0.0f);
  desc.softmaxScale = -3;
  desc.temperature = 2;
  EXPECT_EQ(validateAttention(desc).scale, -1.5f);
}

TEST(AttentionProblem, DividesTheDefaultScaleByTheTemperature) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.temperature = 0.5f;
  EXPECT_FLOAT_EQ(validateAttention(desc).scale, 0.5f);
}

TEST(AttentionProblem, BroadcastsMaskAndBiasAlongAxesOfSizeOne) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 1, 7});
  desc.bias = tensorDesc(SACCADE_DTYPE_F16, {2, 1, 5, 7});
  const AttentionProblem problem = validateAttention(desc);
  EXPECT_EQ(problem.mask.strides, (Strides{0, 0, 0, 1}));
  EXPECT_EQ(problem.bias.strides, (Strides{35, 0, 7, 1}));
}

TEST(AttentionProblem, AcceptsAMaskWithAnyStrideOverKeys) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 5, 7}, {35, 35, 1, 5});
  EXPECT_EQ(validateAttention(desc).mask.strides, (Strides{0, 0, 1, 5}));
}

struct HeadDims {
  int64_t qk, v;
};

class AttentionHeadDims : public testing::TestWithParam<HeadDims> {};

TEST_P(AttentionHeadDims, AreAccepted) {
  const AttentionProblem problem =
      validateAttention(attentionDesc({.headDimQk = GetParam().qk, .headDimV = GetParam().v}));
  EXPECT_EQ(problem.headDimQk, static_cast<uint32_t>(GetParam().qk));
  EXPECT_EQ(problem.headDimV, static_cast<uint32_t>(GetParam().v));
}

INSTANTIATE_TEST_SUITE_P(Limits, AttentionHeadDims,
                         testing::Values(HeadDims{1, 1}, HeadDims{1, 256}, HeadDims{256, 1},
                                         HeadDims{256, 256}, HeadDims{59, 37}),
                         [](const auto& test) {
                           return formatted("{}_and_{}", test.param.qk, test.param.v);
                         });

// The last element of k lies at (seqlen_k - 1) * stride + head_dim - 1: 2^32 - 2 is the last index allowed.
SaccadeAttentionDesc descWithKeyStride(int64_t stride) {
  SaccadeAttentionDesc desc =
      attentionDesc({.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenK = 3, .headDimQk = 3});
  desc.k = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 3, 3}, {0, 0, stride, 1});
  return desc;
}

TEST(AttentionLimits, AcceptATensorThatSpansJustUnder2To32Elements) {
  const AttentionProblem problem = validateAttention(descWithKeyStride(2147483646));
  EXPECT_EQ(problem.k.bytes(), uint64_t{4} * 4294967295u);
}

TEST(AttentionLimits, RefuseATensorThatSpans2To32Elements) {
  const auto refusal = refusalOf([] { validateAttention(descWithKeyStride(2147483647)); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "k.sizes");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "4294967295 elements", refusal->text);
}

TEST(AttentionLimits, AcceptAContiguousTensorJustUnder2To32Elements) {
  // 65535 * 65537 is 2^32 - 1.
  const AttentionShape shape{.batch = 65535,
                             .headsQ = 65537,
                             .headsKv = 65537,
                             .seqlenQ = 1,
                             .seqlenK = 1,
                             .headDimQk = 1,
                             .headDimV = 1};
  const AttentionProblem problem = validateAttention(attentionDesc(shape));
  EXPECT_EQ(problem.out.elements(), 4294967295u);
  EXPECT_EQ(problem.out.strides[0], 65537u);
}

TEST(AttentionLimits, RefuseAContiguousTensorOf2To32Elements) {
  const AttentionShape shape{.batch = 65536,
                             .headsQ = 65536,
                             .headsKv = 65536,
                             .seqlenQ = 1,
                             .seqlenK = 1,
                             .headDimQk = 1,
                             .headDimV = 1};
  const auto refusal = refusalOf([&] { validateAttention(attentionDesc(shape)); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "q.sizes");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "[65536, 65536, 1, 1]", refusal->text);
}

TEST(AttentionLimits, RefuseSizesWhoseProductWrapsIn64Bits) {
  const AttentionShape shape{
      .batch = int64_t{1} << 31, .headsQ = int64_t{1} << 31, .headsKv = 1, .seqlenQ = 1 << 8, .headDimQk = 1};
  const auto refusal = refusalOf([&] { validateAttention(attentionDesc(shape)); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "q.sizes");
}

TEST(AttentionLimits, RefuseWeightsWhoseSizeIsTheSquareOfALongSequence) {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 1,
                                             .headsQ = 1,
                                             .headsKv = 1,
                                             .seqlenQ = 65536,
                                             .seqlenK = 65536,
                                             .headDimQk = 8,
                                             .headDimV = 8});
  EXPECT_FALSE(refusalOf([&] { validateAttention(desc); }));
  desc.probs.dtype = SACCADE_DTYPE_F32;
  const auto refusal = refusalOf([&] { validateAttention(desc); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "probs.sizes");
}

TEST(AttentionLimits, IndexMasksWithMoreThan2To31Elements) {
  SaccadeAttentionDesc desc =
      attentionDesc({.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenQ = 46342, .seqlenK = 46342});
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 46342, 46342});
  EXPECT_EQ(validateAttention(desc).mask.bytes(), uint64_t{46342} * 46342);
}

TEST(AttentionLimits, AcceptSequencesOf2To30Minus1AndRefuseOneMore) {
  SaccadeAttentionDesc desc = attentionDesc(
      {.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenK = (1 << 30) - 1, .headDimQk = 1, .headDimV = 1});
  EXPECT_EQ(validateAttention(desc).seqlenK, (1u << 30) - 1);
  desc.k.sizes[2] = desc.v.sizes[2] = 1 << 30;
  const auto refusal = refusalOf([&] { validateAttention(desc); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "seqlen_k");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "1073741824", refusal->text);
}

struct EmptyShape {
  const char* name;
  AttentionShape shape;
  bool nothingToWrite;
};

class AttentionZeroSizes : public testing::TestWithParam<EmptyShape> {};

TEST_P(AttentionZeroSizes, AreAccepted) {
  EXPECT_EQ(validateAttention(attentionDesc(GetParam().shape)).empty(), GetParam().nothingToWrite);
}

INSTANTIATE_TEST_SUITE_P(Of, AttentionZeroSizes,
                         testing::Values(EmptyShape{"batch", {.batch = 0}, true},
                                         EmptyShape{"query_heads", {.headsQ = 0}, true},
                                         EmptyShape{"all_heads", {.headsQ = 0, .headsKv = 0}, true},
                                         EmptyShape{"queries", {.seqlenQ = 0}, true},
                                         EmptyShape{"keys", {.seqlenK = 0}, false}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace saccade::test
