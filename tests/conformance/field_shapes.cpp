// SPDX-License-Identifier: Apache-2.0
// Lengths and head dims that no tile divides, and sizes of zero.

#include "field_cases.hpp"
#include "io/special_values.hpp"
#include "probes.hpp"

namespace saccade::conformance {
namespace {

void theTailStaysOutOfTheSum(const Device& device, const Variant& variant) {
  for (const std::int64_t keys : {16, 64})
    probeKeyCount(device, randomCall({.seqlenQ = 1, .seqlenK = keys}, variant));
}

// 200 keys, blocks of 40 that see themselves and the first, and causal.
void blocksAndCausal(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 200, .seqlenK = 200}, variant);
  call.values.causal = io::Causal::BottomRight;
  call.values.mask = tensorOf(io::DType::U8, {1, 1, 200, 200},
                              [](auto, auto, auto i, auto j) { return j < 40 || i / 40 == j / 40; });
  checkCall(device, call);
}

void headDimsOf(const Device& device, const Variant& variant, const std::vector<std::int64_t>& headDims,
                io::Causal causal) {
  for (const std::int64_t headDim : headDims) {
    AttentionCall call = randomCall(
        {.headsQ = 2, .headsKv = 1, .seqlenQ = 17, .seqlenK = 35, .headDimQk = headDim, .headDimV = headDim},
        variant);
    call.values.causal = causal;
    checkCall(device, call, "head dim " + std::to_string(headDim));
  }
}

void anOddHeadDimAndARightWindow(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.seqlenQ = 16, .seqlenK = 20000, .headDimQk = 59, .headDimV = 59}, variant);
  call.values.windowLeft = 0;
  call.values.windowRight = 256;
  checkCall(device, call);
}

void keysInAnyNumberOfBlocks(const Device& device, const Variant& variant) {
  for (const std::int64_t blocks : {16, 33, 48, 100, 256})
    checkCall(device, randomCall({.headsQ = 8, .headsKv = 2, .seqlenQ = 1, .seqlenK = 32 * blocks}, variant),
              std::to_string(blocks) + " blocks of 32 keys");
}

void keysOffEveryPadding(const Device& device, const Variant& variant) {
  for (const std::int64_t keys : {1, 31, 33, 113, 255, 257})
    checkCall(device, randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 7, .seqlenK = keys}, variant),
              std::to_string(keys) + " keys");
}

// No key at all: 0 and -inf, even where q is NaN.
void noKeysGiveZero(const Device& device, const Variant& variant) {
  for (const io::Causal causal : {io::Causal::None, io::Causal::BottomRight}) {
    AttentionCall call =
        randomCall({.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 16, .seqlenK = 0}, variant);
    call.values.causal = causal;
    call.values.q = withRows(call.values.q, 0, 0, 16, kNan);
    const AttentionResults results = execute(device, call);
    for (const double value : results.out.toDoubles()) ASSERT_EQ(value, 0);
    for (const double value : results.lse.toDoubles())
      ASSERT_EQ(value, -kInfinity);
  }
}

void packed(const Device& device, const Variant& variant, std::int64_t headsQ, std::int64_t headsKv,
            const std::vector<std::int32_t>& queries, const std::vector<std::int32_t>& keys) {
  for (const io::Causal causal : {io::Causal::None, io::Causal::BottomRight}) {
    AttentionCall call = randomCall(
        {.headsQ = headsQ, .headsKv = headsKv, .seqlenQ = queries.back(), .seqlenK = keys.back()}, variant);
    call.values.causal = causal;
    packSequences(call, queries, keys);
    checkCall(device, call);
  }
}

void fewerTokensThanSequences(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 21, .headsKv = 7, .seqlenQ = 1, .seqlenK = 1}, variant);
  packSequences(call, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 1});
  const AttentionResults results = execute(device, call);
  for (std::size_t i = 0; i < 21 * 16; ++i)
    ASSERT_EQ(results.out.at(i), call.values.v.at(i / 16 / 3 * 16 + i % 16)) << "element " << i;
}

