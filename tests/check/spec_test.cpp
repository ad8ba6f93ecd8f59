// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "check/attention_draw.hpp"
#include "check/attention_sample.hpp"
#include "check/spec_check.hpp"

namespace saccade::check {
namespace {

TEST(Spec, TextAndBackIsTheSameProblem) {
  for (std::uint64_t index = 0; index < 400; ++index) {
    const AttentionSpec spec = drawSpec(7, index);
    ASSERT_EQ(specMistake(spec), "") << formatSpec(spec);
    EXPECT_EQ(parseSpec(formatSpec(spec)), spec) << formatSpec(spec);
  }
  for (const AttentionSpec& spec : shapeSpecs(false)) {
    ASSERT_EQ(specMistake(spec), "") << formatSpec(spec);
    EXPECT_EQ(parseSpec(formatSpec(spec)), spec) << formatSpec(spec);
  }
}

TEST(Spec, EveryOptionIsReadWhereItStands) {
  const AttentionSpec spec = parseSpec(
      "f16,B2,Hq6,Hkv3,Tq4,Tk6,Dqk5,Dv7,causal=top_left,window=2:-1,scale=-0.5,temperature=4,softcap=30,mask="
      "b--k,"
      "bias=bf16:-hq-,alibi=bh,sink,seqlens_q=4/0,seqlens_k=-3/"
      "11,page=3,lse,probs,q=bshd,k=slice,v=padded,out=slice,"
      "keys_first,host_lengths,hidden=nan,nan,data=9");
  EXPECT_EQ(spec.dtype, io::DType::F16);
  EXPECT_EQ(spec.numHeadsQ, 6);
  EXPECT_EQ(spec.numHeadsKv, 3);
  EXPECT_EQ(spec.headDimQk, 5);
  EXPECT_EQ(spec.headDimV, 7);
  EXPECT_EQ(spec.causal, io::Causal::TopLeft);
  EXPECT_EQ(spec.windowLeft, 2);
  EXPECT_EQ(spec.windowRight, -1);
  EXPECT_EQ(spec.softmaxScale, -0.5f);
  EXPECT_EQ(spec.temperature, 4);
  EXPECT_EQ(spec.softcap, 30);
  EXPECT_EQ(spec.mask, (Broadcast{true, false, false, true}));
  EXPECT_EQ(spec.bias, (Broadcast{false, true, true, false}));
  EXPECT_EQ(spec.biasDtype, io::DType::BF16);
  EXPECT_EQ(spec.alibi, Slopes::PerBatchAndHead);
  EXPECT_TRUE(spec.sink && spec.lse && spec.probs && spec.visibleNan);
  EXPECT_EQ(spec.seqlensQ, (std::vector<std::int32_t>{4, 0}));
  EXPECT_EQ(spec.seqlensK, (std::vector<std::int32_t>{-3, 11}));
  EXPECT_EQ(spec.pageSize, 3);
  EXPECT_EQ(spec.layout.q, Layout::TokensFirst);
  EXPECT_EQ(spec.layout.v, Layout::PaddedRows);
  EXPECT_EQ(spec.hidden, Hidden::Nan);
  EXPECT_EQ(spec.data, 9u);
}

TEST(Spec, QuantisedKeysHaveScales) {
  const AttentionSpec spec =
      parseSpec("bf16,B2,Hq2,Hkv2,Tq4,Tk32,Dqk4,Dv4,page=16,kv=f8e4m3,k_scale=b-t,v_scale=-h-,scale_block=8");
  EXPECT_EQ(spec.kvDtype, io::DType::F8_E4M3);
  EXPECT_EQ(spec.kScale, (ScaleAxes{true, false, true}));
  EXPECT_EQ(spec.vScale, (ScaleAxes{false, true, false}));
  EXPECT_EQ(spec.scaleBlock, 8);
  for (const char* wrong : {"f32,k_scale=bht,scale_block=1", "f32,kv=i8,scale_block=1", "f32,kv=i8,k_scale=bht", "f32,kv=u8",
                            "f32,Tk32,page=16,kv=i8,k_scale=bht,scale_block=12"}) {
    EXPECT_THROW(parseSpec(wrong), std::invalid_argument) << wrong;
  }
}

TEST(Spec, MistakesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"", "no dtype"},
      {"f32,Tq", "'Tq'"},
      {"f32,Tq-3", "'Tq-3'"},
      {"f32,Tq99999999999999999999", "number"},
      {"f64", "'f64'"},
      {"f32,mask=bhq", "bhqk"},
      {"f32,bias=f64:bhqk", "f32, f16, bf16"},
      {"f32,window=3", "number"},
      {"f32,causal=left", "top_left"},
      {"f32,B2,seqlens_k=1", "seqlens_k must have B entries"},
      {"f32,B1,Tq4,Tk4,cu_q=0/4", "cu_q and cu_k need each other"},
      {"f32,B2,Tq4,Tk4,cu_q=0/3/2,cu_k=0/2/4", "cu_q must have"},
      {"f32,B1,Tq4,Tk4,cu_q=0/4,cu_k=0/5", "cu_k must have"},
      {"f32,B1,Tq4,Tk4,cu_q=0/4,cu_k=0/4,mask=bhqk", "exclude mask"},
      {"f32,Tk5,page=2", "multiple of the page size"},
      {"f32,Hq3,Hkv2", "multiple of Hkv"},
      {"f32,Dv0", "head dims"},
      {"f32,Tq3,Tk4,packing=qkv", "Tq = Tk"},
      {"f32,B100000,Hq100000,Hkv100000,Tq100000", "larger than a check may be"},
  };
  for (const auto& [text, part] : mistakes) {
    try {
      parseSpec(text);
      ADD_FAILURE() << "no complaint about " << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << text << ": " << error.what();
    }
  }
}

