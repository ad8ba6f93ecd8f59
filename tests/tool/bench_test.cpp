// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;

TEST(Bench, MeasuresAndChecksAnAttentionOfAnyShape) {
  const ProgramResult result = saccade({"bench", "attention", "--heads", "4", "--kv-heads", "2", "--seqlen-q",
                                        "33", "--seqlen-k", "65", "--head-dim", "20", "--causal",
                                        "bottom_right", "--dtype", "f16", "--repeat", "4", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json report = json::parse(result.out);
  ASSERT_EQ(report["results"].size(), 1u);
  const json& measured = report["results"][0];
  EXPECT_EQ(measured["shape"], "B1 H4/2 Tq33 Tk65 D20 causal");
  EXPECT_EQ(measured["dtype"], "F16");
  EXPECT_EQ(measured["ms"].size(), 4u);
  EXPECT_GT(measured["ms_min"].get<double>(), 0);
  EXPECT_LE(measured["ms_min"].get<double>(), measured["ms_median"].get<double>());
  EXPECT_NEAR(measured["gflops"].get<double>() * measured["ms_median"].get<double>() * 1e6,
              2.0 * 4 * 33 * 65 * 20, 1);  // causal: half of the pairs
  EXPECT_TRUE(measured["passed"].get<bool>());
  EXPECT_LE(measured["error"].get<double>(), measured["error_allowed"].get<double>());
  EXPECT_EQ(measured["error_sample"], "32 sampled rows");
}

TEST(Bench, KnowsTheOtherOperators) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"matmul", "--m", "17", "--n", "33", "--k", "65"},
        {"layernorm", "--rows", "5"}}) {
    std::vector<std::string> command{"bench", "--repeat", "1", "--warmup", "1", "--json"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProgramResult result = saccade(command);
    ASSERT_EQ(result.exitCode, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["results"][0]["operator"], arguments.front());
  }
}

TEST(Bench, UsesTheKernelThatIsAskedFor) {
  const ProgramResult result = saccade(
      {"bench", "attention", "--seqlen", "16", "--kernel", "scalar_tiled", "--repeat", "1", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["results"][0]["kernel"], "scalar_tiled");
}

TEST(Bench, RefusesWhatCannotBeMeasuredAndNamesIt) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals = {
      {{"attention", "--head-dim", "257"}, "head_dim_qk"},
      {{"attention", "--heads", "6", "--kv-heads", "4"}, "num_heads"},
      {{"attention", "--batch", "1048576", "--seqlen", "65536"}, "q.sizes"},
      {{"matmul", "--m", "1000000000", "--k", "1000000000"}, "a.sizes"},
      {{"attention", "--repeat", "0"}, "--repeat"},
      {{"attention", "--dtype", "f8"}, "--dtype"},
      {{"attention", "--only", "short"}, "--only"},
      {{"attention", "--lengths", "5,6", "--batch", "3"}, "--lengths"},
      {{"attention", "--lengths", "129"}, "--lengths"},
      {{"vit", "--preset", "peers"}, "--preset"},
      {{"attention", "--kernel", "warp_speed"}, "warp_speed"},
      {{"convolution"}, "convolution"},
  };
  for (const auto& [arguments, part] : refusals) {
    std::vector<std::string> command{"bench"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProgramResult result = saccade(command);
    EXPECT_EQ(result.exitCode, 2) << part;
    EXPECT_TRUE(contains(result.err, part));
  }
}

}  // namespace
}  // namespace saccade::test
