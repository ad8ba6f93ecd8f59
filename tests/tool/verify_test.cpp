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

// Kernels on matrix units; they say so of other types.
bool isForFp16Alone(const std::string& kernel) { return kernel.starts_with("coopmat"); }

TEST(Verify, RunsCasesAndRandomProblemsOnEveryKernel) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f32", "mask_empty_row"});
  const ProgramResult result = saccade(
      {"verify", "--json", "--groups", "cases,sweep", "--sweep", "4", "--cases", folder.path().string()});
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
  const ProgramResult result = saccade({"verify", "--groups", "cases", "--cases", folder.path().string()});
  EXPECT_EQ(result.exitCode, 1) << result.err;
  std::vector<std::string> kernels{"scalar_rows", "scalar_tiled", "flash_decode", "split_kv", "widened_rows"};
  std::size_t forFp16Alone = 0;
  const json info = json::parse(saccade({"info", "--json"}).out);
  for (const json& kernel : info["devices"].at(0)["kernels"]) {
    if (!kernel["supported"].get<bool>()) continue;
    for (const char* some : {"channel_lanes", "scalar_lines"}) {
      if (kernel["name"] == some) kernels.push_back(some);
    }
    if (isForFp16Alone(kernel["name"])) ++forFp16Alone;  // takes the case of fp16 and not the false one, which is of fp32
  }
  for (const std::string& kernel : kernels) {
    EXPECT_TRUE(contains(result.out, "FAILED false_case on attention " + kernel + ": out[0,1,2,5]"));
  }
  EXPECT_TRUE(contains(result.out, "worst case: false_case"));
  EXPECT_TRUE(contains(result.out, "  worst     out[0,1,2,5]: expected "));
  EXPECT_TRUE(contains(result.out, "--cases " + folder.path().string() + " --seed 1 --only 'false_case'"));
  const std::string passed = std::to_string(kernels.size() + forFp16Alone), failed = std::to_string(kernels.size());
  EXPECT_TRUE(contains(result.out, passed + " passed, " + failed + " failed, " + std::to_string(forFp16Alone) + " not run"));
}

TEST(Verify, CasesOfLaterRulesAreNotRunAndNeverPassed) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f32", "grad_full"});
  const ProgramResult result =
      saccade({"verify", "--groups", "cases", "--kernel", "scalar_rows", "--cases", folder.path().string()});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "1 passed, 0 failed, 1 not run"));
  EXPECT_TRUE(contains(result.out, "attention_backward"));
}

TEST(Verify, AnUnknownKeyIsNotRun) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f16"});
  io::Safetensors file = io::readSafetensors(goldenCase("plain_f32"));
  file.metadata["rotary"] = "1";
  io::writeSafetensors(folder / "plain_f32.safetensors", file.tensors, file.metadata);
  const ProgramResult result =
      saccade({"verify", "--groups", "cases", "--kernel", "scalar_rows", "--cases", folder.path().string()});
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

TEST(Verify, RepeatsOneCheckByItsDescription) {
  for (const char* description :
       {"attention:f16,B2,Hq4,Hkv2,Tq17,Tk33,Dqk20,Dv8,causal,window=5:2,softcap=4,alibi=h,sink,lse,hidden="
        "nan",
        "attention:f32,B2,Hq2,Hkv1,Tq5,Tk12,Dqk8,Dv8,seqlens_k=11/3,page=3,packing=interleaved_kv",
        "causality:bf16,B2,Hq2,Hkv1,Tq7,Tk9,Dqk8,Dv8,causal,cu_q=0/3/6,cu_k=0/5/9,lse",
        "key_count:f32,B1,Hq2,Hkv1,Tq9,Tk17,Dqk8,Dv8,window=3:0,lse"}) {
    const ProgramResult result = saccade({"verify", "--kernel", "scalar_tiled", "--only", description});
    EXPECT_EQ(result.exitCode, 0) << result.out << result.err;
    EXPECT_TRUE(contains(result.out, "1 passed, 0 failed, 0 not run"));
  }
}

TEST(Verify, RunsEveryPropertyOnEveryKernel) {
  const ProgramResult result = saccade({"verify", "--groups", "properties", "--json", "--every-check"});
  ASSERT_EQ(result.exitCode, 0) << result.out << result.err;
  const json report = json::parse(result.out);
  std::map<std::string, int> runs;
  for (const json& check : report["devices"][0]["checks"]) {
    const std::string name = check["name"];
    const std::string kernel = check["kernel"];
    if (isForFp16Alone(kernel) && check["state"] == "not_run") continue;
    EXPECT_EQ(check["state"], "passed") << name << " " << kernel;
    ++runs[name.substr(0, name.find('/')) + " " + kernel];
  }
  const json info = json::parse(saccade({"info", "--json"}).out);
  for (const json& kernel : info["devices"].at(0)["kernels"]) {
    const std::string name = kernel["name"];
    if (!isForFp16Alone(name) || !kernel["supported"].get<bool>()) continue;
    for (const std::string property : {"causality", "padding", "layout"}) EXPECT_GE(runs[property + " " + name], 1) << name << " " << property;
  }
  for (const char* property : {"causality", "padding", "heads", "key_count", "one_key", "layout", "repeat"}) {
    for (const char* kernel : {"scalar_rows", "scalar_tiled"}) {
      EXPECT_GE(runs[std::string(property) + " " + kernel], 3) << property << " " << kernel;
    }
  }
}

TEST(Verify, WritesAJunitReport) {
  const TemporaryFolder folder;
  copyCases(folder, {"plain_f16", "grad_full"});
  addFalseCase(folder);
  const std::string path = folder / "report.xml";
  const ProgramResult result = saccade({"verify", "--groups", "cases", "--kernel", "scalar_rows", "--cases",
                                        folder.path().string(), "--junit", path});
  EXPECT_EQ(result.exitCode, 1) << result.err;
  const std::string xml = contentOf(path);
  EXPECT_TRUE(startsWith(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites"));
  EXPECT_TRUE(contains(xml, "attention scalar_rows case files\" tests=\"3\" failures=\"1\" skipped=\"1\""));
  EXPECT_TRUE(contains(xml, "<testcase classname=\"attention.scalar_rows\" name=\"false_case\""));
  EXPECT_TRUE(contains(xml, "<failure message=\"out[0,1,2,5] is "));
  EXPECT_TRUE(contains(xml, "<skipped message="));
}

TEST(Verify, FindsCasesInSubFolders) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "deeper" / "still");
  std::filesystem::copy(goldenCase("plain_f32"),
                        folder.path() / "deeper" / "still" / "plain_f32.safetensors");
  const ProgramResult result =
      saccade({"verify", "--groups", "cases", "--kernel", "scalar_rows", "--cases", folder.path().string()});
  EXPECT_EQ(result.exitCode, 0) << result.out << result.err;
  EXPECT_TRUE(contains(result.out, "1 passed, 0 failed, 0 not run"));
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
      {{"--only", "shapes/99999"}, "shapes/99999"},
      {{"--only", "attention:f16,B2,seqlens_k=1"}, "seqlens_k must have B entries"},
      {{"--only", "heads:f16,sink"}, "heads excludes sink"},
      {{"--groups", "cases,tea"}, "tea"},
      {{"--threads", "0"}, "--threads"},
      {{"--junit", (folder / "missing" / "report.xml").string(), "--only", "attention/3"}, "report.xml"},
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
