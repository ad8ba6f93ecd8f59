// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "io/case_file.hpp"

namespace saccade {

// The golden cases of one operator, or all of them, in the order of their names.
inline std::vector<std::filesystem::path> goldenCases(const std::string& op = "") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SACCADE_TEST_CASES)) {
    if (entry.path().extension() == ".safetensors" &&
        (op.empty() || io::readCaseFile(entry.path()).op == op)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Names a parameterised test after its case.
inline std::string goldenCaseName(const testing::TestParamInfo<std::filesystem::path>& parameter) {
  return parameter.param.stem().string();
}

}  // namespace saccade
