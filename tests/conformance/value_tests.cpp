// SPDX-License-Identifier: Apache-2.0
// Inputs whose result is known without arithmetic: which head, how many keys, one key at any score, constant
// values.
#include <cmath>

#include "attention_call.hpp"

namespace saccade::conformance {
namespace {

constexpr std::int64_t kHeadDim = 16;

io::TensorData constant(io::DType dtype, const io::Shape& shape, float value) {
  return changed(randomTensor(dtype, shape, 1),
                 [&](std::vector<float>& values) { std::fill(values.begin(), values.end(), value); });
}

// V of key/value head g holds g + 1 throughout, so query head h must give floor(h * Hkv / Hq) + 1.
void readsTheHeadOfItsGroup(const Device& device, const Variant& variant, std::int64_t headsQ,
                            std::int64_t headsKv) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = headsQ, .headsKv = headsKv, .seqlenQ = 7, .seqlenK = 19}, variant);
  const std::int64_t perHead = 19 * kHeadDim;
  call.values.v = changed(call.values.v, [&](std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<std::int64_t>(i) / perHead % headsKv + 1);
  });
  const AttentionResults results = execute(device, call);
  for (std::size_t i = 0; i < results.out.elementCount(); ++i) {
    const std::int64_t head = static_cast<std::int64_t>(i) / (7 * kHeadDim) % headsQ;
    ASSERT_NEAR(results.out.at(i), static_cast<double>(head * headsKv / headsQ + 1), 1e-3)
        << "query head " << head;
  }
}

// q of 0 weighs all visible keys alike: out is the mean of their values and lse the logarithm of their
// number.
void countsKeys(const Device& device, AttentionCall call) {
  call.values.q = constant(call.values.q.dtype(), call.values.q.shape(), 0);
  call.values.v = constant(call.values.v.dtype(), call.values.v.shape(), 1);
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  const io::AttentionCase& s = call.values;
  for (std::int64_t row = 0; row < s.batch * s.numHeadsQ * s.seqlenQ; ++row) {
    const std::int64_t i = row % s.seqlenQ;
    std::int64_t count = s.seqlenK;
    if (s.causal == io::Causal::BottomRight) count = std::max<std::int64_t>(0, i + 1 + s.seqlenK - s.seqlenQ);
    if (s.causal == io::Causal::TopLeft) count = std::min(i + 1, s.seqlenK);
    if (count == 0) continue;
    ASSERT_NEAR(results.lse.at(static_cast<std::size_t>(row)), std::log(static_cast<double>(count)),
                2e-6 * 12)
        << "row " << i << " of " << count << " keys";
    ASSERT_NEAR(results.out.at(static_cast<std::size_t>(row * s.headDimV)), 1, 1e-6)
        << "row " << i << " of " << count << " keys";
  }
}

// A single key has weight 1 whatever its score.
void oneKeyGivesItsValue(const Device& device, const Variant& variant, float query, float key) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 5, .seqlenK = 1}, variant);
  call.values.q = constant(variant.dtype, call.values.q.shape(), query);
  call.values.k = constant(variant.dtype, call.values.k.shape(), key);
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

// Equal scores and equal values of 30000: a sum in half precision would be infinite.
void sumsLargeValues(const Device& device, const Variant& variant) {
  for (const std::int64_t keys : {64, 1000}) {
    AttentionCall call = randomCall({.headsQ = 2, .headsKv = 1, .seqlenQ = 3, .seqlenK = keys}, variant);
    call.values.q = constant(variant.dtype, call.values.q.shape(), 0);
    call.values.v = constant(variant.dtype, call.values.v.shape(), 30000);
    const AttentionResults results = execute(device, call);
    const double expected = call.values.v.at(0);
    for (const double value : results.out.toDoubles())
      ASSERT_NEAR(value, expected, expected * 1e-6) << keys << " keys";
  }
}

}  // namespace

void registerValueTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    for (const auto& [headsQ, headsKv] :
         {std::pair{1, 1}, {2, 2}, {4, 2}, {6, 2}, {5, 1}, {12, 2}, {8, 1}, {16, 2}, {12, 1}, {28, 4}}) {
      const std::string heads = std::to_string(headsQ) + "_query_heads_share_" + std::to_string(headsKv);
      registerTest("attention_heads", testName(heads, variant, kHeadDim),
                   [=] {
                     readsTheHeadOfItsGroup(device, variant, headsQ, headsKv);
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
                       countsKeys(device, call);
                       if (testing::Test::HasFailure()) return;
                     }
                   });
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
    registerTest("attention_values", testName("near_the_limit_of_half_are_summed_in_fp32", variant, kHeadDim),
                 [=] { sumsLargeValues(device, variant); });
  }
}

}  // namespace saccade::conformance
