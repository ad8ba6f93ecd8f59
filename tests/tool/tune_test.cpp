// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <thread>

#include "program.hpp"
#include "unit/temporary_folder.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kSmallShape{"--heads", "4", "--kv-heads", "2", "--seqlen-q", "3", "--seqlen-k", "70", "--head-dim", "16",
                                           "--dtype", "f32"};

ProgramResult tune(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment = {}) {
  arguments.insert(arguments.begin(), "tune");
  return saccade(arguments, environment);
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Tune, MeasuresQuicklyWithinItsBudget) {
  const TemporaryFolder folder;
  const std::string file = folder / "tuning.json";
  const ProgramResult result = tune({"--quick", "--budget", "2", "--file", file, "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["file"], file);
  ASSERT_GE(report["results"].size(), 1u);
  for (const json& measured : report["results"]) {
    EXPECT_GT(measured["built_in_milliseconds"].get<double>(), 0);
    EXPECT_LE(measured["winner_milliseconds"].get<double>(), measured["built_in_milliseconds"].get<double>());
    EXPECT_LE(measured["looked_at"].get<int>(), measured["candidates"].get<int>());
    EXPECT_GE(measured["candidates"].get<int>(), 2);
  }
  const json written = json::parse(contentOf(file));
  EXPECT_EQ(written["format"], "saccade tuning");
  EXPECT_EQ(written["device"]["name"], report["device"]);
}

// What a file says is what plans do, and a file that cannot be used does nothing but say why.
TEST(Tune, FileDecidesPlans) {
  const TemporaryFolder folder;
  const std::string file = folder / "tuning.json";
  ASSERT_EQ(tune(std::vector<std::string>{"--budget", "2", "--file", file} + kSmallShape).exitCode, 0);
  json content = json::parse(contentOf(file));
  const std::string problem = "attention f32 dqk16 dv16 tq4 tk128 heads4 group2";
  content["entries"] = json::array({{{"problem", problem}, {"kernel", "scalar_rows keys=2"}}});
  folder.file("tuning.json", content.dump());
  const std::vector<std::string> plan{"plan", "--heads", "4", "--kv-heads", "2", "--seqlen-q", "3", "--seqlen-k", "70", "--head-dim", "16", "--json"};
  ProgramResult result = saccade(plan, {{"SACCADE_TUNING", file}});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(contains(json::parse(result.out)["reason"], "tuned: measured fastest on this device"));
  EXPECT_TRUE(contains(json::parse(result.out)["tile"], "keys=2"));

  result = saccade(plan, {{"SACCADE_TUNING", "off"}});
  EXPECT_FALSE(contains(json::parse(result.out)["reason"], "tuned"));

  content["device"]["driver_version"] = 1;
  folder.file("tuning.json", content.dump());
  result = saccade(plan, {{"SACCADE_TUNING", file}});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_FALSE(contains(json::parse(result.out)["reason"], "tuned"));
  EXPECT_TRUE(contains(result.err, "tuning file ignored: device.driver_version is 1"));

  result = saccade(plan, {{"SACCADE_TUNING", folder / "absent.json"}});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_TRUE(contains(result.err, "it does not exist"));
}

TEST(Tune, KeepsItsFileBesideTheOtherCaches) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> here{{"SACCADE_TUNING", ""}, {"SACCADE_CACHE", folder.path()}};
  const ProgramResult result = tune(std::vector<std::string>{"--budget", "1", "--json"} + kSmallShape, here);
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const std::filesystem::path file = json::parse(result.out)["file"].get<std::string>();
  EXPECT_EQ(file.parent_path(), folder.path());
  EXPECT_TRUE(startsWith(file.filename(), "tuning-"));
  json content = json::parse(contentOf(file));
  content["entries"] = json::array({{{"problem", "attention f32 dqk64 dv64 tq128 tk128 heads1 group1"}, {"kernel", "scalar_rows keys=2"}}});
  folder.file(file.filename(), content.dump());
  EXPECT_TRUE(contains(json::parse(saccade({"plan", "--json"}, here).out)["reason"], "tuned: "));
}

TEST(Tune, LeavesTheFileAloneInADryRun) {
  const TemporaryFolder folder;
  const ProgramResult result = tune(std::vector<std::string>{"--budget", "1", "--dry-run", "--file", folder / "tuning.json"} + kSmallShape);
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "built-in"));
  EXPECT_EQ(folder.countFiles(), 0u);
}

TEST(Tune, LosesNothingWhenTwoRunAtOnce) {
  const TemporaryFolder folder;
  const std::string file = folder / "tuning.json";
  ProgramResult first, second;
  std::thread other([&] { first = tune({"--budget", "2", "--file", file, "--m", "7", "--n", "33", "--k", "65", "--dtype", "f32"}); });
  second = tune(std::vector<std::string>{"--budget", "2", "--file", file} + kSmallShape);
  other.join();
  EXPECT_EQ(first.exitCode, 0) << first.err;
  EXPECT_EQ(second.exitCode, 0) << second.err;
  EXPECT_EQ(saccade({"plan"}, {{"SACCADE_TUNING", file}}).err.find("ignored"), std::string::npos);
}

TEST(Tune, RefusesWhatCannotBeMeasuredOrKept) {
  const TemporaryFolder folder;
  EXPECT_TRUE(contains(tune({"--head-dim", "257", "--dry-run"}).err, "head_dim_qk"));
  EXPECT_TRUE(contains(tune({"--budget", "0"}).err, "--budget"));
  EXPECT_TRUE(contains(tune({"--quick"}, {{"SACCADE_TUNING", "off"}}).err, "--file"));
  const std::string newer = folder.file("newer.json", R"({"format": "saccade tuning", "version": 2})");
  const ProgramResult result = tune({"--quick", "--file", newer});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_TRUE(contains(result.err, "version is 2"));
  EXPECT_EQ(contentOf(newer), R"({"format": "saccade tuning", "version": 2})");
}

TEST(Tune, TilesCanBeAskedForByName) {
  ProgramResult result = saccade({"plan", "--kernel", "scalar_rows keys=2", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(contains(json::parse(result.out)["tile"], "scalar_rows local_size="));
  EXPECT_TRUE(contains(json::parse(result.out)["tile"], "keys=2"));
  result = saccade({"plan", "--kernel", "scalar_rows keys=99"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_TRUE(contains(result.err, "keys is 99, but must be 1 to 16"));
}

}  // namespace
}  // namespace saccade::test
