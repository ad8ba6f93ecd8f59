// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops_test.hpp"
#include "reference/ops.hpp"

namespace saccade::ops_test {
namespace {

// In forms that do not cancel for negative x, unlike the textbook's.
double gelu(double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); }
double geluTanh(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

class ActivationTest : public OpsTest {
 protected:
  ActivationTest() : stream(device) {}

  Values run(Dtype dtype, const Values& x, Activation activation) {
    const auto size = static_cast<std::int64_t>(x.size());
    const Tensor out = output(dtype, {size});
    stream.activation(Tensor::from(device, dtype, {size}, x), out, {.activation = activation});
    finish(stream);
    return out.download();
  }

  Stream stream;
};

// Floats of every sign and exponent, and a fine grid where the functions bend.
Values manyFloats() {
  Values values;
  for (std::uint32_t bits = 0x1234; bits < 0xffffd000u; bits += 12289) {
    const float value = std::bit_cast<float>(bits);
    if (std::isfinite(value)) values.push_back(value);
  }
  for (int i = -160000; i <= 160000; ++i) values.push_back(static_cast<float>(i) / 10000);
  return values;
}

TEST_F(ActivationTest, GeluIsAccurateRelativeToItsValueForEveryFloat) {
  const Values x = manyFloats(), result = run(Dtype::F32, x, Activation::Gelu);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = gelu(x[i]);
    const double error = std::abs(result[i] - expected);
    // Phi(x) below the smallest normal float may be flushed to 0; x is about -13 there.
    ASSERT_LE(error, std::max(1.2e-6 * std::abs(expected), 2e-37)) << "gelu(" << x[i] << ") is " << result[i];
    worst = std::max(worst, error / std::max(1.0, std::abs(expected)));
  }
  EXPECT_LE(worst, 3e-7);
}

TEST_F(ActivationTest, GeluTanhIsAccurateForEveryFloat) {
  const Values x = manyFloats(), result = run(Dtype::F32, x, Activation::GeluTanh);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = geluTanh(x[i]);
    ASSERT_LE(std::abs(result[i] - expected), 3e-7 * std::max(1.0, std::abs(expected)))
        << "gelu_tanh(" << x[i] << ") is " << result[i];
  }
}

TEST_F(ActivationTest, TreatsNanAndInfinityAsPlainArithmeticDoes) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const Activation activation : {Activation::Gelu, Activation::GeluTanh}) {
    for (const Dtype dtype : {Dtype::F32, Dtype::F16, Dtype::BF16}) {
      const Values result = run(dtype, {infinity, nan, -infinity, 0.0f}, activation);
      EXPECT_EQ(result[0], infinity);
      EXPECT_TRUE(std::isnan(result[1]));
      EXPECT_TRUE(std::isnan(result[2])) << "-infinity * 0";
      EXPECT_EQ(result[3], 0.0f);
    }
  }
}

TEST_F(ActivationTest, RoundsSixteenBitResultsToNearest) {
  for (const Dtype dtype : {Dtype::F16, Dtype::BF16}) {
    Values x;
    for (int i = -700; i <= 700; ++i) x.push_back(static_cast<float>(i) / 100);
    const Values rounded = Tensor::from(device, dtype, {static_cast<std::int64_t>(x.size())}, x).download();
    const Values result = run(dtype, x, Activation::Gelu);
    Doubles expected;
    Values plain;
    for (const float value : rounded) {
      expected.push_back(gelu(value));
      plain.push_back(static_cast<float>(gelu(value)));
    }
    const Tensor out = Tensor::from(device, dtype, {static_cast<std::int64_t>(x.size())}, result);
    expectClose(out, expected, plain, 0.01, dtypeText(dtype));
  }
}

TEST_F(ActivationTest, TakesAndWritesStridedTensors) {
  for (const Dtype dtype : {Dtype::F32, Dtype::F16, Dtype::BF16}) {
    const Tensor x = random(dtype, {3, 5, 2, 9}).permute({2, 0, 1, 3});
    const Tensor out = output(dtype, {2, 3, 6, 11}).slice(2, 1, 6).slice(3, 1, 10);
    stream.activation(x, out, {.activation = Activation::None});
    finish(stream);
    EXPECT_EQ(out.download(), x.download()) << "none copies";
  }
}

TEST_F(ActivationTest, MayWriteOverItsInput) {
  const Tensor x = random(Dtype::F32, {7, 1300});
  const Values expected = run(Dtype::F32, x.download(), Activation::Gelu);
  stream.activation(x, x, {.activation = Activation::Gelu});
  finish(stream);
  EXPECT_EQ(x.download(), expected);
}

TEST_F(ActivationTest, OfNothingDoesNothing) {
  const Tensor empty = Tensor::empty(device, Dtype::F32, {0});
  EXPECT_EQ(stream.activation(empty, empty, {})->info().dispatchCount, 0u);
}

}  // namespace
}  // namespace saccade::ops_test
