// SPDX-License-Identifier: Apache-2.0
// Rows that see no key, and keys hidden in such numbers that whole tiles are empty.
#include <limits>

#include "field_cases.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

AttentionCall masked(const AttentionSizes& sizes, const Variant& variant, const Formula& visible) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.mask = tensorOf(io::DType::U8, {1, 1, sizes.seqlenQ, sizes.seqlenK}, visible);
  return call;
}

AttentionCall biased(const AttentionSizes& sizes, const Variant& variant, const Formula& bias) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.bias = tensorOf(variant.dtype, {1, 1, sizes.seqlenQ, sizes.seqlenK}, bias);
  return call;
}

// Row `row` of every head gives 0 and -inf.
void expectEmpty(const AttentionCall& call, const AttentionResults& results, std::int64_t row) {
  const io::AttentionCase& s = call.values;
  for (std::int64_t head = 0; head < s.batch * s.numHeadsQ; ++head) {
    const std::int64_t index = head * s.seqlenQ + row;
    EXPECT_EQ(results.lse.at(static_cast<std::size_t>(index)), -kInfinity)
        << "head " << head << " row " << row;
    for (std::int64_t d = 0; d < s.headDimV; ++d)
      EXPECT_EQ(results.out.at(static_cast<std::size_t>(index * s.headDimV + d)), 0)
          << "head " << head << " row " << row;
  }
}

void expectRightWithEmptyRows(const Device& device, const AttentionCall& call, std::int64_t begin,
                              std::int64_t end) {
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::int64_t row = begin; row < end; ++row) expectEmpty(call, results, row);
}

void oneEmptyRow(const Device& device, const Variant& variant) {
  AttentionCall call =
      masked({.headsQ = 2, .headsKv = 2, .seqlenQ = 6, .seqlenK = 10, .headDimQk = 8, .headDimV = 8}, variant,
             [](auto, auto, auto i, auto j) { return i < 5 && j <= i; });
  call.values.softmaxScale = 0.125;
  expectRightWithEmptyRows(device, call, 5, 6);
}

void onlyACornerIsVisible(const Device& device, const Variant& variant) {
  expectRightWithEmptyRows(device,
                           masked({.seqlenQ = 8, .seqlenK = 8, .headDimQk = 8, .headDimV = 8}, variant,
                                  [](auto, auto, auto i, auto j) { return i < 4 && j < 4; }),
                           4, 8);
}

// The lowest float is an ordinary bias: beside keys without one, it leaves a weight of exactly 0.
void firstKeysCarryTheLowestFloat(const Device& device, const Variant& variant) {
  const AttentionSizes sizes{.seqlenQ = 441, .seqlenK = 441};
  const AttentionCall call =
      biased(sizes, variant, [](auto, auto, auto, auto j) { return j < 128 ? kLowest : 0.0f; });
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  AttentionCall cut = call;
  cut.values.bias.reset();
  cut.values.mask =
      tensorOf(io::DType::U8, {1, 1, 1, 441}, [](auto, auto, auto, auto j) { return j >= 128; });
  expectRight(cut, results, "as without the first 128 keys");
}

// Late rows do not see the first tiles, early ones not the last. Every row is a mean of ones.
void aBandOfTenKeys(const Device& device, const Variant& variant) {
  constexpr std::int64_t kTokens = 640;
  AttentionCall call =
      biased({.seqlenQ = kTokens, .seqlenK = kTokens}, variant,
             [](auto, auto, auto i, auto j) { return j > i || j <= i - 10 ? -kInfinity : 0.0f; });
  for (io::TensorData* tensor : {&call.values.q, &call.values.k, &call.values.v})
    *tensor = constantTensor(variant.dtype, tensor->shape(), 1);
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (const double value : results.out.toDoubles()) ASSERT_NEAR(value, 1, 1e-6);
}

void nothingIsVisible(const Device& device, const Variant& variant) {
  expectRightWithEmptyRows(device,
                           masked({.seqlenQ = 4, .seqlenK = 4, .headDimQk = 4, .headDimV = 4}, variant,
                                  [](auto, auto, auto, auto) { return false; }),
                           0, 4);
}

void causalAndMaskTogetherEmptyARow(const Device& device, const Variant& variant) {
  AttentionCall call = masked({.seqlenQ = 4, .seqlenK = 4, .headDimQk = 4, .headDimV = 4}, variant,
                              [](auto, auto, auto, auto j) { return j != 0; });
  call.values.causal = io::Causal::BottomRight;
  expectRightWithEmptyRows(device, call, 0, 1);
}

void moreQueriesThanKeysKeepTheirLse(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 32, .headsKv = 8, .seqlenQ = 34, .seqlenK = 1}, variant);
  call.values.causal = io::Causal::BottomRight;
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0);
  call.values.k = constantTensor(variant.dtype, call.values.k.shape(), 0);
  call.values.v = constantTensor(variant.dtype, call.values.v.shape(), 1);
  const AttentionResults results = execute(device, call);
  for (std::int64_t row = 0; row < 33; ++row) expectEmpty(call, results, row);
  for (std::size_t head = 0; head < 32; ++head) {
    EXPECT_EQ(results.lse.at(head * 34 + 33), 0);
    EXPECT_EQ(results.out.at((head * 34 + 33) * 16), 1);
  }
}

void leadingRowsAreEmpty(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 5, .seqlenK = 2}, variant);
  call.values.causal = io::Causal::BottomRight;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::int64_t row = 0; row < 3; ++row) expectEmpty(call, results, row);
  for (std::size_t d = 0; d < 16; ++d)
    EXPECT_EQ(results.out.at(3 * 16 + d), call.values.v.at(d)) << "the only key of row 3";
}