TEST(Spec, AKindRefusesWhatItsPropertyDoesNotHoldFor) {
  EXPECT_EQ(parseSpecCheck("attention/17", 1), nullptr);
  EXPECT_EQ(parseSpecCheck("tea:f32", 1), nullptr);
  EXPECT_THROW(parseSpecCheck("heads:f32,sink", 1), std::invalid_argument);
  EXPECT_THROW(parseSpecCheck("key_count:f32,alibi=h", 1), std::invalid_argument);
  EXPECT_THROW(parseSpecCheck("causality:f32,Q9", 1), std::invalid_argument);
  const auto check = parseSpecCheck("causality:f16,B1,Hq2,Hkv1,Tq3,Tk4,Dqk5,Dv5,causal", 1);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->only(), "causality:f16,B1,Hq2,Hkv1,Tq3,Tk4,Dqk5,Dv5,causal");
}

TEST(Spec, BuiltInPropertiesSuitTheirKinds) {
  std::size_t repeats = 0;
  for (const bool thorough : {false, true}) {
    for (const auto& check : propertyChecks(1, thorough)) {
      const std::string only = check->only(), kind = only.substr(0, only.find(':'));
      EXPECT_EQ(specMistakeFor(kind, parseSpec(only.substr(kind.size() + 1))), "") << only;
      repeats += kind == "repeat1000" ? 1 : 0;
    }
  }
  EXPECT_EQ(repeats, 4u);
}

TEST(Sample, HiddenValuesDifferAndVisibleOnesDoNot) {
  AttentionSpec spec = parseSpec("f32,B2,Hq2,Hkv1,Tq5,Tk6,Dqk4,Dv4,seqlens_k=6/2,hidden=nan");
  const std::vector<double> poisoned = makeSample(spec, 3).problem.k.toDoubles();
  spec.hidden = Hidden::Zero;
  const std::vector<double> zeros = makeSample(spec, 3).problem.k.toDoubles();
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    const bool hidden = i >= (6 + 2) * 4;  // batch entry 1 has two keys
    EXPECT_EQ(hidden, !std::isfinite(poisoned[i])) << i;
    EXPECT_EQ(hidden, zeros[i] == 0) << i;
    EXPECT_TRUE(hidden || zeros[i] == poisoned[i]) << i;
  }
}

TEST(Sample, ABlockTableNamesEachPageOnceAndLeavesThePoolBehindTheLengths) {
  const AttentionSample sample =
      makeSample(parseSpec("f32,B3,Hq1,Hkv1,Tq1,Tk12,Dqk4,Dv4,seqlens_k=12/4/-1,page=3"), 1);
  ASSERT_EQ(sample.pages.maxPages, 4);
  std::vector<int> uses(static_cast<std::size_t>(sample.pages.poolPages));
  for (std::size_t i = 0; i < sample.pages.entries.size(); ++i) {
    const std::int32_t page = sample.pages.entries[i];
    const bool inPool = page >= 0 && page < sample.pages.poolPages;
    EXPECT_EQ(inPool, i < 4 + 2) << i;
    uses[inPool ? static_cast<std::size_t>(page) : 0] += inPool ? 1 : 0;
  }
  EXPECT_LE(*std::max_element(uses.begin(), uses.end()), 1);
}

}  // namespace
}  // namespace saccade::check
