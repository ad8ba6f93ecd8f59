// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "check/attention_sample.hpp"
#include "check/sweep.hpp"
#include "reference/visibility.hpp"

namespace saccade::check {
namespace {

constexpr std::uint32_t kShortSweep = 96;

std::vector<std::byte> bytesOf(const io::TensorData& data) {
  return {data.bytes().begin(), data.bytes().end()};
}

TEST(Sweep, ACheckIsTheSameAloneAsAmongTheOthers) {
  for (const auto& check : sweepChecks(5, 30)) {
    const auto alone = sweepCheck(5, check->name());
    ASSERT_NE(alone, nullptr) << check->name();
    EXPECT_EQ(alone->name(), check->name());
    EXPECT_EQ(alone->description(), check->description());
  }
}

TEST(Sweep, AProblemFollowsFromSeedAndNumber) {
  const AttentionSample one = attentionSample(1, 17), again = attentionSample(1, 17),
                        other = attentionSample(2, 17);
  EXPECT_EQ(bytesOf(one.problem.q), bytesOf(again.problem.q));
  EXPECT_EQ(bytesOf(one.problem.v), bytesOf(again.problem.v));
  EXPECT_EQ(one.description, again.description);
  EXPECT_NE(bytesOf(one.problem.q), bytesOf(other.problem.q));
}

TEST(Sweep, NamesThatNoSweepHasGiveNothing) {
  for (const char* name : {"", "attention", "attention/", "attention/-1", "attention/1x", "attention/ 1",
                           "tea/1", "attention/99999999999999999999999"}) {
    EXPECT_EQ(sweepCheck(1, name), nullptr) << name;
  }
}

TEST(Sweep, AShortSweepHoldsEveryFeatureOfAttention) {
  std::set<std::string> features;
  std::set<std::int64_t> headDims;
  for (std::uint32_t index = 0; index < kShortSweep; ++index) {
    const AttentionSample sample = attentionSample(kDefaultSeed, index);
    const io::AttentionCase& problem = sample.problem;
    const auto add = [&](bool has, const std::string& feature) {
      if (has) {
        features.insert(feature);
      }
    };
    add(true, std::string(io::dtypeName(problem.q.dtype())));
    add(true, "causal " + std::to_string(static_cast<int>(problem.causal)));
    add(true, "packing " + std::to_string(static_cast<int>(sample.packing)));
    add(true, "layout " + std::to_string(static_cast<int>(sample.k)));
    add(problem.mask.has_value(), "mask");
    add(problem.bias.has_value(), "bias");
    add(problem.seqlensQ.has_value(), "seqlens_q");
    add(problem.seqlensK.has_value(), "seqlens_k");
    add(problem.softmaxScale.has_value(), "scale");
    add(problem.temperature != 1, "temperature");
    add(sample.lse, "lse");
    add(sample.probs, "probs");
    add(problem.numHeadsQ > problem.numHeadsKv && problem.numHeadsKv > 1, "grouped heads");
    add(problem.headDimQk != problem.headDimV, "value size");
    add(problem.seqlenQ == 0 || problem.seqlenK == 0, "no tokens");
    headDims.insert(problem.headDimQk);
  }
  const std::set<std::string> wanted = {"F32",       "F16",           "BF16",       "causal 0",    "causal 1",
                                        "causal 2",  "packing 0",     "packing 1",  "packing 2",   "layout 0",
                                        "layout 1",  "layout 2",      "layout 3",   "mask",        "bias",
                                        "seqlens_q", "seqlens_k",     "scale",      "temperature", "lse",
                                        "probs",     "grouped heads", "value size", "no tokens"};
  EXPECT_EQ(features, wanted);
  EXPECT_TRUE(headDims.contains(1));
  EXPECT_TRUE(headDims.contains(256));
}

TEST(Sweep, HiddenKeysHoldNanInManyProblems) {
  int poisoned = 0;
  for (std::uint32_t index = 0; index < kShortSweep; ++index) {
    const std::vector<double> keys = attentionSample(kDefaultSeed, index).problem.k.toDoubles();
    poisoned += std::any_of(keys.begin(), keys.end(), [](double x) { return std::isnan(x); }) ? 1 : 0;
  }
  EXPECT_GT(poisoned, 20);
}

}  // namespace
}  // namespace saccade::check
