// SPDX-License-Identifier: Apache-2.0
// Lengths: what lies past them is never used, whatever it holds; on the device they are clamped to the
// tensors.
#include <cmath>
#include <limits>

#include "attention_call.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

AttentionCall paddedCall(const Variant& variant, io::Causal causal) {
  AttentionCall call =
      randomCall({.batch = 5, .headsQ = 4, .headsKv = 2, .seqlenQ = 37, .seqlenK = 70}, variant);
  call.values.causal = causal;
  call.values.seqlensQ = {37, 5, 20, 0, 33};
  call.values.seqlensK = {70, 33, 0, 12, 64};
  call.probs = true;
  return call;
}

AttentionCall withPadding(AttentionCall call, float value) {
  for (std::int64_t b = 0; b < call.values.batch; ++b) {
    const auto entry = static_cast<std::size_t>(b);
    call.values.q = withRows(call.values.q, b, (*call.values.seqlensQ)[entry], call.values.seqlenQ, value);
    call.values.k = withRows(call.values.k, b, (*call.values.seqlensK)[entry], call.values.seqlenK, value);
    call.values.v = withRows(call.values.v, b, (*call.values.seqlensK)[entry], call.values.seqlenK, value);
  }
  return call;
}

void paddingHasNoInfluence(const Device& device, const AttentionCall& call) {
  const AttentionCall zeros = withPadding(call, 0), nans = withPadding(call, kNan);
  const AttentionResults expected = execute(device, zeros);
  expectRight(zeros, expected);
  expectSameBits(execute(device, nans), expected, "padding of NaN instead of 0");
}

void paddedRowsAreZero(const Device& device, const AttentionCall& call) {
  const AttentionResults results = execute(device, withPadding(call, kNan));
  const io::AttentionCase& s = call.values;
  for (std::int64_t row = 0; row < s.batch * s.numHeadsQ * s.seqlenQ; ++row) {
    const std::int64_t b = row / s.seqlenQ / s.numHeadsQ, i = row % s.seqlenQ;
    if (i < (*s.seqlensQ)[static_cast<std::size_t>(b)] && (*s.seqlensK)[static_cast<std::size_t>(b)] > 0)
      continue;
    EXPECT_EQ(results.lse.at(static_cast<std::size_t>(row)), -kInfinity)
        << "row " << row;
    for (std::int64_t d = 0; d < s.headDimV; ++d)
      ASSERT_EQ(results.out.at(static_cast<std::size_t>(row * s.headDimV + d)), 0) << "row " << row;
    for (std::int64_t j = 0; j < s.seqlenK; ++j)
      ASSERT_EQ(results.probs.at(static_cast<std::size_t>(row * s.seqlenK + j)), 0) << "row " << row;
  }
}

void deviceClampsLengths(const Device& device, AttentionCall call) {
  call.values.seqlensQ = {37, 0, 37, 0, 33};
  call.values.seqlensK = {70, 70, 0, 0, 64};
  const AttentionResults expected = execute(device, call);
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max(),
                         kLowest = std::numeric_limits<std::int32_t>::min();
  call.deviceSeqlensQ = {38, -1, kLargest, kLowest, 33};
  call.deviceSeqlensK = {71, kLargest, -1, kLowest, 64};
  expectSameBits(execute(device, call), expected, "lengths outside the tensors");
}

}  // namespace

void registerLengthTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    for (const auto& [causal, name] :
         {std::pair{io::Causal::None, ""}, {io::Causal::BottomRight, "_when_causal"}}) {
      const std::string suffix = name;
      registerTest("attention_lengths", testName("hide_what_lies_past_them" + suffix, variant, kHeadDim),
                   [=] { paddingHasNoInfluence(device, paddedCall(variant, causal)); });
      registerTest("attention_lengths", testName("make_rows_past_them_zero" + suffix, variant, kHeadDim),
                   [=] { paddedRowsAreZero(device, paddedCall(variant, causal)); });
      registerTest("attention_lengths", testName("are_clamped_on_the_device" + suffix, variant, kHeadDim),
                   [=] { deviceClampsLengths(device, paddedCall(variant, causal)); });
    }
  }
}

}  // namespace saccade::conformance
