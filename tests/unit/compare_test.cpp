// SPDX-License-Identifier: Apache-2.0
// The comparator must fail where a kernel is wrong: everything else rests on that.
#include "io/special_values.hpp"
#include "reference/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/case_file.hpp"
#include "reference/exact_zeros.hpp"
#include "reference/run_case.hpp"

namespace saccade::reference {
namespace {

using io::DType;
using io::TensorData;


TensorData row(const std::vector<double>& values, DType dtype = DType::F64) {
  return TensorData::fromDoubles(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

TensorComparison compare(const std::vector<double>& got, const std::vector<double>& expected,
                         const TensorTolerance& tolerance) {
  return compareTensor("out", row(got), row(expected), tolerance);
}

TEST(Comparison, PassesUpToTheToleranceAndFailsBeyondIt) {
  EXPECT_TRUE(compare({1.0, 2.0}, {1.25, 2.0}, {.absolute = 0.25}).passed);
  EXPECT_FALSE(compare({1.0, 2.0}, {1.25, 2.0}, {.absolute = 0.2499}).passed);
}

TEST(Comparison, FailsWhenExactlyOneSideIsNan) {
  EXPECT_FALSE(compare({kNan}, {1.0}, {.absolute = kInfinity}).passed);
  EXPECT_FALSE(compare({1.0}, {kNan}, {.absolute = kInfinity}).passed);
  EXPECT_FALSE(compare({kInfinity}, {kNan}, {.absolute = kInfinity}).passed);
  EXPECT_TRUE(compare({kNan}, {kNan}, {}).passed);
}

TEST(Comparison, FailsWhenInfinitiesDiffer) {
  EXPECT_FALSE(compare({kInfinity}, {-kInfinity}, {.absolute = 1}).passed);
  EXPECT_FALSE(compare({-kInfinity}, {-3e38}, {.absolute = 1e39}).passed);
  EXPECT_FALSE(compare({-3e38}, {-kInfinity}, {.absolute = 1e39, .relative = 1}).passed);
  EXPECT_TRUE(compare({kInfinity, -kInfinity}, {kInfinity, -kInfinity}, {}).passed);
}

TEST(Comparison, FailsWhenShapesDiffer) {
  const TensorData flat = TensorData::fromDoubles(DType::F64, {4}, std::vector<double>(4));
  const TensorData square = TensorData::fromDoubles(DType::F64, {2, 2}, std::vector<double>(4));
  const TensorComparison comparison = compareTensor("out", flat, square, {.absolute = 1});
  EXPECT_FALSE(comparison.passed);
  EXPECT_EQ(comparison.reason, "out has shape [4], expected [2,2]");
}

TEST(Comparison, AllowsTheLargerOfAbsoluteAndRelative) {
  const TensorTolerance tolerance{.absolute = 0.01, .relative = 0.001};
  EXPECT_TRUE(compare({100.1}, {100.0}, {.absolute = 0.01, .relative = 0.00101}).passed);
  EXPECT_FALSE(compare({100.2}, {100.0}, tolerance).passed);
  EXPECT_TRUE(compare({0.009}, {0.0}, tolerance).passed);
}

TEST(Comparison, FindsTheWorstElementAndSaysWhereItIs) {
  const TensorData got = TensorData::fromDoubles(DType::F64, {2, 2}, std::vector{1.0, 2.25, 3.5, 4.0});
  const TensorData expected = TensorData::fromDoubles(DType::F64, {2, 2}, std::vector{1.0, 2.0, 3.0, 4.0});
  const TensorComparison comparison = compareTensor("lse", got, expected, {.absolute = 0.125});
  EXPECT_FALSE(comparison.passed);
  EXPECT_EQ(comparison.compared, 4u);
  EXPECT_EQ(comparison.failed, 2u);
  EXPECT_EQ(comparison.worstIndex, (io::Shape{1, 0}));
  EXPECT_EQ(comparison.expected, 3.0);
  EXPECT_EQ(comparison.got, 3.5);
  EXPECT_EQ(comparison.error, 0.5);
  EXPECT_EQ(comparison.ratio, 4.0);
  EXPECT_EQ(comparison.reason, "lse[1,0] is 3.5, expected 3: error 0.5, allowed 0.125; 2 of 4 elements fail");
}

TEST(Comparison, PassesTensorsWithoutElements) {
  const TensorData empty = TensorData::fromDoubles(DType::F32, {0, 4}, {});
  EXPECT_TRUE(compareTensor("out", empty, empty, {}).passed);
}

TEST(Comparison, DemandsExactZeroWhereNothingIsVisible) {
  const std::vector<std::uint8_t> mustBeZero = {0, 1};
  const TensorTolerance loose{.absolute = 1e-3};
  EXPECT_TRUE(compareTensor("probs", row({1.0, 0.0}), row({1.0, 0.0}), loose, mustBeZero).passed);
  EXPECT_TRUE(compareTensor("probs", row({1.0, -0.0}), row({1.0, 0.0}), loose, mustBeZero).passed);
  const TensorComparison comparison =
      compareTensor("probs", row({1.0, 1e-30}), row({1.0, 0.0}), loose, mustBeZero);
  EXPECT_FALSE(comparison.passed);
  EXPECT_EQ(comparison.reason,
            "probs[1] is 1e-30, expected 0 exactly (nothing is visible there); 1 of 2 elements fail");
}

TEST(ExactComparison, RoundsTheExpectedValueToTheDtypeOfTheResult) {
  const double third = 1.0 / 3;
  const TensorTolerance exact{.exact = true};
  EXPECT_TRUE(compareTensor("out", row({third}, DType::F16), row({third}), exact).passed);
  EXPECT_TRUE(compareTensor("out", row({third}, DType::F32), row({third}), exact).passed);
  const double next = io::roundedTo(DType::F16, third) + io::unitInLastPlace(DType::F16, third);
  EXPECT_FALSE(compareTensor("out", row({next}, DType::F16), row({third}), exact).passed);
  EXPECT_TRUE(compareTensor("out", row({-0.0}), row({0.0}), exact).passed);
}

// A golden case with its own correct result, which each test spoils in one place.
class SpoiltResult : public testing::Test {
 protected:
  void load(const std::string& name) {
    file_ = io::readCaseFile(std::filesystem::path(SACCADE_TEST_CASES) / (name + ".safetensors"));
    results_ = std::get<io::TensorMap>(runCaseOnReference(file_));
    for (auto& [tensor, values] : results_) {
      values = values.converted(DType::F32);
    }
    ASSERT_TRUE(passes());
  }
  bool passes(io::PRounding rounding = io::PRounding::Fp32) const {
    return compareCase(file_, results_, rounding).passed();
  }
  void set(const std::string& tensor, std::size_t index, double value) {
    std::vector<double> values = results_.at(tensor).toDoubles();
    values[index] = value;
    results_[tensor] =
        TensorData::fromDoubles(results_.at(tensor).dtype(), results_.at(tensor).shape(), values);
  }

  io::CaseFile file_;
  io::TensorMap results_;
};

TEST_F(SpoiltResult, FailsWithATensorMissing) {
  load("plain_f32");
  results_.erase("lse");
  const CaseComparison comparison = compareCase(file_, results_, io::PRounding::Fp32);
  EXPECT_FALSE(comparison.passed());
  EXPECT_EQ(comparison.missing, std::vector<std::string>{"lse"});
}

TEST_F(SpoiltResult, FailsJustBeyondTheToleranceOfTheFile) {
  load("plain_f32");
  const double expected = file_.expected.at("out").at(3);
  const double allowed = *file_.number("atol_out");
  set("out", 3, expected + 0.9 * allowed);
  EXPECT_TRUE(passes());
  set("out", 3, expected + 1.1 * allowed);
  EXPECT_FALSE(passes());
}

TEST_F(SpoiltResult, FailsWhenAMaskedWeightIsNotQuiteZero) {
  load("mask_empty_row");
  const ZeroMasks zeros = exactZeros(file_);
  std::size_t masked = 0;
  while (zeros.at("probs")[masked] == 0) {
    ++masked;
  }
  set("probs", masked, 1e-30);
  EXPECT_FALSE(passes());
}

TEST_F(SpoiltResult, FailsWhenAPaddedKeyGetsWeightInTheModule) {
  load("mha_separate_cross");
  const ZeroMasks zeros = exactZeros(file_);
  std::size_t padded = 0;
  while (zeros.at("probs")[padded] == 0) {
    ++padded;
  }
  set("probs", padded, 1e-30);
  EXPECT_FALSE(passes());
}

TEST_F(SpoiltResult, FailsWhenARowWithoutKeysIsNotQuiteZero) {
  load("mask_empty_row");
  set("out", results_.at("out").elementCount() - 1, 1e-30);  // its last row sees no key
  EXPECT_FALSE(passes());
}

TEST_F(SpoiltResult, FailsWhenAnEmptyRowHasTheLowestFloatAsItsLse) {
  load("mask_empty_row");
  set("lse", results_.at("lse").elementCount() - 1, -3.4028235e38);
  EXPECT_FALSE(passes());
}

TEST_F(SpoiltResult, FailsWhenNanIsSwallowed) {
  load("nan_query_row");
  std::size_t index = 0;
  while (!std::isnan(results_.at("out").at(index))) {
    ++index;
  }
  set("out", index, 0);
  EXPECT_FALSE(passes());
}

TEST_F(SpoiltResult, FailsByOneUnitWhereTheCaseIsExact) {
  load("causal_top_left_one_query");
  set("out", 0, std::nextafter(static_cast<float>(results_.at("out").at(0)), 10.0f));
  EXPECT_FALSE(passes());
}

TEST_F(SpoiltResult, MayBeFurtherOffWhenTheKernelRoundsItsWeights) {
  load("bias_full_f16");
  const double fine = *file_.number("atol_out");
  const double coarse = *file_.number("atol_out_rounded_p");
  ASSERT_LT(fine, coarse);
  set("out", 0, file_.expected.at("out").at(0) + (fine + coarse) / 2);
  EXPECT_FALSE(passes(io::PRounding::Fp32));
  EXPECT_TRUE(passes(io::PRounding::Storage));
}

TEST_F(SpoiltResult, IsJudgedByComputedTolerancesWhereTheFileHasNone) {
  load("plain_f32");
  const double allowed = *file_.number("atol_out");
  std::erase_if(file_.metadata, [](const auto& entry) { return entry.first.starts_with("atol_"); });
  const double expected = file_.expected.at("out").at(3);
  set("out", 3, expected + 0.9 * allowed);
  EXPECT_TRUE(passes());
  set("out", 3, expected + 1.1 * allowed);
  EXPECT_FALSE(passes());
}

TEST(CaseComparison, OfNothingDoesNotPass) {
  EXPECT_FALSE(compareCase({}, {}, io::PRounding::Fp32).passed());
}

}  // namespace
}  // namespace saccade::reference
