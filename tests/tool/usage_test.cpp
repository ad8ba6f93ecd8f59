// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <regex>

#include "program.hpp"

namespace saccade::test {
namespace {

TEST(Usage, VersionIsOneLineOnStandardOutput) {
  const ProgramResult result = saccade({"--version"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_TRUE(std::regex_match(result.out, std::regex("saccade [0-9]+\\.[0-9]+\\.[0-9]+\n"))) << result.out;
}

TEST(Usage, HelpNamesCommandsAndExitCodes) {
  const ProgramResult result = saccade({"--help"});
  EXPECT_EQ(result.exitCode, 0);
  for (const char* word :
       {"info", "kernels", "plan", "run", "verify", "bench", "vit", "3 no suitable device", "SACCADE_DEVICE"}) {
    EXPECT_TRUE(contains(result.out, word));
  }
}

TEST(Usage, HelpOfEveryCommandTeachesByExample) {
  for (const char* command : {"info", "kernels", "plan", "run", "verify", "bench", "vit"}) {
    const ProgramResult result = saccade({command, "--help"});
    EXPECT_EQ(result.exitCode, 0) << command;
    EXPECT_TRUE(contains(result.out, std::string("saccade ") + command)) << command;
    EXPECT_TRUE(contains(result.out, "Examples")) << command;
    EXPECT_TRUE(contains(result.out, "--device")) << command;
  }
}

TEST(Usage, MistakesOnTheCommandLineGiveExitCodeTwoAndAnError) {
  const std::vector<std::vector<std::string>> mistakes = {{},
                                                          {"dance"},
                                                          {"info", "--colour"},
                                                          {"plan", "--seqlen-q", "many"},
                                                          {"plan", "--dtype", "f8"},
                                                          {"run"},
                                                          {"run", "case.safetensors"},
                                                          {"plan", "--causal", "diagonal"},
                                                          {"verify", "--sweep", "-1"}};
  for (const auto& arguments : mistakes) {
    const ProgramResult result = saccade(arguments);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(arguments);
    EXPECT_TRUE(startsWith(result.err, "saccade: error: ")) << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "") << testing::PrintToString(arguments);
  }
}

}  // namespace
}  // namespace saccade::test
