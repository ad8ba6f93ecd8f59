// SPDX-License-Identifier: Apache-2.0
// Reads and writes outside: buffers that end where their memory ends, and margins that must stay as they are.
#include <iostream>

#include "end_of_memory.hpp"
#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

// With margins on every side, then with every tensor at the end of its memory.
void withNothingBehind(const Device& device, const std::vector<AttentionCall>& calls) {
  const std::unique_ptr<EndOfMemory> memory = EndOfMemory::create(device);
  if (memory == nullptr) std::cout << "    the device cannot use host memory: margins alone were looked at\n";
  for (const AttentionCall& call : calls) {
    const AttentionResults expected = execute(device, call);
    expectRight(call, expected);
    if (memory != nullptr) expectSameBits(memory->execute(call), expected, "at the end of memory");
  }
}

// A pitch of 77 elements, of a bias by itself and of one cut from rows of 80.
void biasesOfAnyPitch(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 3, .headsQ = 8, .headsKv = 8, .seqlenQ = 77, .seqlenK = 77}, variant);
  call.values.bias = randomTensor(variant.dtype, {3, 8, 77, 77}, 6);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  prepared.options.bias = prepared.tensors.input("rows of 80", *call.values.bias, check::Layout::PaddedRows);
  expectSameBits(execute(device, prepared), expected, "a bias cut from wider rows");
}

void masksEndWithTheirMemory(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 33, .seqlenK = 513}, variant);
  AttentionCall biased = call;
  call.values.mask = randomMask({1, 1, 33, 513}, 5);
  biased.values.bias = randomTensor(variant.dtype, {1, 1, 33, 513}, 5);
  withNothingBehind(device, {call, biased});
}

void queryCountsOffEveryPowerOfTwo(const Device& device, const Variant& variant) {
  std::vector<AttentionCall> calls;
  for (const std::int64_t queries : {3, 5, 6, 7, 9})
    calls.push_back(randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = queries, .seqlenK = 37}, variant));
  withNothingBehind(device, calls);
}

void sinksOfGroupsOfFive(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 10, .headsKv = 2, .seqlenQ = 3, .seqlenK = 20}, variant);
  call.values.sink = randomTensor(kF32, {10}, 8);
  withNothingBehind(device, {call});
}

void blockTablesWithoutASpareEntry(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 2, .headsKv = 2, .seqlenQ = 3, .seqlenK = 48}, variant);
  call.values.seqlensK = {48, 33};
  call.pageSize = 16;
  withNothingBehind(device, {call});
}

void offsetsOfThreeSequences(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 50, .seqlenK = 70}, variant);
  packSequences(call, {0, 17, 18, 50}, {0, 33, 40, 70});
  withNothingBehind(device, {call});
}

void keysOffEveryStep(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 2, .headsKv = 1, .seqlenQ = 1, .seqlenK = 257}, variant);
  call.values.alibiSlopes = randomTensor(kF32, {1, 2}, 9);
  withNothingBehind(device, {call});
}

}  // namespace

void registerBoundsCases(const Device& device) {
  fieldCase(device, {140}, "biases_of_any_pitch", {kF16}, biasesOfAnyPitch);
  fieldCase(device, {142}, "masks_end_with_their_memory", {kF16}, masksEndWithTheirMemory);
  fieldCase(device, {143}, "query_counts_off_every_power_of_two", {kF16}, queryCountsOffEveryPowerOfTwo);
  fieldCase(device, {145}, "sinks_of_groups_of_five_end_with_their_memory", {kF32}, sinksOfGroupsOfFive);
  fieldCase(device, {146}, "block_tables_end_with_their_memory", {kF16}, blockTablesWithoutASpareEntry);
  fieldCase(device, {148}, "offsets_end_with_their_memory", {kF16}, offsetsOfThreeSequences);
  fieldCase(device, {149}, "keys_and_slopes_end_with_their_memory", {kF16}, keysOffEveryStep);
}

}  // namespace saccade::conformance