void emptyTensorsAreNoOperation(const Device& device, const Variant& variant) {
  for (const AttentionSizes& sizes :
       {AttentionSizes{.batch = 0, .headsQ = 0, .headsKv = 0, .seqlenQ = 2, .seqlenK = 2},
        AttentionSizes{.batch = 0, .seqlenQ = 4, .seqlenK = 4},
        AttentionSizes{.headsQ = 0, .seqlenQ = 4, .seqlenK = 4},
        AttentionSizes{.headsQ = 0, .headsKv = 0, .seqlenQ = 4, .seqlenK = 4},
        AttentionSizes{.seqlenQ = 0, .seqlenK = 4}}) {
    EXPECT_EQ(execute(device, randomCall(sizes, variant)).out.elementCount(), 0u);
  }
  const AttentionCall noChannels = randomCall({.headDimQk = 0, .headDimV = 0}, variant);
  try {
    execute(device, noChannels);
    ADD_FAILURE() << "head dims of 0 were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "head_dim_qk");
  }
}

void lengthsOfZeroBesideOthers(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 64, .headsQ = 4, .headsKv = 4, .seqlenQ = 64, .seqlenK = 64}, variant);
  std::vector<std::int32_t> lengths;
  for (int b = 0; b < 64; ++b) lengths.push_back(32 * (b * 7 % 3));
  call.values.seqlensK = lengths;
  checkCall(device, call);
}

}  // namespace

void registerShapeCases(const Device& device) {
  fieldCase(device, {94}, "the_tail_stays_out_of_the_sum", {kF16}, theTailStaysOutOfTheSum);
  fieldCase(device, {97}, "200_keys_in_blocks_and_causal", {kF32}, blocksAndCausal);
  fieldCase(device, {100}, "head_dims_off_8", {kF32}, [](const Device& d, const Variant& variant) {
    headDimsOf(d, variant, {4, 20, 42}, io::Causal::BottomRight);
  });
  fieldCase(device, {101}, "an_odd_head_dim_and_a_right_window", {kF16}, anOddHeadDimAndARightWindow);
  fieldCase(device, {103}, "no_kernel_is_taken_for_another_head_dim", {kF32},
            [](const Device& d, const Variant& variant) {
              headDimsOf(d, variant, {64, 96}, io::Causal::None);
              headDimsOf(d, variant, {256}, io::Causal::BottomRight);
            });
  fieldCase(device, {104}, "keys_in_any_number_of_blocks", {kF16}, keysInAnyNumberOfBlocks);
  fieldCase(device, {106, 184}, "a_group_of_six", {kF32}, [](const Device& d, const Variant& variant) {
    checkCall(d, randomCall({.headsQ = 12, .headsKv = 2, .seqlenQ = 7, .seqlenK = 40}, variant));
  });
  fieldCase(device, {109}, "keys_off_every_padding", {kF16}, keysOffEveryPadding);
  fieldCase(device, {110}, "no_keys_at_all", {kF32, kBf16}, noKeysGiveZero);
  fieldCase(
      device, {112}, "one_query_per_sequence_and_an_empty_one", {kBf16},
      [](const Device& d, const Variant& variant) { packed(d, variant, 9, 3, {0, 1, 1, 2}, {0, 3, 3, 8}); });
  fieldCase(device, {113}, "fewer_tokens_than_sequences", {kBf16}, fewerTokensThanSequences);
  fieldCase(device, {116}, "a_sequence_without_keys", {kF16}, [](const Device& d, const Variant& variant) {
    packed(d, variant, 2, 1, {0, 4, 10, 13}, {0, 5, 5, 12});
  });
  fieldCase(device, {118}, "zero_in_any_size", {kF32, kBf16}, emptyTensorsAreNoOperation);
  fieldCase(device, {119}, "lengths_of_zero_beside_others", {kF16}, lengthsOfZeroBesideOthers);
}

}  // namespace saccade::conformance
