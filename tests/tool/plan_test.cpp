// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;

TEST(Plan, SaysWhatWouldRun) {
  const ProgramResult result = saccade(
      {"plan",       "--json",       "--batch",    "2",           "--heads",    "12", "--kv-heads",   "4",
       "--seqlen-q", "197",          "--seqlen-k", "300",         "--head-dim", "64", "--head-dim-v", "32",
       "--causal",   "bottom_right", "--kernel",   "scalar_tiled"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json plan = json::parse(result.out);
  EXPECT_EQ(plan["operator"], "attention");
  EXPECT_EQ(plan["kernel"], "scalar_tiled");
  EXPECT_TRUE(contains(plan["label"].get<std::string>(), "B2 Hq12 Hkv4 Tq197 Tk300 Dqk64 Dv32"));
  EXPECT_GT(plan["flops"].get<double>(), 0);
  EXPECT_GT(plan["bytes"].get<double>(), 0);
  EXPECT_GE(plan["dispatches"].get<int>(), 1);
}

TEST(Plan, TakesEveryOptionOfAttention) {
  const ProgramResult result = saccade({"plan", "--json", "--heads", "4", "--kv-heads", "2", "--seqlen-q", "9", "--seqlen-k", "100",
                                        "--sequences", "3", "--page-size", "16", "--window-left", "20", "--softcap", "30",
                                        "--alibi", "--sink"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const std::string label = json::parse(result.out)["label"];
  EXPECT_TRUE(contains(label, "B3 Hq4 Hkv2 Tq9 Tk112")) << label;
  EXPECT_TRUE(contains(label, "window(20,-1) softcap 30 alibi sink packed paged(16)")) << label;
}

TEST(Plan, GivesAReasonForEveryVariant) {
  const ProgramResult result = saccade({"plan"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  for (const char* text : {"scalar_rows: ", "scalar_tiled: ", ": chosen: ", ": not taken: "}) {
    EXPECT_TRUE(contains(result.out, text));
  }
}

TEST(Plan, KnowsTheOtherOperators) {
  for (const char* op : {"matmul", "layer_norm", "softmax", "activation", "patch_embed"}) {
    const ProgramResult result = saccade({"plan", "--json", "--operator", op});
    ASSERT_EQ(result.exitCode, 0) << op << result.err;
    EXPECT_EQ(json::parse(result.out)["operator"], op);
  }
}

TEST(Plan, RefusesWhatCannotBeAndNamesTheField) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals = {
      {{"--head-dim", "0"}, "head_dim_qk"},
      {{"--head-dim", "257"}, "head_dim_qk"},
      {{"--head-dim-v", "0"}, "head_dim_v"},
      {{"--head-dim-v", "257"}, "head_dim_v"},
      {{"--heads", "6", "--kv-heads", "4"}, "num_heads"},
      {{"--seqlen-q", "-1"}, "q.sizes"},
      {{"--softmax-scale", "nan"}, "softmax_scale"},
      {{"--softmax-scale", "inf"}, "softmax_scale"},
      {{"--temperature", "-1"}, "temperature"},
      {{"--temperature", "0"}, "temperature"},
      {{"--batch", "1048576", "--seqlen-q", "65536"}, "sizes"},
      {{"--window-left", "-3"}, "window_left"},
      {{"--softcap", "-30"}, "softcap"},
      {{"--sequences", "4", "--mask"}, "mask"},
      {{"--kernel", "warp_speed"}, "warp_speed"},
      {{"--operator", "patch_embed", "--image-size", "225"}, "image"},
      {{"--operator", "patch_embed", "--patch-size", "0"}, "patch"},
  };
  for (const auto& [arguments, field] : refusals) {
    std::vector<std::string> all = {"plan"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProgramResult result = saccade(all);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(all) << result.out;
    EXPECT_TRUE(contains(result.err, "saccade: error: "));
    EXPECT_TRUE(contains(result.err, field)) << testing::PrintToString(all);
  }
}

}  // namespace
}  // namespace saccade::test
