// SPDX-License-Identifier: Apache-2.0
// Packed sequences and pages of keys.
#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

void bothEntriesHaveTheSameLength(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 2, .headsKv = 1, .seqlenQ = 2, .seqlenK = 8}, variant);
  call.values.seqlensK = {5, 5};
  const AttentionResults contiguous = execute(device, call);
  expectRight(call, contiguous);
  call.pageSize = 4;
  expectSameBits(execute(device, call), contiguous, "paged");
}

// One query per sequence, over pages of 256 keys.
void packedQueriesOverPages(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 4, .headsKv = 2, .seqlenQ = 2, .seqlenK = 1536}, variant);
  packSequences(call, {0, 1, 2}, {0, 512, 1536});
  const AttentionResults contiguous = execute(device, call);
  expectRight(call, contiguous);
  for (const std::int64_t pageSize : {256, 100}) {
    call.pageSize = pageSize;
    expectSameBits(execute(device, call), contiguous, "pages of " + std::to_string(pageSize));
  }
}

std::vector<std::int32_t> offsets(std::int32_t sequences, std::int32_t length) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(sequences) + 1);
  for (std::size_t b = 0; b < values.size(); ++b) values[b] = static_cast<std::int32_t>(b) * length;
  return values;
}

void manyShortSequences(const Device& device, const Variant& variant, const AttentionSizes& heads,
                        std::int32_t sequences, std::int32_t length) {
  AttentionSizes sizes = heads;
  sizes.seqlenQ = sizes.seqlenK = static_cast<std::int64_t>(sequences) * length;
  AttentionCall call = randomCall(sizes, variant);
  call.values.causal = io::Causal::BottomRight;
  packSequences(call, offsets(sequences, length), offsets(sequences, length));
  checkCall(device, call);
}

// Sequences with gaps between them are not packed: given lengths beside offsets are refused, not ignored.
void lengthsBesideOffsetsAreRefused(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 9, .seqlenK = 9}, variant);
  packSequences(call, {0, 3, 7, 9}, {0, 3, 7, 9});
  PreparedCall prepared = prepare(device, call);
  const std::int32_t used[] = {2, 3, 1};
  prepared.options.seqlensQ = Tensor::fromInts(device, {3}, used);
  try {
    execute(device, prepared);
    ADD_FAILURE() << "lengths beside offsets were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "seqlens_q") << error.what();
  }
}

}  // namespace

void registerSequenceCases(const Device& device) {
  fieldCase(device, {217}, "one_length_for_every_entry", {kF16}, bothEntriesHaveTheSameLength);
  fieldCase(device, {218}, "packed_queries_over_pages_in_any_order", {kF16}, packedQueriesOverPages);
  fieldCase(device, {220}, "36864_rows_of_48_heads", {kF32}, [](const Device& d, const Variant& variant) {
    manyShortSequences(d, variant, {.headsQ = 48, .headsKv = 48}, 96, 8);
  });
  fieldCase(device, {221}, "gaps_between_sequences_are_refused", {kF32}, lengthsBesideOffsetsAreRefused);
  fieldCase(device, {223}, "16384_tokens_in_packed_sequences", {kF16},
            [](const Device& d, const Variant& variant) {
              manyShortSequences(d, variant, {.headsQ = 4, .headsKv = 1}, 512, 32);
            });
}

}  // namespace saccade::conformance
