// SPDX-License-Identifier: Apache-2.0
// NaN, infinity and what was never written, in places that a row may not see; and NaN where it must come
// through.
#include <cmath>

#include "field_cases.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

void hiddenKeysHoldAnything(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 2, .headDimQk = 4, .headDimV = 4}, variant);
  const auto counting = tensorOf(variant.dtype, {1, 1, 2, 4},
                                 [](auto, auto, auto t, auto d) { return static_cast<float>(4 * t + d); });
  call.values.q = call.values.k = call.values.v = counting;
  call.values.mask = tensorOf(io::DType::U8, {1, 1, 2, 2}, [](auto, auto, auto, auto j) { return j == 0; });
  const AttentionResults expected = execute(device, call);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(expected.out.at(i), static_cast<double>(i % 4)) << "not the first value";
  const auto with = [&](bool key, float value) {
    AttentionCall poisoned = call;
    io::TensorData& tensor = key ? poisoned.values.k : poisoned.values.v;
    tensor = changed(tensor, [&](std::vector<float>& values) { values[4] = value; });
    expectSameBits(execute(device, poisoned), expected, std::string(key ? "k" : "v") + " of the hidden key");
  };
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    with(true, value);
    with(false, value);
  }
}

void cacheSlotsPastTheLength(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.batch = 2, .seqlenQ = 1, .seqlenK = 3}, variant);
  call.layout = check::Layout::CacheSlice;
  call.values.seqlensK = {1, 3};
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0.5f);
  call.values.k = withRows(call.values.k, 0, 1, 3, 0);
  call.values.v = withRows(call.values.v, 0, 1, 3, 0);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  call.values.k = withRows(call.values.k, 0, 1, 3, kNan);
  call.values.v = withRows(call.values.v, 0, 1, 3, kNan);
  expectSameBits(execute(device, call), expected, "NaN past the length");
}

// A dispatch that leaves NaN behind in shared memory, and one after it whose last tile holds a single key.
void aTailAfterADispatchOfNan(const Device& device, const Variant& variant) {
  const AttentionCall call = randomCall({.seqlenQ = 33, .seqlenK = 65}, variant);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  AttentionCall poison = call;
  poison.values.k = constantTensor(variant.dtype, call.values.k.shape(), kNan);
  poison.values.v = constantTensor(variant.dtype, call.values.v.shape(), kNan);
  PreparedCall first = prepare(device, poison), second = prepare(device, call);
  Stream stream(device);
  stream.attention(first.q, first.k, first.v, first.out, first.options);
  stream.attention(second.q, second.k, second.v, second.out, second.options);
  stream.wait();
  expectSameBits(downloadResults(second), expected, "after a dispatch of NaN");
}

void oddLengths(const Device& device, const Variant& variant) {
  checkCall(device, randomCall({.headsQ = 20, .headsKv = 20, .seqlenQ = 9, .seqlenK = 9}, variant),
            "9 tokens");
  checkCall(device, randomCall({.seqlenQ = 12, .seqlenK = 12}, variant), "12 tokens");
  checkCall(device, randomCall({.seqlenQ = 1001, .seqlenK = 503}, variant), "1001 queries and 503 keys");
}

// Two sequences; the last five of 37 tokens belong to none and hold NaN.
AttentionCall paddedAtTheEnd(const Variant& variant, float padding) {
  AttentionCall call = randomCall({.headsQ = 2, .headsKv = 1, .seqlenQ = 37, .seqlenK = 37}, variant);
  for (io::TensorData* tensor : {&call.values.q, &call.values.k, &call.values.v})
    *tensor = withRows(*tensor, -1, 32, 37, padding);
  packSequences(call, {0, 20, 32}, {0, 20, 32});
  return call;
}

void paddingOfAPackedBatch(const Device& device, const Variant& variant) {
  const AttentionCall zeros = paddedAtTheEnd(variant, 0);
  const AttentionResults expected = execute(device, zeros);
  expectRight(zeros, expected);
  expectSameBits(execute(device, paddedAtTheEnd(variant, kNan)), expected, "padding of NaN");
}

// What the first call writes for padding is read by the second, behind a mask.
void paddingThroughTwoLayers(const Device& device, const Variant& variant) {
  constexpr std::int64_t kTokens = 9, kValid = 6;
  AttentionCall call = randomCall({.batch = 2, .seqlenQ = kTokens, .seqlenK = kTokens}, variant);
  const auto valid = [](std::int64_t b, std::int64_t token) { return b == 1 || token < kValid; };
  for (io::TensorData* tensor : {&call.values.q, &call.values.k, &call.values.v})
    *tensor = withRows(*tensor, 0, kValid, kTokens, kNan);
  call.values.mask = tensorOf(io::DType::U8, {2, 1, kTokens, kTokens},
                              [&](auto b, auto, auto i, auto j) { return valid(b, i) && valid(b, j); });
  const AttentionResults first = execute(device, call);
  expectRight(call, first, "first layer");
  call.values.q = call.values.k = call.values.v = first.out;
  call.values.mask =
      tensorOf(io::DType::U8, {2, 1, 1, kTokens}, [&](auto b, auto, auto, auto j) { return valid(b, j); });
  const AttentionResults second = execute(device, call);
  expectRight(call, second, "second layer");
  for (const double value : second.out.toDoubles()) ASSERT_FALSE(std::isnan(value));
}

void tokensPastTheLastSequence(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 160, .seqlenK = 160}, variant);
  packSequences(call, {0, 70, 150}, {0, 70, 150});
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t token = 150; token < 160; ++token) {
    for (std::size_t i = 0; i < 32; ++i) ASSERT_EQ(results.out.at(token * 32 + i), 0) << "token " << token;
    for (std::size_t head = 0; head < 2; ++head)
      ASSERT_EQ(results.lse.at(head * 160 + token), -kInfinity) << "token " << token;
  }
}

void aQueryOfNanStaysNan(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall(
      {.batch = 2, .headsQ = 4, .headsKv = 4, .seqlenQ = 16, .seqlenK = 16, .headDimQk = 8, .headDimV = 8},
      variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), kNan);
  const AttentionResults results = execute(device, call);
  for (const double value : results.out.toDoubles()) ASSERT_TRUE(std::isnan(value));
  for (const double value : results.lse.toDoubles()) ASSERT_TRUE(std::isnan(value));
}

}  // namespace

void registerLeakCases(const Device& device) {
  fieldCase(device, {22}, "a_hidden_key_holds_nan_or_infinity", {kF32}, hiddenKeysHoldAnything);
  fieldCase(device, {23}, "cache_slots_past_the_length_hold_nan", {kF16}, cacheSlotsPastTheLength);
  fieldCase(device, {25}, "a_tail_after_a_dispatch_of_nan", {kF16}, aTailAfterADispatchOfNan);
  fieldCase(device, {26}, "odd_lengths", {kF16}, oddLengths);
  fieldCase(device, {28}, "padding_of_a_packed_batch_holds_nan", {kF32}, paddingOfAPackedBatch);
  fieldCase(device, {29}, "padding_goes_through_two_layers", {kF32}, paddingThroughTwoLayers);
  fieldCase(device, {31}, "tokens_past_the_last_sequence_are_written", {kF16}, tokensPastTheLastSequence);
  fieldCase(device, {32}, "a_query_of_nan_stays_nan", {kF32}, aQueryOfNanStaysNan);
}

}  // namespace saccade::conformance
