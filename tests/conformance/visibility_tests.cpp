// SPDX-License-Identifier: Apache-2.0
// A key that a row may not see has no influence, whatever it holds: checked bit by bit, for every row and
// some keys.

#include "io/special_values.hpp"
#include "probes.hpp"

namespace saccade::conformance {
namespace {

void probeKeys(const Device& device, const AttentionCall& call) {
  const AttentionResults before = execute(device, call);
  expectRight(call, before);
  for (const std::int64_t key : {0, 1, 15, 16, 31, 32, 33, 47, 63, 64, 69}) {
    if (key >= call.values.seqlenK) continue;
    for (const float value : {kNan, kInfinity, 100.0f}) probeKey(device, call, before, key, value);
  }
}

AttentionCall causalCall(const Variant& variant, io::Causal causal, std::int64_t seqlenQ,
                         std::int64_t seqlenK) {
  AttentionCall call = randomCall({.headsQ = 2, .seqlenQ = seqlenQ, .seqlenK = seqlenK}, variant);
  call.values.causal = causal;
  return call;
}

}  // namespace

void registerVisibilityTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    for (const auto& [causal, name] :
         {std::pair{io::Causal::BottomRight, "bottom_right"}, {io::Causal::TopLeft, "top_left"}}) {
      registerTest("attention_causality",
                   testName(std::string(name) + "_hides_later_keys", variant, kHeadDim),
                   [=] { probeKeys(device, causalCall(variant, causal, 37, 70)); });
      registerTest("attention_causality",
                   testName(std::string(name) + "_with_more_queries_than_keys", variant, kHeadDim),
                   [=] { probeKeys(device, causalCall(variant, causal, 45, 20)); });
    }
    registerTest(
        "attention_causality", testName("follows_the_lengths_of_each_entry", variant, kHeadDim), [=] {
          AttentionCall call =
              randomCall({.batch = 3, .headsQ = 2, .headsKv = 2, .seqlenQ = 37, .seqlenK = 70}, variant);
          call.values.causal = io::Causal::BottomRight;
          call.values.seqlensQ = {37, 20, 5};
          call.values.seqlensK = {65, 31, 70};
          probeKeys(device, call);
        });
    registerTest("attention_mask", testName("hides_keys_row_by_row", variant, kHeadDim), [=] {
      AttentionCall call =
          randomCall({.batch = 2, .headsQ = 2, .headsKv = 1, .seqlenQ = 37, .seqlenK = 70}, variant);
      call.values.mask = randomMask({2, 2, 37, 70}, 7);
      call.probs = true;
      probeKeys(device, call);
    });
    registerTest("attention_bias", testName("of_minus_infinity_hides_keys", variant, kHeadDim), [=] {
      AttentionCall call =
          randomCall({.batch = 1, .headsQ = 2, .headsKv = 2, .seqlenQ = 37, .seqlenK = 70}, variant);
      call.values.bias =
          changed(randomTensor(variant.dtype, {1, 1, 37, 70}, 8), [](std::vector<float>& values) {
            for (std::size_t i = 0; i < values.size(); i += 3) values[i] = -kInfinity;
          });
      probeKeys(device, call);
    });
  }
}

}  // namespace saccade::conformance
