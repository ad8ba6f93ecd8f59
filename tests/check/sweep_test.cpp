// SPDX-License-Identifier: Apache-2.0
#include "check/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "check/attention_draw.hpp"
#include "check/attention_sample.hpp"

namespace saccade::check {
namespace {

constexpr std::uint32_t kShortSweep = 128;  // what `saccade verify` runs by default

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
  const AttentionSpec spec = drawSpec(1, 17);
  EXPECT_EQ(spec, drawSpec(1, 17));
  EXPECT_NE(spec, drawSpec(2, 17));
  const AttentionSample one = makeSample(spec, 1), again = makeSample(spec, 1), other = makeSample(spec, 2);
  EXPECT_EQ(bytesOf(one.problem.q), bytesOf(again.problem.q));
  EXPECT_EQ(bytesOf(one.problem.v), bytesOf(again.problem.v));
  EXPECT_NE(bytesOf(one.problem.q), bytesOf(other.problem.q));
}

TEST(Sweep, ALimitMakesTheSizesOfOtherOperatorsSmaller) {
  for (const char* name : {"matmul/", "layer_norm/", "softmax/", "activation/", "patch_embed/"}) {
    for (int index = 0; index < 20; ++index) {
      const std::string text = name + std::to_string(index), limited = text + "@1";
      EXPECT_EQ(sweepCheck(1, limited)->name(), limited);
      EXPECT_EQ(sweepCheck(1, text + "@5000")->description(), sweepCheck(1, text)->description());
    }
    EXPECT_NE(sweepCheck(1, std::string(name) + "3@1")->description(),
              sweepCheck(1, std::string(name) + "3")->description());
  }
}

TEST(Sweep, NamesThatNoSweepHasGiveNothing) {
  for (const char* name : {"", "attention", "attention/", "attention/-1", "attention/1x", "attention/ 1",
                           "tea/1", "attention/99999999999999999999999", "attention/1@8", "matmul/1@",
                           "matmul/1@0", "matmul/1@-3", "matmul/@8"}) {
    EXPECT_EQ(sweepCheck(1, name), nullptr) << name;
  }
}

// Options that a problem has, by name.
std::set<std::string> featuresOf(const AttentionSpec& s) {
  std::set<std::string> features;
  const auto add = [&](bool has, const char* feature) {
    if (has) {
      features.insert(feature);
    }
  };
  add(s.dtype == io::DType::F32, "f32");
  add(s.dtype == io::DType::F16, "f16");
  add(s.dtype == io::DType::BF16, "bf16");
  add(s.causal == io::Causal::BottomRight, "causal");
  add(s.causal == io::Causal::TopLeft, "causal=top_left");
  add(s.windowLeft >= 0, "window left");
  add(s.windowRight >= 0, "window right");
  add(s.softcap > 0, "softcap");
  add(s.mask.has_value(), "mask");
  add(s.bias.has_value(), "bias");
  add(s.alibi != Slopes::None, "alibi");
  add(s.sink, "sink");
  add(s.seqlensQ.has_value(), "seqlens_q");
  add(s.seqlensK.has_value(), "seqlens_k");
  add(s.packed(), "packed");
  add(s.pageSize > 0, "paged");
  add(s.lse, "lse");
  add(s.probs, "probs");
  add(s.softmaxScale.has_value(), "scale");
  add(s.temperature != 1, "temperature");
  add(s.numHeadsQ > s.numHeadsKv && s.numHeadsKv > 1, "grouped heads");
  add(s.headDimQk != s.headDimV, "value size");
  add(s.layout.packing == Packing::Qkv, "packed qkv");
  add(s.layout.packing == Packing::SharedKv, "shared kv");
  add(s.layout.packing == Packing::InterleavedKv, "interleaved kv");
  add(s.hidden == Hidden::Nan, "hidden nan");
  add(s.visibleNan, "visible nan");
  add(s.seqlenQ == 0 || s.seqlenK == 0, "no tokens");
  return features;
}

TEST(Sweep, AShortSweepHoldsEveryFeatureAndMostPairs) {
  std::set<std::string> features;
  std::set<std::pair<std::string, std::string>> pairs;
  for (std::uint32_t index = 0; index < kShortSweep; ++index) {
    const std::set<std::string> some = featuresOf(drawSpec(kDefaultSeed, index));
    features.insert(some.begin(), some.end());
    for (const std::string& a : some) {
      for (const std::string& b : some) {
        pairs.emplace(a, b);
      }
    }
  }
  EXPECT_EQ(features.size(), 28u) << testing::PrintToString(features);
  const char* const composing[] = {"causal", "window left", "window right", "softcap",
                                   "alibi",  "sink",        "paged",        "lse"};
  for (const char* a : composing) {
    for (const char* b : composing) {
      EXPECT_TRUE(pairs.contains({a, b})) << a << " with " << b;
    }
    for (const char* b :
         {"f32", "f16", "bf16", "packed", "mask", "bias", "seqlens_q", "seqlens_k", "probs"}) {
      EXPECT_TRUE(pairs.contains({a, b})) << a << " with " << b;
    }
  }
}

TEST(Sweep, HiddenKeysHoldNanInManyProblems) {
  int poisoned = 0;
  for (std::uint32_t index = 0; index < kShortSweep; ++index) {
    const std::vector<double> keys = makeSample(drawSpec(kDefaultSeed, index), 1).problem.k.toDoubles();
    poisoned += std::any_of(keys.begin(), keys.end(), [](double x) { return std::isnan(x); }) ? 1 : 0;
  }
  EXPECT_GT(poisoned, 30);
}

TEST(Shapes, EveryPairOfTokenCountsAndEveryHeadDimWithEveryGroup) {
  std::set<std::array<std::int64_t, 2>> tokens, heads, withDims;
  for (const AttentionSpec& spec : shapeSpecs(false)) {
    const std::int64_t group = spec.numHeadsQ / spec.numHeadsKv;
    tokens.insert({spec.seqlenQ, spec.seqlenK});
    heads.insert({spec.headDimQk, group});
    withDims.insert({spec.headDimQk, spec.seqlenK});
  }
  EXPECT_GE(tokens.size(), 18u * 18u - 30);  // pages round some up
  EXPECT_EQ(heads.size(), 16u * 6u);
  EXPECT_GE(withDims.size(), 16u * 18u * 8 / 10);
}

TEST(Shapes, ThoroughHasEveryHeadDimWithEveryPairOfTokenCounts) {
  EXPECT_EQ(shapeSpecs(true).size(), 16u * 18u * 18u);
}

}  // namespace
}  // namespace saccade::check
