// SPDX-License-Identifier: Apache-2.0
// Where the diagonal lies when there are more keys than queries or fewer, and that a causal mask is there
// when, and only when, it was asked for.
#include <cmath>

#include "field_cases.hpp"
#include "io/special_values.hpp"
#include "probes.hpp"

namespace saccade::conformance {
namespace {

AttentionCall causalCall(const AttentionSizes& sizes, const Variant& variant,
                         io::Causal causal = io::Causal::BottomRight) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.causal = causal;
  return call;
}

// q of 0 and values that are rows of the identity: out is the weights.
void bothAlignments(const Device& device, const Variant& variant) {
  AttentionCall call = causalCall({.seqlenQ = 2, .seqlenK = 5}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0);
  call.values.v = tensorOf(variant.dtype, {1, 1, 5, 16}, [](auto, auto, auto j, auto d) { return j == d; });
  for (const auto& [causal, keysOfFirstRow] :
       {std::pair{io::Causal::BottomRight, 4}, {io::Causal::TopLeft, 1}}) {
    call.values.causal = causal;
    const AttentionResults results = execute(device, call);
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 5; ++j) {
        const int keys = keysOfFirstRow + i;
        EXPECT_NEAR(results.out.at(static_cast<std::size_t>(i * 16 + j)), j < keys ? 1.0 / keys : 0, 1e-6)
            << "row " << i << " key " << j << " of " << keys;
      }
    }
  }
}

void aSingleQuery(const Device& device, const Variant& variant) {
  AttentionCall call = causalCall({.seqlenQ = 1, .seqlenK = 8}, variant, io::Causal::TopLeft);
  const AttentionResults topLeft = execute(device, call);
  expectRight(call, topLeft, "top left");
  for (std::size_t d = 0; d < 16; ++d)
    EXPECT_EQ(topLeft.out.at(d), call.values.v.at(d)) << "only the first key";
  call.values.causal = io::Causal::BottomRight;
  probeKeyCount(device, call);
}

// The rule for one query is that for several: its row is the last (first) row of a call with four.
void oneQueryFollowsTheRuleOfFour(const Device& device, const Variant& variant) {
  for (const io::Causal causal : {io::Causal::BottomRight, io::Causal::TopLeft}) {
    const AttentionCall four = causalCall({.seqlenQ = 4, .seqlenK = 4}, variant, causal);
    AttentionCall one = four;
    one.values.seqlenQ = 1;
    const std::ptrdiff_t row = causal == io::Causal::BottomRight ? 3 : 0;
    const std::vector<float> q = four.values.q.toFloats();
    one.values.q = io::TensorData::fromFloats(variant.dtype, {1, 1, 1, 16},
                                              std::span(q).subspan(static_cast<std::size_t>(row) * 16, 16));
    const AttentionResults all = execute(device, four), single = execute(device, one);
    expectRight(one, single);
    for (std::size_t d = 0; d < 16; ++d)
      EXPECT_NEAR(single.out.at(d), all.out.at(static_cast<std::size_t>(row) * 16 + d), 1e-6)
          << "row " << row;
  }
}

void keysOfThePastAreVisible(const Device& device, const Variant& variant) {
  const AttentionCall call = causalCall({.seqlenQ = 4, .seqlenK = 16}, variant);
  checkCall(device, call);
  probeKeyCount(device, call);
}

void nothingIsGuessedCausal(const Device& device, const Variant& variant) {
  const AttentionCall call = randomCall({.headsQ = 4, .headsKv = 4, .seqlenQ = 16, .seqlenK = 16}, variant);
  checkCall(device, call);
  probeKeyCount(device, call);
}

// Every key in turn becomes NaN: rows before it keep their bits, rows from it on become NaN.
void everyKeyIsHiddenFromEarlierRows(const Device& device, const Variant& variant) {
  const AttentionCall call = causalCall({.headsQ = 4, .headsKv = 4, .seqlenQ = 64, .seqlenK = 64}, variant);
  const AttentionResults before = execute(device, call);
  expectRight(call, before);
  for (std::int64_t key = 0; key < 64 && !testing::Test::HasFailure(); ++key)
    probeKey(device, call, before, key, kNan);
}

void weightsAreCausalToo(const Device& device, const Variant& variant) {
  AttentionCall call = causalCall({.seqlenQ = 8, .seqlenK = 8}, variant);
  call.probs = true;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j)
      EXPECT_EQ(results.probs.at(i * 8 + j) > 0, j <= i) << "row " << i << " key " << j;
  }
}

void shortQueriesOverManyKeys(const Device& device, const Variant& variant) {
  for (std::int64_t keys = 8; keys <= 64; ++keys)
    checkCall(device, causalCall({.seqlenQ = 8, .seqlenK = keys}, variant), std::to_string(keys) + " keys");
}

// Two batch entries of 8 tokens, the second with 5 keys: causal does not bring the padding back.
void causalKeepsThePadding(const Device& device, const Variant& variant) {
  AttentionCall call = causalCall({.batch = 2, .seqlenQ = 8, .seqlenK = 8}, variant);
  call.values.seqlensK = {8, 5};
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  call.values.k = withRows(call.values.k, 1, 5, 8, kNan);
  call.values.v = withRows(call.values.v, 1, 5, 8, kNan);
  expectSameBits(execute(device, call), expected, "NaN past the length");
}

}  // namespace

void registerCausalCases(const Device& device) {
  fieldCase(device, {34}, "both_alignments_are_explicit", {kF32}, bothAlignments);
  fieldCase(device, {35}, "a_single_query_in_both_alignments", {kF32}, aSingleQuery);
  fieldCase(device, {37}, "one_query_follows_the_rule_of_four", {kF32}, oneQueryFollowsTheRuleOfFour);
  fieldCase(device, {38}, "past_keys_are_outside_the_triangle", {kF32}, keysOfThePastAreVisible);
  fieldCase(device, {40}, "equal_lengths_are_not_guessed_causal", {kF32}, nothingIsGuessedCausal);
  fieldCase(device, {41}, "no_row_sees_a_later_key", {kF16, kBf16}, everyKeyIsHiddenFromEarlierRows);
  fieldCase(device, {43}, "causal_with_weights_as_output", {kF32}, weightsAreCausalToo);
  fieldCase(device, {44}, "causal_without_a_mask", {kF32}, [](const Device& d, const Variant& variant) {
    const AttentionCall call = causalCall({.seqlenQ = 8, .seqlenK = 8}, variant);
    checkCall(d, call);
    probeKeyCount(d, call);
  });
  fieldCase(device, {46}, "causal_lengths_off_every_tile", {kF16},
            [](const Device& d, const Variant& variant) {
              checkCall(d, causalCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 40, .seqlenK = 100}, variant));
            });
  fieldCase(device, {47}, "eight_causal_queries_over_8_to_64_keys", {kF16}, shortQueriesOverManyKeys);
  fieldCase(device, {49}, "causal_keeps_the_padding", {kF16}, causalKeepsThePadding);
}

}  // namespace saccade::conformance
