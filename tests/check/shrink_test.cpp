// SPDX-License-Identifier: Apache-2.0
// Shrinking with made-up faults: no device takes part.
#include "check/shrink.hpp"

#include <gtest/gtest.h>

#include "check/attention_draw.hpp"

namespace saccade::check {
namespace {

constexpr const char* kLarge =
    "f16,B3,Hq12,Hkv2,Tq129,Tk255,Dqk64,Dv64,causal,window=40:7,softcap=30,mask=bhqk,bias=f16:b-qk,alibi=bh,"
    "sink,"
    "seqlens_q=129/40/7,seqlens_k=255/100/33,lse,probs,q=slice,k=padded,v=slice,out=bshd,hidden=nan,data=5";

std::string shrunkText(const std::string& from, const std::function<bool(const AttentionSpec&)>& fails) {
  const std::optional<Shrunk> shrunk = shrinkSpec(parseSpec(from), fails);
  return shrunk ? formatSpec(shrunk->spec) : "nothing smaller";
}

TEST(Shrink, LeavesWhatAFaultNeedsAndNothingElse) {
  EXPECT_EQ(shrunkText(kLarge, [](const AttentionSpec& s) { return s.seqlenK > 64 && s.sink; }),
            "f32,B1,Hq1,Hkv1,Tq1,Tk65,Dqk1,Dv1,sink");
  EXPECT_EQ(shrunkText(kLarge, [](const AttentionSpec& s) { return s.mask && s.headDimV > 32; }),
            "f32,B1,Hq1,Hkv1,Tq1,Tk1,Dqk1,Dv33,mask=----");
  EXPECT_EQ(shrunkText(kLarge,
                       [](const AttentionSpec& s) {
                         return s.dtype == io::DType::F16 && s.numHeadsQ / s.numHeadsKv > 1 &&
                                s.windowRight >= 0;
                       }),
            "f16,B1,Hq2,Hkv1,Tq1,Tk1,Dqk1,Dv1,window=-1:7");
}

TEST(Shrink, KeepsLengthsAndPagesInStep) {
  EXPECT_EQ(shrunkText("f32,B3,Hq2,Hkv1,Tq9,Tk48,Dqk8,Dv8,seqlens_k=48/0/17,page=16,lse",
                       [](const AttentionSpec& s) {
                         return s.pageSize > 0 && s.seqlensK && s.seqlensK->back() > 0;
                       }),
            "f32,B1,Hq1,Hkv1,Tq1,Tk16,Dqk1,Dv1,seqlens_k=1,page=16");
  EXPECT_EQ(shrunkText("bf16,B3,Hq2,Hkv1,Tq30,Tk40,Dqk8,Dv8,causal,cu_q=0/7/7/28,cu_k=0/19/24/40,lse",
                       [](const AttentionSpec& s) { return s.packed() && s.cuSeqlensQ->back() < s.seqlenQ; }),
            "f32,B1,Hq1,Hkv1,Tq1,Tk1,Dqk1,Dv1,cu_q=0/0,cu_k=0/0");
}

TEST(Shrink, OnlyProposesProblemsThatFitTogether) {
  for (std::uint64_t index = 0; index < 60; ++index) {
    shrinkSpec(drawSpec(3, index), [](const AttentionSpec& s) {
      EXPECT_EQ(specMistake(s), "") << formatSpec(s);
      return (s.seqlenQ + s.headDimV) % 3 != 0;
    });
  }
}

TEST(Shrink, StopsAtItsLimits) {
  unsigned calls = 0;
  const auto fails = [&](const AttentionSpec&) {
    ++calls;
    return true;
  };
  const auto shrunk =
      shrinkSpec(parseSpec(kLarge), fails, {.tries = 7, .time = std::chrono::milliseconds(60000)});
  EXPECT_EQ(calls, 7u);
  EXPECT_EQ(shrunk->tries, 7u);
  EXPECT_FALSE(
      shrinkSpec(parseSpec(kLarge), fails, {.tries = 7, .time = std::chrono::milliseconds(0)}).has_value());
  EXPECT_FALSE(shrinkSpec(parseSpec(kLarge), [](const AttentionSpec&) { return false; }).has_value());
}

}  // namespace
}  // namespace saccade::check
