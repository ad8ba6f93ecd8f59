// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "program.hpp"
#include "unit/temporary_folder.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;

TEST(Device, InfoListsFactsAndKernelsOfEveryDevice) {
  const ProgramResult result = saccade({"info", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json info = json::parse(result.out);
  ASSERT_FALSE(info["devices"].empty());
  for (const json& device : info["devices"]) {
    if (!device["supported"].get<bool>()) {
      EXPECT_FALSE(device["missing"].empty());
      continue;
    }
    EXPECT_GT(device["facts"]["max_compute_shared_memory_size"].get<int>(), 0);
    std::set<std::string> attention;
    for (const json& kernel : device["kernels"]) {
      EXPECT_NE(kernel["supported"].get<bool>(), !kernel["reason"].get<std::string>().empty()) << kernel;
      if (kernel["operator"] == "attention") {
        attention.insert(kernel["name"].get<std::string>());
      }
    }
    EXPECT_TRUE(attention.contains("scalar_rows"));
    EXPECT_TRUE(attention.contains("scalar_tiled"));
  }
}

TEST(Device, InfoTellsWhichKernelsAttentionTakesAndWhy) {
  const ProgramResult result = saccade({"info", "--device", "0", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json info = json::parse(result.out), &choices = info["devices"][0]["attention_choices"];
  ASSERT_EQ(choices.size(), 8u);  // prefill and decode, f16 and f32, head dims 64 and 128
  for (const json& choice : choices) {
    EXPECT_FALSE(choice["why"].get<std::string>().empty());
    const bool decode = choice["use"] == "decode";
    const std::string width = choice["head_dim"].dump();
    const ProgramResult plan =
        saccade({"plan", "--device", "0", "--json", "--heads", "32", "--kv-heads", "8", "--seqlen-q", decode ? "1" : "2048",
                 "--seqlen-k", decode ? "4096" : "2048", "--head-dim", width, "--causal", "bottom_right", "--dtype",
                 choice["dtype"].get<std::string>()});
    const json planned = json::parse(plan.out);
    EXPECT_EQ(planned["kernel"], choice["kernel"]);
    EXPECT_EQ(planned["tile"], choice["tile"]);
    EXPECT_TRUE(startsWith(planned["reason"].get<std::string>(),
                           choice["kernel"].get<std::string>() + ": chosen: " + choice["why"].get<std::string>()));
  }
}

TEST(Device, InfoForPeopleHoldsTheSame) {
  const ProgramResult result = saccade({"info", "--device", "0"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  for (const char* text :
       {"device 0: ", "subgroup_size", "timestamp_period", "scalar_rows", "scalar_tiled",
        "attention takes", "    decode   f16  D128  "}) {
    EXPECT_TRUE(contains(result.out, text));
  }
}

TEST(Device, AnUnknownDeviceIsExitCodeThreeOnEveryCommand) {
  const std::vector<std::vector<std::string>> commands = {
      {"info"},
      {"kernels"},
      {"plan"},
      {"verify"},
      {"run", goldenCase("plain_f32").string(), "-o", "/nonexistent/out.safetensors"}};
  for (std::vector<std::string> arguments : commands) {
    const std::string command = arguments[0];
    arguments.insert(arguments.end(), {"--device", "no such device"});
    const ProgramResult result = saccade(arguments);
    EXPECT_EQ(result.exitCode, 3) << command << result.err;
    EXPECT_TRUE(contains(result.err, "no such device")) << command;
  }
}

TEST(Device, TheEnvironmentVariableStandsForTheOption) {
  EXPECT_EQ(saccade({"plan"}, {{"SACCADE_DEVICE", "no such device"}}).exitCode, 3);
  EXPECT_EQ(saccade({"plan", "--device", "0"}, {{"SACCADE_DEVICE", "no such device"}}).exitCode, 0);
}

TEST(Device, WithoutAnyDriverTheExitCodeIsThree) {
  const std::map<std::string, std::string> noDriver = {{"VK_DRIVER_FILES", "/nonexistent/icd.json"}};
  for (const char* command : {"info", "kernels", "plan", "verify"}) {
    const ProgramResult result = saccade({command}, noDriver);
    EXPECT_EQ(result.exitCode, 3) << command << result.err;
    EXPECT_TRUE(startsWith(result.err, "saccade: error: ")) << command;
  }
}

TEST(Device, WithoutAVulkanLoaderTheExitCodeIsThree) {
  const TemporaryFolder folder;
  for (const char* name : {"libvulkan.so.1", "libvulkan.so"}) {
    folder.file(name, "no shared library");
  }
  const ProgramResult result = saccade({"info"}, {{"LD_LIBRARY_PATH", folder.path().string()}});
  EXPECT_EQ(result.exitCode, 3) << result.err;
  EXPECT_TRUE(contains(result.err, "Vulkan"));
}

}  // namespace
}  // namespace saccade::test
