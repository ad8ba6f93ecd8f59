// SPDX-License-Identifier: Apache-2.0
// A key that a row may not see has no influence, whatever it holds: checked bit by bit, for every row and
// some keys.
#include <cmath>
#include <limits>

#include "attention_call.hpp"
#include "reference/visibility.hpp"

namespace saccade::conformance {
namespace {

constexpr std::int64_t kHeadDim = 16;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool allNan(const io::TensorData& tensor, std::int64_t row, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) {
    if (!std::isnan(tensor.at(static_cast<std::size_t>(row * width + c)))) return false;
  }
  return true;
}

// Changes key `key` of every batch entry and looks at every row: one that may not see it is as before, to the
// bit; one that sees a NaN is NaN.
void perturb(const Device& device, const AttentionCall& call, const AttentionResults& before,
             std::int64_t key, float value) {
  AttentionCall changedCall = call;
  changedCall.values.k = withRows(call.values.k, -1, key, key + 1, value);
  changedCall.values.v = withRows(call.values.v, -1, key, key + 1, value);
  const AttentionResults after = execute(device, changedCall);
  const reference::OwnedProblem owned = reference::problemFromCase(call.values);
  const io::AttentionCase& s = call.values;
  for (std::int64_t row = 0; row < s.batch * s.numHeadsQ * s.seqlenQ; ++row) {
    const std::int64_t i = row % s.seqlenQ, h = row / s.seqlenQ % s.numHeadsQ,
                       b = row / s.seqlenQ / s.numHeadsQ;
    const auto where = [&] {
      return ::testing::Message() << "batch " << b << " head " << h << " row " << i << " with key " << key
                                  << " set to " << value;
    };
    if (!reference::isVisible(owned.problem, b, h, i, key)) {
      EXPECT_TRUE(sameRow(after.out, before.out, row, s.headDimV)) << where() << ": out changed";
      EXPECT_TRUE(sameRow(after.lse, before.lse, row, 1)) << where() << ": lse changed";
      if (call.probs) {
        EXPECT_TRUE(sameRow(after.probs, before.probs, row, s.seqlenK)) << where() << ": probs changed";
      }
    } else if (std::isnan(value)) {
      EXPECT_TRUE(allNan(after.out, row, s.headDimV)) << where() << ": a visible NaN was lost";
      EXPECT_TRUE(allNan(after.lse, row, 1)) << where() << ": lse lost a visible NaN";
    }
    if (testing::Test::HasFailure()) return;  // one row says enough
  }
}

void probeKeys(const Device& device, const AttentionCall& call) {
  const AttentionResults before = execute(device, call);
  expectRight(call, before);
  for (const std::int64_t key : {0, 1, 15, 16, 31, 32, 33, 47, 63, 64, 69}) {
    if (key >= call.values.seqlenK) continue;
    for (const float value : {kNan, kInfinity, 100.0f}) perturb(device, call, before, key, value);
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
