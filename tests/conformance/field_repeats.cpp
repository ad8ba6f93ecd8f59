// SPDX-License-Identifier: Apache-2.0
// The same call again: no race, no state left behind, nothing that only works the first time.
#include <algorithm>

#include "check/dtype.hpp"
#include "field_cases.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

// A thousand runs of ten calls, each into an output that holds other bits before.
void repeatsBitForBit(const Device& device, const Variant& variant) {
  constexpr int kRuns = 100;
  constexpr std::int64_t kQueries[] = {1, 2, 3, 7, 8, 16, 31, 33, 63, 64};
  for (const std::int64_t queries : kQueries) {
    AttentionCall call = randomCall(
        {.headsQ = 2, .headsKv = 1, .seqlenQ = queries, .seqlenK = 40},
        variant, static_cast<unsigned>(queries));
    call.values.causal = io::Causal::BottomRight;
    PreparedCall prepared = prepare(device, call);
    Stream stream(device);
    const auto run = [&] {
      stream.fill(prepared.out, -7);
      stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
      stream.wait();
      return prepared.out.downloadBytes();
    };
    const std::vector<std::byte> first = run();
    expectRight(call, downloadResults(prepared), std::to_string(queries) + " queries");
    for (int i = 1; i < kRuns; ++i) ASSERT_EQ(run(), first) << queries << " queries, run " << i;
  }
}

// A thousand identical calls in flight at once, in ten submissions: each writes an output of its own.
void repeatsInFlightBitForBit(const Device& device, const Variant& variant) {
  constexpr std::int64_t kCalls = 1000;
  const AttentionCall call = randomCall({.seqlenQ = 9, .seqlenK = 21}, variant);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  prepared.options.lse = {};
  const Tensor outs =
      Tensor::empty(device, check::deviceDtype(variant.dtype), {kCalls, 1, 9, 16}, {.guard = true});
  Stream stream(device);
  for (std::int64_t i = 0; i < kCalls; ++i) {
    stream.attention(prepared.q, prepared.k, prepared.v, outs.slice(0, i, i + 1), prepared.options);
    if (i % 100 == 99) stream.submit();
  }
  stream.wait();
  const std::vector<std::byte> bytes = outs.downloadBytes();
  const std::size_t size = expected.out.bytes().size();
  for (std::size_t i = 0; i < kCalls; ++i)
    ASSERT_TRUE(std::equal(expected.out.bytes().begin(), expected.out.bytes().end(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(i * size)))
        << "call " << i;
  EXPECT_TRUE(outs.guardsIntact());
}

// The last keys of a tail are hidden by a mask, and a row by a bias: -inf must mean what it means.
void infinitiesSurviveTheCompiler(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 5, .seqlenK = 33}, variant);
  call.values.mask =
      tensorOf(io::DType::U8, {1, 1, 5, 33}, [](auto, auto, auto i, auto j) { return i != 2 && j < 31; });
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  EXPECT_EQ(results.lse.at(2), -kInfinity);
}

// Two calls of one submission, 32768 keys, each with its own scale.
void scalesOfCallsBackToBack(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 32768}, variant), other = call;
  call.values.softmaxScale = 0.25;
  other.values.softmaxScale = 1.5;
  PreparedCall first = prepare(device, call), second = prepare(device, other);
  Stream stream(device);
  stream.attention(first.q, first.k, first.v, first.out, first.options);
  stream.attention(second.q, second.k, second.v, second.out, second.options);
  stream.wait();
  expectRight(call, downloadResults(first), "first");
  expectRight(other, downloadResults(second), "second");
}

void selfAttention(const Device& device, const Variant& variant) {
  checkCall(device,
            randomCall({.batch = 2, .headsQ = 4, .headsKv = 4, .seqlenQ = 50, .seqlenK = 50}, variant));
}

// Two requests after each other, each on a stream of its own, by the kernel that the caller named.
void twoRequests(const Device& device, const Variant& variant) {
  for (const unsigned seed : {1u, 2u}) {
    const AttentionCall call =
        randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 30, .seqlenK = 70}, variant, seed);
    PreparedCall prepared = prepare(device, call);
    Stream stream(device);
    const PlanPtr plan = stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
    EXPECT_EQ(std::string(plan->info().kernel), variant.kernel);
    stream.wait();
    expectRight(call, downloadResults(prepared), "request " + std::to_string(seed));
  }
}

// The same call twice is the same to the bit, and a probability below 0 is refused.
void theSameTwiceAndNoNegativeDropout(const Device& device, const Variant& variant) {
  const AttentionCall call =
      randomCall({.batch = 2, .headsQ = 8, .headsKv = 8, .seqlenQ = 128, .seqlenK = 128}, variant);
  expectSameBits(execute(device, call), execute(device, call), "the same call twice");
  PreparedCall prepared = prepare(device, call);
  prepared.options.dropout = -0.1f;
  try {
    execute(device, prepared);
    ADD_FAILURE() << "a dropout below 0 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "dropout") << error.what();
    EXPECT_EQ(error.status(), Status::InvalidArgument);
  }
}

}  // namespace

void registerRepeatCases(const Device& device) {
  fieldCase(device, {227}, "the_same_twice_and_no_negative_dropout", {kF32},
            theSameTwiceAndNoNegativeDropout);
  fieldCase(device, {230}, "a_thousand_runs_are_bit_identical", {kF32, kF16, kBf16}, repeatsBitForBit);
  fieldCase(device, {233}, "infinities_survive_the_compiler", {kF32, kF16}, infinitiesSurviveTheCompiler);
  fieldCase(device, {235}, "two_scales_back_to_back", {kF16}, scalesOfCallsBackToBack);
  fieldCase(device, {236}, "a_thousand_calls_in_flight_are_bit_identical", {kF16, kBf16},
            repeatsInFlightBitForBit);
  fieldCase(device, {238, 242}, "self_attention_without_a_cache", {kF32, kF16}, selfAttention);
  fieldCase(device, {239}, "two_requests_by_a_named_kernel", {kF16}, twoRequests);
}

}  // namespace saccade::conformance
