// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <saccade/runtime.hpp>

#include "reference/compare.hpp"

namespace saccade::ops_test {

using Values = std::vector<float>;
using Doubles = std::vector<double>;

// Runs on the one device that all tests of the program share, with validation: a message of the validation
// layer fails the test during which it came.
class OpsTest : public testing::Test {
 protected:
  OpsTest();
  void TearDown() override;

  // A contiguous tensor of normally distributed numbers, rounded to dtype, with guarded margins.
  Tensor random(Dtype dtype, const Shape& shape, float mean = 0);
  // An output: guarded, every element NaN until it is written.
  Tensor output(Dtype dtype, const Shape& shape) const;

  // Leaves the test out where the device cannot run a kernel at all.
  void requireKernel(const char* kernel);

  // Waits for the stream, and fails unless every guard is intact.
  void finish(Stream& stream) const;

  Device device;
  std::mt19937 generator{1};

 private:
  mutable std::vector<Tensor> guarded_;
  std::uint64_t messagesBefore_;
};

inline TensorDesc f32(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return {Dtype::F32, {a, b, c, d}};
}

io::DType storage(Dtype dtype);
std::string dtypeText(Dtype dtype);  // "f32"; for names of tests

// One kernel at one storage type, for parametrised tests.
struct MatmulVariant {
  const char* kernel;
  Dtype dtype;
};
std::vector<MatmulVariant> matmulVariants();
std::string matmulVariantName(const testing::TestParamInfo<MatmulVariant>& variant);
std::string dtypeName(const testing::TestParamInfo<Dtype>& dtype);

// The elements as numbers, row-major, whatever the strides.
Doubles doubles(const Tensor& tensor);
Doubles doubles(const Values& values);

// Compares a result with the scalar path in double precision; the tolerance is what plain fp32 earns.
void expectClose(const Tensor& result, const Doubles& expected, const Values& plain, double magnitude,
                 const std::string& what);

}  // namespace saccade::ops_test
