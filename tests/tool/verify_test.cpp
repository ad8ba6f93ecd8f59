// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "io/safetensors.hpp"
#include "program.hpp"
#include "unit/temporary_folder.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;

// Copies golden cases into a folder of their own.
void copyCases(const TemporaryFolder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::filesystem::copy(goldenCase(name), folder / (name + ".safetensors"));
  }
}

// plain_f32 with one expected element off by a thousandth.
void addFalseCase(const TemporaryFolder& folder) {
  io::Safetensors file = io::readSafetensors(goldenCase("plain_f32"));
  std::vector<double> out = file.tensor("out").toDoubles();
  out[77] += 1e-3;
  file.tensors["out"] = io::TensorData::fromDoubles(io::DType::F64, file.tensor("out").shape(), out);
  file.metadata["name"] = "false_case";
  io::writeSafetensors(folder / "false_case.safetensors", file.tensors, file.metadata);
}

TEST(Verify, RunsCasesAndRandomProblemsOnEveryKernel) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f32", "mask_empty_row"});
  const ProgramResult result =
      saccade({"verify", "--json", "--sweep", "4", "--cases", folder.path().string()});
  ASSERT_EQ(result.exitCode, 0) << result.out << result.err;
  const json report = json::parse(result.out);
  EXPECT_TRUE(report["ok"].get<bool>());
  ASSERT_EQ(report["devices"].size(), 1u);
  std::map<std::string, int> passed;
  for (const json& group : report["devices"][0]["groups"]) {
    passed[group["operator"].get<std::string>() + " " + group["kernel"].get<std::string>() + " " +
           group["group"].get<std::string>()] = group["passed"];
  }
  EXPECT_EQ(passed["attention scalar_rows case files"], 2);
  EXPECT_EQ(passed["attention scalar_tiled case files"], 2);
  EXPECT_EQ(passed["attention scalar_rows sweep"], 4);
  EXPECT_EQ(passed["attention scalar_tiled sweep"], 4);
  EXPECT_LE(report["devices"][0]["worst"]["ratio"].get<double>(), 1.0);
}

TEST(Verify, ADifferenceIsExitCodeOneAndNamed) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f16"});
  addFalseCase(folder);
  const ProgramResult result = saccade({"verify", "--sweep", "0", "--cases", folder.path().string()});
  EXPECT_EQ(result.exitCode, 1) << result.err;
  EXPECT_TRUE(contains(result.out, "FAILED false_case on attention scalar_rows: out[0,1,2,5]"));
  EXPECT_TRUE(contains(result.out, "worst case: false_case"));
  EXPECT_TRUE(contains(result.out, "2 passed, 2 failed, 0 not run"));
}

TEST(Verify, CasesOfLaterRulesAreNotRunAndNeverPassed) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f32", "window_left_3_causal", "grad_full"});
  const ProgramResult result =
      saccade({"verify", "--sweep", "0", "--kernel", "scalar_rows", "--cases", folder.path().string()});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "1 passed, 0 failed, 2 not run"));
  EXPECT_TRUE(contains(result.out, "window_left"));
}

TEST(Verify, AnUnknownKeyIsNotRun) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f16"});
  io::Safetensors file = io::readSafetensors(goldenCase("plain_f32"));
  file.metadata["rotary"] = "1";
  io::writeSafetensors(folder / "plain_f32.safetensors", file.tensors, file.metadata);
  const ProgramResult result =
      saccade({"verify", "--sweep", "0", "--kernel", "scalar_rows", "--cases", folder.path().string()});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "rotary"));
  EXPECT_TRUE(contains(result.out, "1 passed, 0 failed, 1 not run"));
}

TEST(Verify, RepeatsOneCheckByItsName) {
  const ProgramResult result = saccade({"verify", "--only", "attention/3", "--kernel", "scalar_tiled"});
  EXPECT_EQ(result.exitCode, 0) << result.out << result.err;
  EXPECT_TRUE(contains(result.out, "1 passed, 0 failed, 0 not run"));
  EXPECT_TRUE(contains(result.out, "worst case: attention/3"));
}

TEST(Verify, RunsEveryDeviceInAProcessOfItsOwn) {
  const ProgramResult result = saccade({"verify", "--device", "all", "--only", "attention/3", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.out << result.err;
  EXPECT_GE(json::parse(result.out)["devices"].size(), 1u);
}

TEST(Verify, RefusesBadInput) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"--cases", (folder / "missing").string()}, "missing"},
      {{"--cases", folder.path().string()}, "no *.safetensors file"},
      {{"--only", "attention/"}, "attention/"},
      {{"--only", "attention/x7"}, "attention/x7"},
      {{"--only", "tea"}, "tea"},
      {{"--kernel", "warp_speed"}, "warp_speed"},
      {{"--kernel", "scalar_rows", "--only", "gelu_exact", "--cases", SACCADE_TEST_CASES}, "nothing was run"},
  };
  for (const auto& [arguments, text] : mistakes) {
    std::vector<std::string> all = {"verify"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProgramResult result = saccade(all);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(all) << result.out;
    EXPECT_TRUE(contains(result.err, text));
  }
  folder.file("broken.safetensors", "12345678");
  const ProgramResult result = saccade({"verify", "--cases", folder.path().string()});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_TRUE(contains(result.err, "broken.safetensors"));
}

}  // namespace
}  // namespace saccade::test