// A row without keys beside a sink: 0, and the sink is its lse.
void emptyRowsBesideASink(const Device& device, const Variant& variant) {
  for (const std::int64_t begin : {0, 20}) {
    AttentionCall call =
        biased({.headsQ = 2, .headsKv = 1, .seqlenQ = 64, .seqlenK = 256}, variant,
               [&](auto, auto, auto i, auto) { return i >= begin && i < begin + 14 ? -kInfinity : 0.0f; });
    const float sinks[] = {0.5f, -1.25f};
    call.values.sink = io::TensorData::fromFloats(kF32, {2}, sinks);
    const AttentionResults results = execute(device, call);
    expectRight(call, results, "empty rows from " + std::to_string(begin));
    for (std::int64_t row = 0; row < 128; ++row) {
      const std::int64_t i = row % 64;
      if (i < begin || i >= begin + 14) continue;
      EXPECT_EQ(results.lse.at(static_cast<std::size_t>(row)), sinks[row / 64]) << "row " << i;
      for (std::int64_t d = 0; d < 16; ++d)
        EXPECT_EQ(results.out.at(static_cast<std::size_t>(row * 16 + d)), 0) << "row " << i;
    }
  }
}

void oneOfManyRowsIsEmpty(const Device& device, const Variant& variant) {
  expectRightWithEmptyRows(
      device,
      masked({.seqlenQ = 16, .seqlenK = 16}, variant, [](auto, auto, auto i, auto) { return i != 3; }), 3, 4);
}

void oneSampleIsHidden(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.batch = 2, .seqlenQ = 8, .seqlenK = 8}, variant);
  call.values.mask = tensorOf(io::DType::U8, {2, 1, 1, 8}, [](auto b, auto, auto, auto) { return b == 0; });
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t i = 8 * 16; i < results.out.elementCount(); ++i) ASSERT_EQ(results.out.at(i), 0);
}

void scoresOfMinusInfinity(const Device& device, const Variant& variant) {
  for (const std::int64_t keys : {7, 300}) {
    AttentionCall call =
        biased({.seqlenQ = 2, .seqlenK = keys}, variant, [](auto, auto, auto, auto) { return -kInfinity; });
    call.probs = true;
    const AttentionResults results = execute(device, call);
    expectRight(call, results);
    for (const double weight : results.probs.toDoubles()) ASSERT_EQ(weight, 0);
    for (const std::int64_t row : {0, 1}) expectEmpty(call, results, row);
  }
}

// The first keys are hidden from every row; what is left must be as if they were not there.
void aLongHiddenPrefix(const Device& device, const Variant& variant, const AttentionSizes& sizes) {
  const AttentionCall call = biased(
      sizes, variant, [&](auto, auto, auto, auto j) { return j < sizes.seqlenK / 2 ? -kInfinity : 0.0f; });
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  AttentionCall poisoned = call;
  poisoned.values.k = withRows(call.values.k, -1, 0, sizes.seqlenK / 2, kNan);
  poisoned.values.v = withRows(call.values.v, -1, 0, sizes.seqlenK / 2, kNan);
  expectSameBits(execute(device, poisoned), results, "NaN in the hidden prefix");
}

}  // namespace

void registerEmptyRowCases(const Device& device) {
  fieldCase(device, {1}, "a_mask_with_one_empty_row", {kF32}, oneEmptyRow);
  fieldCase(device, {2}, "a_mask_of_one_corner", {kF32}, onlyACornerIsVisible);
  fieldCase(device, {4}, "the_first_block_carries_the_lowest_float", {kF32}, firstKeysCarryTheLowestFloat);
  fieldCase(device, {5}, "a_band_leaves_whole_tiles_empty", {kF32}, aBandOfTenKeys);
  fieldCase(device, {7}, "a_mask_that_hides_everything", {kF32}, nothingIsVisible);
  fieldCase(device, {8}, "causal_and_mask_together_empty_a_row", {kF32}, causalAndMaskTogetherEmptyARow);
  fieldCase(device, {10}, "rows_before_the_first_key_have_lse_minus_infinity", {kF16},
            moreQueriesThanKeysKeepTheirLse);
  fieldCase(device, {11}, "rows_before_the_first_key_are_zero", {kF32, kF16, kBf16}, leadingRowsAreEmpty);
  fieldCase(device, {13}, "empty_rows_beside_a_sink", {kF16}, emptyRowsBesideASink);
  fieldCase(device, {14}, "one_empty_row_in_a_block", {kBf16}, oneOfManyRowsIsEmpty);
  fieldCase(device, {16}, "one_sample_is_hidden", {kF32}, oneSampleIsHidden);
  fieldCase(device, {17}, "rows_of_minus_infinity", {kF32}, scoresOfMinusInfinity);
  fieldCase(device, {19}, "one_query_and_half_of_4096_keys_hidden", {kF16},
            [](const Device& d, const Variant& variant) {
              aLongHiddenPrefix(d, variant, {.headsQ = 8, .headsKv = 8, .seqlenQ = 1, .seqlenK = 4096});
            });
  fieldCase(device, {20}, "a_bias_that_begins_with_minus_infinity", {kF16},
            [](const Device& d, const Variant& variant) {
              aLongHiddenPrefix(d, variant, {.seqlenQ = 256, .seqlenK = 256});
            });
}

}  // namespace saccade::conformance
