// SPDX-License-Identifier: Apache-2.0
// The scalar path against every golden case: it must agree far better than any kernel has to.
#include <gtest/gtest.h>

#include "golden_cases.hpp"
#include "io/case_file.hpp"
#include "reference/compare.hpp"
#include "reference/exact_zeros.hpp"
#include "reference/run_case.hpp"

namespace saccade::reference {
namespace {

// Operators that have no scalar path, or none that a case file alone can start.
bool isExpectedNotToRun(const io::CaseFile& file) {
  return file.op == "attention_backward" || file.op == "model";
}

class ScalarPathAgreesWithCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ScalarPathAgreesWithCase, ToTwelveDigits) {
  const io::CaseFile file = io::readCaseFile(GetParam());
  EXPECT_TRUE(file.unknown.empty()) << file.unknown.front();
  const CaseOutcome outcome = runCaseOnReference(file);
  if (isExpectedNotToRun(file)) {
    EXPECT_FALSE(std::get<NotRun>(outcome).reason.empty());
    return;
  }
  ASSERT_TRUE(std::holds_alternative<io::TensorMap>(outcome)) << std::get<NotRun>(outcome).reason;
  const io::TensorMap& results = std::get<io::TensorMap>(outcome);
  const ZeroMasks zeros = exactZeros(file);
  ASSERT_FALSE(file.expected.empty());
  for (const auto& [name, expected] : file.expected) {
    ASSERT_TRUE(results.contains(name)) << name;
    const auto zero = zeros.find(name);
    // probs_layer0 is stored in fp32; everything else in double.
    const double tolerance = expected.dtype() == io::DType::F64 ? 1e-12 : 1e-7;
    const TensorComparison comparison = compareTensor(
        name, results.at(name), expected, {.absolute = tolerance, .relative = tolerance},
        zero == zeros.end() ? std::span<const std::uint8_t>{} : std::span<const std::uint8_t>(zero->second));
    EXPECT_TRUE(comparison.passed) << comparison.reason;
  }
}

// The cases that have a scalar path.
std::vector<std::filesystem::path> runnableCases() {
  std::vector<std::filesystem::path> files = goldenCases();
  std::erase_if(files, [](const auto& path) { return isExpectedNotToRun(io::readCaseFile(path)); });
  return files;
}

class ScalarPathPassesCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ScalarPathPassesCase, WithinTheTolerancesOfTheFile) {
  const io::CaseFile file = io::readCaseFile(GetParam());
  io::TensorMap results = std::get<io::TensorMap>(runCaseOnReference(file));
  if (file.tolerance == io::CaseTolerance::Exact) {
    // "exact" asks for the bits of a rounded result.
    results["out"] = results["out"].converted(file.requireInput("q").dtype());
  }
  const CaseComparison comparison = compareCase(file, results, io::PRounding::Fp32);
  EXPECT_TRUE(comparison.passed()) << (comparison.worst() ? comparison.worst()->reason : "nothing compared");
}

INSTANTIATE_TEST_SUITE_P(Golden, ScalarPathAgreesWithCase, testing::ValuesIn(goldenCases()), goldenCaseName);
INSTANTIATE_TEST_SUITE_P(Golden, ScalarPathPassesCase, testing::ValuesIn(runnableCases()), goldenCaseName);

}  // namespace
}  // namespace saccade::reference
