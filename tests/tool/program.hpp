// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace saccade::test {

struct ProgramResult {
  int exitCode = 0;  // -N if signal N ended it
  std::string out;
  std::string err;
};

// Runs `saccade` with these arguments and changes to the environment.
ProgramResult saccade(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::string>& environment = {});

// For EXPECT_TRUE: says what the text was if it does not hold the part.
testing::AssertionResult contains(const std::string& text, const std::string& part);
testing::AssertionResult startsWith(const std::string& text, const std::string& part);

std::filesystem::path goldenCase(const std::string& name);

}  // namespace saccade::test
