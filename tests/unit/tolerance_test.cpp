// SPDX-License-Identifier: Apache-2.0
// The tolerances computed from inputs must be those that the case files carry, which another program
// computed.
#include "reference/tolerance.hpp"

#include <gtest/gtest.h>

#include "golden_cases.hpp"
#include "io/attention_case.hpp"
#include "reference/attention.hpp"

namespace saccade::reference {
namespace {

class ComputedTolerance : public testing::TestWithParam<std::filesystem::path> {};

void expectRatio(double computed, std::optional<double> inFile, double lowest, double highest,
                 const char* name) {
  if (inFile) {
    EXPECT_GE(computed, lowest * *inFile) << name;
    EXPECT_LE(computed, highest * *inFile) << name;
  }
}

TEST_P(ComputedTolerance, IsTheOneInTheFile) {
  const io::CaseFile file = io::readCaseFile(GetParam());
  const io::AttentionCase given = io::readAttentionCase(file);
  const OwnedProblem owned = problemFromCase(given);
  const AttentionResult expected = attention(owned.problem, given.packed ? Probs::Skip : Probs::Store);
  const AttentionTolerances computed = attentionTolerances(owned.problem, given.q.dtype(), expected);
  expectRatio(computed.probs.absolute, file.number("atol_probs"), 0.99, 1.01, "probs");
  if (file.tolerance == io::CaseTolerance::Exact) {
    return;  // out must be exact whatever plain fp32 gives
  }
  // Sums in another order have other errors; where a storage unit or 2e-6 decides, nothing is left to chance.
  expectRatio(computed.out.absolute, file.number("atol_out"), 0.99, 1.01, "out");
  expectRatio(computed.outRoundedP.absolute, file.number("atol_out_rounded_p"), 0.99, 1.35,
              "out with rounded P");
  expectRatio(computed.lse.absolute, file.number("atol_lse"), 0.0, 1.01, "lse");
}

INSTANTIATE_TEST_SUITE_P(Golden, ComputedTolerance, testing::ValuesIn(goldenCases("attention")),
                         goldenCaseName);

TEST(ToleranceFromPlain, IsTwoMillionthsOfTheMagnitudeInFp32) {
  const std::vector<double> expected = {1.0, -3.0};
  const std::vector<double> plain[] = {{1.0, -3.0}};
  EXPECT_DOUBLE_EQ(toleranceFromPlain(io::DType::F32, expected, plain, 5).absolute, 1e-5);
  EXPECT_DOUBLE_EQ(toleranceFromPlain(io::DType::F32, expected, plain, 0.1).absolute, 2e-6);
}

TEST(ToleranceFromPlain, IsFourTimesTheWorstPlainErrorWhereThatIsLarger) {
  const std::vector<double> expected = {1.0, -3.0};
  const std::vector<double> plain[] = {{1.0, -3.0}, {1.0, -3.125}};
  EXPECT_DOUBLE_EQ(toleranceFromPlain(io::DType::F32, expected, plain, 1).absolute, 0.5);
}

TEST(ToleranceFromPlain, IsAtLeastOneStorageUnitInHalfPrecision) {
  const std::vector<double> expected = {1.0};
  const std::vector<double> plain[] = {{1.0}};
  EXPECT_DOUBLE_EQ(toleranceFromPlain(io::DType::F16, expected, plain, 3).absolute, 0x1p-9);
  EXPECT_DOUBLE_EQ(toleranceFromPlain(io::DType::BF16, expected, plain, 3).absolute, 0x1p-6);
  EXPECT_DOUBLE_EQ(toleranceFromPlain(io::DType::F16, expected, plain, 0).absolute, 0x1p-24);
}

TEST(ToleranceFromPlain, IsTwiceTheErrorOfTheRoundedBaselineInHalfPrecision) {
  const std::vector<double> expected = {1.0};
  const std::vector<double> plain[] = {{1.5}, {9.0}};  // only the first counts
  EXPECT_DOUBLE_EQ(toleranceFromPlain(io::DType::F16, expected, plain, 1).absolute, 1.0);
}

TEST(WorstError, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(worstError(std::vector{nan, -infinity, 2.0}, std::vector{nan, -infinity, 1.5}), 0.5);
}

}  // namespace
}  // namespace saccade::reference
