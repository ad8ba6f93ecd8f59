// SPDX-License-Identifier: Apache-2.0
// The scalar path of a whole trained model. Its weights (88 MB) are not kept here: tools/models/fetch_dinov2
// fetches them, and the variable SACCADE_DINOV2 says where they are.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/case_file.hpp"
#include "io/vit_weights.hpp"
#include "reference/compare.hpp"
#include "reference/run_model_case.hpp"

namespace saccade::reference {
namespace {

TEST(ScalarPathOfDinov2, AgreesWithTheExpectedFeaturesOfThePortrait) {
  const char* path = std::getenv("SACCADE_DINOV2");
  if (path == nullptr) {
    GTEST_SKIP() << "set SACCADE_DINOV2 to what tools/models/fetch_dinov2 prints";
  }
  const io::CaseFile file =
      io::readCaseFile(std::filesystem::path(SACCADE_TEST_CASES) / "real/dinov2s_astronaut.safetensors");
  const io::TensorMap results = runModelCase(file, io::readVitWeights(path));
  ASSERT_EQ(file.expected.size(), 6u);
  for (const auto& [name, expected] : file.expected) {
    // patch_tokens are stored in fp32; everything else in double.
    const double tolerance = expected.dtype() == io::DType::F64 ? 1e-10 : 1e-6;
    const TensorComparison comparison =
        compareTensor(name, results.at(name), expected, {.absolute = tolerance, .relative = tolerance});
    EXPECT_TRUE(comparison.passed) << comparison.reason;
  }
}

}  // namespace
}  // namespace saccade::reference
