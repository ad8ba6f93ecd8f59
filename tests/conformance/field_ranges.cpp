// SPDX-License-Identifier: Apache-2.0
// Scores and values at which half precision, sentinels or a rounding of the weights give in.
#include <cmath>
#include <limits>

#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

// Scores that follow from the first channel alone: q is 1 there, k the score (times 4, which the scale takes
// back).
void setScores(AttentionCall& call, const std::function<float(std::int64_t)>& score) {
  const auto first = [](auto value) {
    return [value](auto, auto, auto t, auto d) { return d == 0 ? value(t) : 0.0f; };
  };
  call.values.q =
      tensorOf(call.values.q.dtype(), call.values.q.shape(), first([](std::int64_t) { return 1.0f; }));
  call.values.k = tensorOf(call.values.k.dtype(), call.values.k.shape(),
                           first([&](std::int64_t t) { return 4 * score(t); }));
}

// Two keys at a score of -46341, below any finite start of a running maximum.
void scoresBelowEverySentinel(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 32, .headsKv = 4, .seqlenQ = 1, .seqlenK = 2}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 64);
  call.values.k = constantTensor(variant.dtype, call.values.k.shape(), -512);
  call.values.v = constantTensor(variant.dtype, call.values.v.shape(), 1);
  call.values.softmaxScale = 1 / std::sqrt(128.0);
  const AttentionResults results = execute(device, call);
  for (const double value : results.out.toDoubles()) ASSERT_EQ(value, 1);
  for (const double lse : results.lse.toDoubles()) ASSERT_NEAR(lse / std::log(2.0), -66854.9, 0.2);
}

// Equal scores and equal values of 30000: a sum in half precision would be infinite.
void sumsLargeValues(const Device& device, const Variant& variant) {
  for (const std::int64_t keys : {64, 1000, 8192}) {
    AttentionCall call = randomCall({.headsQ = 2, .headsKv = 1, .seqlenQ = 3, .seqlenK = keys}, variant);
    call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0);
    call.values.v = constantTensor(variant.dtype, call.values.v.shape(), 30000);
    const AttentionResults results = execute(device, call);
    const double expected = call.values.v.at(0);
    for (const double value : results.out.toDoubles())
      ASSERT_NEAR(value, expected, expected * 1e-6) << keys << " keys";
  }
}

// One product of 90000, beyond the largest half.
void aProductBeyondTheLargestHalf(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 40}, variant);
  call.values.q =
      tensorOf(variant.dtype, {1, 1, 2, 16}, [](auto, auto, auto, auto d) { return d == 5 ? 300.0f : 0.0f; });
  call.values.k = tensorOf(variant.dtype, {1, 1, 40, 16}, [](auto, auto, auto j, auto d) {
    return d != 5 ? 0.0f : j == 7 ? 300.0f : 0.5f;
  });
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t i = 0; i < 32; ++i)
    EXPECT_EQ(results.out.at(i), call.values.v.at(7 * 16 + i % 16)) << "element " << i;
}

void manyKeysAtFullPrecision(const Device& device, const Variant& variant) {
  checkCall(device, randomCall({.headsQ = 2, .headsKv = 1, .seqlenQ = 1, .seqlenK = 65536}, variant));
}

void manyKeysWithValuesAround10(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 40000}, variant);
  call.values.v = changed(call.values.v, [](std::vector<float>& values) {
    for (float& value : values) value += 10;
  });
  checkCall(device, call);
}

// The running maximum jumps by 25 from one tile to the next, upwards and downwards.
void maximaThatJump(const Device& device, const Variant& variant) {
  for (const float step : {25.0f, -25.0f}) {
    AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 96}, variant);
    setScores(call, [&](std::int64_t key) { return step * static_cast<float>(key / 32); });
    checkCall(device, call, "steps of " + std::to_string(step));
  }
}

// One key per batch entry: its lse is its capped score.
void cappedScoresSaturate(const Device& device, const Variant& variant) {
  constexpr float kScores[] = {1000, 3000, 5000, 1e4f, -1e4f, 4400};
  AttentionCall call = randomCall({.batch = 6, .seqlenQ = 1, .seqlenK = 1}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 1);
  call.values.k = tensorOf(variant.dtype, call.values.k.shape(),
                           [&](auto b, auto, auto, auto d) { return d == 0 ? kScores[b] : 0.0f; });
  call.values.softmaxScale = 1;
  call.values.softcap = 50;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t b = 0; b < 6; ++b)
    EXPECT_NEAR(results.lse.at(b), kScores[b] < 0 ? -50 : 50, 1e-4) << "score " << kScores[b];
}

// A sum of 70000 equal weights, beyond the largest half.
void aSumBeyondTheLargestHalf(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 1, .seqlenK = 70000}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0);
  call.probs = true;
  const AttentionResults results = execute(device, call);
  EXPECT_NEAR(results.lse.at(0), std::log(70000.0), 2e-6 * 12);
  const double expected = io::roundedTo(variant.dtype, 1.0 / 70000);
  for (const double weight : results.probs.toDoubles()) ASSERT_EQ(weight, expected);
}

void maskAndSinkInBothLayouts(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall(
      {.headsQ = 4, .headsKv = 4, .seqlenQ = 75, .seqlenK = 512, .headDimQk = 128, .headDimV = 128}, variant);
  call.values.mask = randomMask({1, 1, 75, 512}, 3);
  const float sinks[] = {0, 1, -1, 4};
  call.values.sink = io::TensorData::fromFloats(kF32, {4}, sinks);
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  call.layout = check::Layout::TokensFirst;
  expectSameBits(execute(device, call), results, "tokens first");
}

void half2048KeysOfHeadDim128(const Device& device, const Variant& variant) {
  checkCall(device, randomCall({.seqlenQ = 32, .seqlenK = 2048, .headDimQk = 128, .headDimV = 128}, variant));
}

}  // namespace

void registerRangeCases(const Device& device) {
  fieldCase(device, {74}, "scores_below_every_sentinel", {kF16}, scoresBelowEverySentinel);
  fieldCase(device, {76}, "values_near_the_limit_of_half_are_summed_in_fp32", {kF32, kF16, kBf16},
            sumsLargeValues);
  fieldCase(device, {77, 232}, "a_product_beyond_the_largest_half", {kF16}, aProductBeyondTheLargestHalf);
  fieldCase(device, {79}, "65536_keys_at_full_precision", {kF32}, manyKeysAtFullPrecision);
  fieldCase(device, {82}, "40000_keys_with_values_around_10", {kF16}, manyKeysWithValuesAround10);
  fieldCase(device, {83}, "maxima_that_jump_from_tile_to_tile", {kF16}, maximaThatJump);
  fieldCase(device, {85}, "capped_scores_saturate", {kF32}, cappedScoresSaturate);
  fieldCase(device, {86}, "a_sum_of_weights_beyond_the_largest_half", {kF16}, aSumBeyondTheLargestHalf);
  fieldCase(device, {91}, "mask_and_sink_at_head_dim_128", {kF16}, maskAndSinkInBothLayouts);
  fieldCase(device, {92}, "2048_keys_of_half_precision", {kF16, kBf16}, half2048KeysOfHeadDim128);
}

}  // namespace saccade::conformance
