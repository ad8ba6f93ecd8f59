// SPDX-License-Identifier: Apache-2.0
// Inputs whose result is known without arithmetic: which head, how many keys, one key at any score, constant
// values.
#include <cmath>

#include "io/special_values.hpp"
#include "probes.hpp"

namespace saccade::conformance {
namespace {

// A single key has weight 1 whatever its score.
void oneKeyGivesItsValue(const Device& device, const Variant& variant, float query, float key) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 5, .seqlenK = 1}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), query);
  call.values.k = constantTensor(variant.dtype, call.values.k.shape(), key);
  const AttentionResults results = execute(device, call);
  const double score = 4.0 * call.values.q.at(0) * call.values.k.at(0);  // 16 channels over a root of 16
  const std::size_t perHead = 5 * kHeadDim;
  for (std::size_t i = 0; i < results.out.elementCount(); ++i) {
    const std::size_t head = i / perHead;  // of both batch entries; two query heads share a key/value head
    ASSERT_EQ(results.out.at(i), call.values.v.at(head / 2 * kHeadDim + i % kHeadDim)) << "score " << score;
  }
  for (const double lse : results.lse.toDoubles())
    ASSERT_NEAR(lse, score, 2e-6 * std::max(1.0, std::abs(score)));
}

// Scores that rise far, again and again: whatever a kernel subtracts from them has to move with them. Or they stay far below 0, and
// those of the first `unseen` keys are -inf, so that no row sees these although no mask hides them.
void scoresFarFromZero(const Device& device, const Variant& variant, std::int64_t unseen) {
  AttentionCall call = randomCall({.headsQ = 2, .headsKv = 1, .seqlenQ = 20, .seqlenK = 150}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0.5f);
  call.values.k = tensorOf(variant.dtype, call.values.k.shape(), [&](auto, auto, auto j, auto d) {
    if (j < unseen && d == 0) return -kInfinity;
    const float base = unseen == 0 ? static_cast<float>(j / 16) * 4.0f - 16.0f : -40.0f;
    return base + static_cast<float>(j * 7 % 5) * 0.125f;
  });
  checkCall(device, call);
}

}  // namespace

void registerValueTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    for (const auto& [headsQ, headsKv] :
         {std::pair{1, 1}, {2, 2}, {6, 2}, {5, 1}, {8, 1}, {16, 2}, {12, 1}}) {
      const std::string heads = std::to_string(headsQ) + "_query_heads_share_" + std::to_string(headsKv);
      registerTest("attention_heads", testName(heads, variant, kHeadDim),
                   [=] {
                     probeHeads(device, variant, headsQ, headsKv);
                   });
    }
    for (const auto& [causal, name] : {std::pair{io::Causal::None, "all"},
                                       {io::Causal::BottomRight, "bottom_right"},
                                       {io::Causal::TopLeft, "top_left"}}) {
      registerTest("attention_key_count",
                   testName(std::string("counts_") + name + "_keys", variant, kHeadDim),
                   [=] {
                     for (const std::int64_t keys : {1, 7, 8, 9, 16, 31, 33, 64, 65, 70, 129, 257}) {
                       AttentionCall call =
                           randomCall({.headsQ = 2, .headsKv = 1, .seqlenQ = 20, .seqlenK = keys}, variant);
                       call.values.causal = causal;
                       probeKeyCount(device, call);
                       if (testing::Test::HasFailure()) return;
                     }
                   });
    }
    for (const std::int64_t unseen : {0, 33}) {
      const std::string name = unseen == 0 ? "with_scores_that_rise_far" : "with_low_scores_behind_those_of_minus_infinity";
      registerTest("attention_values", testName(name, variant, kHeadDim), [=] { scoresFarFromZero(device, variant, unseen); });
    }
    registerTest("attention_values", testName("of_one_key_come_through_at_any_score", variant, kHeadDim),
                 [=] {
                   for (const auto& [query, key] : {std::pair{0.0f, 0.0f},
                                                    {1.0f, 1.0f},
                                                    {200.0f, 200.0f},
                                                    {200.0f, -200.0f},
                                                    {3e4f, 3e4f},
                                                    {3e4f, -3e4f}}) {
                     oneKeyGivesItsValue(device, variant, query, key);
                   }
                 });
  }
}

}  // namespace saccade::conformance
