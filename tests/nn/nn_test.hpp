// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <saccade/nn.hpp>
#include <string>
#include <vector>

#include "io/tensor_data.hpp"
#include "reference/compare.hpp"

namespace saccade::nn {

// The device that all tests of the program share: SACCADE_DEVICE or the best one, with validation. It is one
// device per kernel, which every plan of that kernel's operator uses; "": the planner's choice.
Device testDevice(const std::string& kernel = "");

// Fails the test during which the validation layer had something to say.
class NnTest : public testing::Test {
 protected:
  explicit NnTest(const std::string& kernel = "")
      : device(testDevice(kernel)), stream(device), workspace(device),
        messagesBefore_(device.validationMessageCount()) {}
  void TearDown() override { EXPECT_EQ(device.validationMessageCount(), messagesBefore_) << "validation messages"; }

  Device device;
  Stream stream;
  Workspace workspace;

 private:
  std::uint64_t messagesBefore_;
};

// The same on every kernel of attention and of the matrix product.
class NnTestOfKernel : public NnTest, public testing::WithParamInterface<std::string> {
 protected:
  NnTestOfKernel() : NnTest(GetParam()) {}
};

#define SACCADE_FOR_EVERY_KERNEL(Suite)                                                                       \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values("scalar_rows", "scalar_tiled", "matmul_rows", "matmul_tiled"), \
                           [](const auto& parameter) { return parameter.param; })

// The same pseudo-random values from -scale to scale on every machine.
std::vector<float> randomValues(std::size_t count, std::uint32_t seed, float scale = 1.0f);

// What was downloaded, for comparing.
io::TensorData downloaded(const Tensor& tensor, const io::Shape& shape);

// Expects that every element is within `tolerance` of the expected one.
void expectNear(const std::string& name, const Tensor& result, const io::Shape& shape,
                std::span<const double> expected, const reference::TensorTolerance& tolerance);

// Runs `call`, which must throw an Error of status InvalidArgument, and returns its text.
template <typename Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::InvalidArgument) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

}  // namespace saccade::nn
