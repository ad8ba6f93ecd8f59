// SPDX-License-Identifier: Apache-2.0
// The same call gives the same bits: again and again, beside others, and from several threads that share one
// plan.
#include <memory>
#include <thread>

#include "attention_call.hpp"
#include "check/dtype.hpp"

namespace saccade::conformance {
namespace {

constexpr std::int64_t kRecordingHeadDim = 64;

AttentionCall someCall(const Variant& variant, unsigned seed = 1) {
  AttentionCall call = randomCall({.batch = 1,
                                   .headsQ = 2,
                                   .headsKv = 1,
                                   .seqlenQ = 65,
                                   .seqlenK = 129,
                                   .headDimQk = kRecordingHeadDim,
                                   .headDimV = kRecordingHeadDim},
                                  variant, seed);
  call.values.causal = io::Causal::BottomRight;
  return call;
}

void repeatsBitForBit(const Device& device, const Variant& variant) {
  const AttentionCall call = someCall(variant);
  const AttentionResults first = execute(device, call);
  PreparedCall prepared = prepare(device, call);
  Stream stream(device);
  for (int i = 0; i < 50; ++i) {
    stream.fill(prepared.out, -7);
    stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
    stream.wait();
    expectSameBits(downloadResults(prepared), first, "run " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

// Eight calls of one submission, each with its own output and scale, on the same inputs.
void callsBesideEachOtherAgree(const Device& device, const Variant& variant) {
  constexpr int kCalls = 8;
  std::vector<std::unique_ptr<PreparedCall>> together;
  std::vector<AttentionResults> alone;
  Stream stream(device);
  for (int i = 0; i < kCalls; ++i) {
    AttentionCall call = someCall(variant);
    call.values.softmaxScale = 0.05 * (i + 1);
    alone.push_back(execute(device, call));
    together.push_back(std::make_unique<PreparedCall>(prepare(device, call)));
  }
  for (const auto& prepared : together)
    stream.attention(prepared->q, prepared->k, prepared->v, prepared->out, prepared->options);
  stream.wait();
  for (int i = 0; i < kCalls; ++i) {
    const auto index = static_cast<std::size_t>(i);
    expectSameBits(downloadResults(*together[index]), alone[index], "call " + std::to_string(i));
  }
}

// The output of one call is the query of the next, in one submission.
void aCallSeesWhatTheOneBeforeItWrote(const Device& device, const Variant& variant) {
  AttentionCall call = someCall(variant);
  call.values.seqlenK = 65;
  const io::Shape keys = {1, 1, 65, kRecordingHeadDim};
  call.values.k = randomTensor(variant.dtype, keys, 31);
  call.values.v = randomTensor(variant.dtype, keys, 32);
  AttentionCall stepByStep = call;
  AttentionResults expected;
  for (int i = 0; i < 4; ++i) {
    expected = execute(device, stepByStep);
    stepByStep.values.q = expected.out;
  }
  PreparedCall prepared = prepare(device, call);
  const Tensor other = prepared.tensors.output("other", check::deviceDtype(variant.dtype), prepared.outShape);
  Stream stream(device);
  stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
  stream.attention(prepared.out, prepared.k, prepared.v, other, prepared.options);
  stream.attention(other, prepared.k, prepared.v, prepared.out, prepared.options);
  stream.attention(prepared.out, prepared.k, prepared.v, other, prepared.options);
  stream.wait();
  prepared.out = other;
  expectSameBits(downloadResults(prepared), expected, "fourth of four chained calls");
}

void threadsShareOnePlan(const Device& device, const Variant& variant) {
  constexpr unsigned kThreads = 4;
  std::vector<AttentionResults> expected, got(kThreads);
  std::vector<std::unique_ptr<PreparedCall>> prepared;
  for (unsigned t = 0; t < kThreads; ++t) {
    const AttentionCall call = someCall(variant, t + 1);
    expected.push_back(execute(device, call));
    prepared.push_back(std::make_unique<PreparedCall>(prepare(device, call)));
  }
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Stream stream(device);
        PreparedCall& own = *prepared[t];
        for (int i = 0; i < 10; ++i) {
          stream.attention(own.q, own.k, own.v, own.out, own.options);
          stream.submit();
        }
        stream.wait();
      });
    }
  }
  for (unsigned t = 0; t < kThreads; ++t)
    expectSameBits(downloadResults(*prepared[t]), expected[t], "thread " + std::to_string(t));
}

}  // namespace

void registerRecordingTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    const auto add = [&](const char* name, void (*test)(const Device&, const Variant&)) {
      registerTest("attention_recording", testName(name, variant, kRecordingHeadDim), [=] { test(device, variant); });
    };
    add("repeats_bit_for_bit", repeatsBitForBit);
    add("calls_beside_each_other_agree", callsBesideEachOtherAgree);
    add("a_call_sees_what_the_one_before_it_wrote", aCallSeesWhatTheOneBeforeItWrote);
    add("threads_share_one_plan", threadsShareOnePlan);
  }
}

}  // namespace saccade::conformance
