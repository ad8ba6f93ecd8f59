// SPDX-License-Identifier: Apache-2.0
// A whole trained model on the device. Its weights (88 MB) are not kept here: tools/models/fetch_dinov2 fetches
// them, and the variable SACCADE_DINOV2 says where they are.
#include <cmath>
#include <cstdlib>

#include "io/case_file.hpp"
#include "nn_test.hpp"

namespace saccade::nn {
namespace {

class Dinov2OnKernel : public NnTestOfKernel {
 protected:
  // Euclidean norms and first rows of states [depth + 1, 1, T, E].
  static void addStates(io::TensorMap& results, const std::vector<float>& states, std::int64_t depth,
                        std::int64_t width) {
    const std::size_t size = states.size() / static_cast<std::size_t>(depth + 1);
    std::vector<double> norms;
    std::vector<float> classStates;
    for (std::size_t begin = 0; begin < states.size(); begin += size) {
      double squares = 0;
      for (std::size_t index = begin; index < begin + size; ++index) {
        squares += static_cast<double>(states[index]) * states[index];
      }
      norms.push_back(std::sqrt(squares));
      if (begin > 0) {
        const auto row = states.begin() + static_cast<std::ptrdiff_t>(begin);
        classStates.insert(classStates.end(), row, row + width);
      }
    }
    const std::span<const double> all(norms);
    results["embedding_norm"] = io::TensorData::fromDoubles(io::DType::F64, {1}, all.first(1));
    results["block_norms"] = io::TensorData::fromDoubles(io::DType::F64, {depth}, all.subspan(1));
    results["class_states"] = io::TensorData::fromFloats(io::DType::F32, {depth, width}, classStates);
  }
};

TEST_P(Dinov2OnKernel, GivesTheExpectedFeaturesOfThePortrait) {
  const char* path = std::getenv("SACCADE_DINOV2");
  if (path == nullptr) {
    GTEST_SKIP() << "set SACCADE_DINOV2 to what tools/models/fetch_dinov2 prints";
  }
  const io::CaseFile file =
      io::readCaseFile(std::filesystem::path(SACCADE_TEST_CASES) / "real/dinov2s_astronaut.safetensors");
  const Vit vit = Vit::load(device, path);
  const io::TensorData& pixels = file.requireInput("pixel_values");
  const Tensor images = Tensor::fromBytes(device, Dtype::F32, pixels.shape(), pixels.bytes());
  const auto empty = [&](const Shape& shape) { return Tensor::empty(device, Dtype::F32, shape, {.guard = true}); };
  const VitOutputs outputs{.features = empty({1, 384}),
                           .tokens = empty({1, 257, 384}),
                           .classAttention = empty({1, 6, 257}),
                           .states = empty({13, 1, 257, 384})};
  vit.forward(stream, workspace, images, outputs);
  stream.wait();

  io::TensorMap results = {{"class_token", downloaded(outputs.features, {384})},
                           {"patch_tokens", downloaded(outputs.tokens.slice(1, 1, 257), {256, 384})},
                           {"class_attention", downloaded(outputs.classAttention, {6, 257})}};
  addStates(results, outputs.states.download(), 12, 384);
  const auto comparison = reference::compareCase(file, results, io::PRounding::Fp32);
  ASSERT_EQ(comparison.tensors.size(), 6u);
  EXPECT_TRUE(comparison.passed());
  for (const auto& tensor : comparison.tensors) {
    EXPECT_TRUE(tensor.passed) << tensor.reason;
    RecordProperty(tensor.tensor + "_error_by_tolerance", std::to_string(tensor.ratio));
  }
}

INSTANTIATE_TEST_SUITE_P(, Dinov2OnKernel, testing::Values("scalar_rows", "scalar_tiled"),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace saccade::nn
