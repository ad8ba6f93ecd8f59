// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "program.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;

const json& kernelOf(const json& report, const std::string& name) {
  for (const json& kernel : report["kernels"]) {
    if (kernel["name"] == name) return kernel;
  }
  throw std::out_of_range(name);
}

TEST(Kernels, ListsEveryKernelWithItsNeedsDtypesAndTile) {
  const ProgramResult result = saccade({"kernels", "--json", "--dtype", "f32", "--head-dim", "100"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["dtype"], "f32");
  EXPECT_EQ(report["head_dim"], 100);
  std::set<std::string> operators;
  for (const json& kernel : report["kernels"]) {
    operators.insert(kernel["operator"].get<std::string>());
    EXPECT_FALSE(kernel.contains("statistics"));
    ASSERT_EQ(kernel["dtypes"].size(), 3u) << kernel;
    for (const json& dtype : kernel["dtypes"]) {
      // It runs in one form or says why not.
      EXPECT_NE(dtype["form"].is_null(), dtype["refusal"].get<std::string>().empty()) << kernel;
      if (!kernel["supported"].get<bool>()) {
        EXPECT_EQ(dtype["refusal"], kernel["reason"]);
      }
    }
  }
  EXPECT_EQ(operators, (std::set<std::string>{"activation", "attention", "layer_norm", "matmul", "patch_embed", "softmax"}));
  EXPECT_EQ(kernelOf(report, "scalar_rows")["needs"], "");
  EXPECT_TRUE(contains(kernelOf(report, "scalar_tiled")["needs"], "128 invocations"));
  EXPECT_EQ(kernelOf(report, "combine")["selectable"], false);
}

TEST(Kernels, TheBuiltInTileIsThatOfPlans) {
  const json report = json::parse(saccade({"kernels", "--json", "--kernel", "scalar_tiled", "--dtype", "bf16"}).out);
  ASSERT_EQ(report["kernels"].size(), 1u);
  std::string tile = "scalar_tiled";
  for (const json& field : report["kernels"][0]["tile"]) {
    tile += " " + field["name"].get<std::string>() + "=" + field["built_in"].dump();
    EXPECT_LE(field["least"], field["built_in"]);
    EXPECT_LE(field["built_in"], field["most"]);
  }
  const ProgramResult plan = saccade({"plan", "--json", "--kernel", "scalar_tiled", "--dtype", "bf16", "--batch", "2", "--heads", "4",
                                      "--kv-heads", "2", "--seqlen-q", "256", "--head-dim", "64"});
  EXPECT_EQ(json::parse(plan.out)["tile"], tile);
}

TEST(Kernels, ForPeopleHoldsTheSame) {
  const ProgramResult result = saccade({"kernels"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  for (const char* text : {"for f16, head_dim 64", "attention  scalar_tiled\n  idea     tiles of", "  needs    work-groups of 128",
                           "  needs    nothing that a device may lack", "  dtypes   f32 ", "(8 to 128 in steps of 8)",
                           "as a part of other plans"}) {
    EXPECT_TRUE(contains(result.out, text));
  }
}

// Statistics where the driver tells them; else exit code 3, and why. Nothing in between.
TEST(Kernels, StatisticsAreTheDriversOrRefused) {
  const ProgramResult result = saccade({"kernels", "--stats", "--json", "--kernel", "scalar_tiled keys=64"});
  if (result.exitCode == 3) {
    EXPECT_TRUE(contains(result.err, "has no VK_KHR_pipeline_executable_properties"));
    EXPECT_EQ(result.out, "");
    return;
  }
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json report = json::parse(result.out), &plans = report["kernels"][0]["statistics"];
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0]["plan"], "plain");
  EXPECT_EQ(plans[1]["plan"], "everything");
  for (const json& plan : plans) {
    EXPECT_TRUE(contains(plan["tile"], "keys=64"));
    ASSERT_FALSE(plan["pipelines"].empty());
    for (const json& pipeline : plan["pipelines"]) {
      ASSERT_FALSE(pipeline["executables"].empty());
      for (const json& executable : pipeline["executables"]) EXPECT_FALSE(executable["statistics"].empty());
    }
  }
  // The kernel's own first, and what runs beside it with everything.
  EXPECT_EQ(plans[0]["pipelines"].size(), 1u);
  ASSERT_EQ(plans[1]["pipelines"].size(), 2u);
  for (const json& plan : plans) EXPECT_TRUE(contains(plan["pipelines"][0]["module"], "scalar_tiled_f16_"));
  EXPECT_TRUE(contains(plans[1]["pipelines"][1]["module"], "weights_f16_"));
}

TEST(Kernels, RefusesWhatCannotBeAndNamesTheOption) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals = {
      {{"--kernel", "warp_speed"}, "'warp_speed' is no kernel of this version; there are: scalar_rows, "},
      {{"--kernel", "scalar_tiled keys=64"}, "--kernel"},
      {{"--head-dim", "0"}, "--head-dim"},
      {{"--head-dim", "257"}, "--head-dim"},
      {{"--dtype", "f8"}, "--dtype"},
  };
  for (const auto& [arguments, text] : refusals) {
    std::vector<std::string> all = {"kernels"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProgramResult result = saccade(all);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(all) << result.out;
    EXPECT_TRUE(contains(result.err, text)) << testing::PrintToString(all);
    EXPECT_EQ(result.out, "");
  }
}

TEST(Kernels, ATileThatCannotBeIsRefusedWhereStatisticsAreTold) {
  const ProgramResult result = saccade({"kernels", "--stats", "--kernel", "scalar_tiled keys=17"});
  if (contains(result.err, "VK_KHR_pipeline_executable_properties")) {
    EXPECT_EQ(result.exitCode, 3);
    return;
  }
  EXPECT_EQ(result.exitCode, 2) << result.out;
  EXPECT_TRUE(contains(result.err, "keys is 17, but must be 8 to 128 in steps of 8"));
}

}  // namespace
}  // namespace saccade::test
