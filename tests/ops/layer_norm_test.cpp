// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops_test.hpp"
#include "reference/ops.hpp"
#include "reference/tolerance.hpp"

namespace saccade::ops_test {
namespace {

template <typename Real>
std::vector<Real> scalarLayerNorm(const Tensor& x, const LayerNormOptions& options) {
  const auto read = [](const Tensor& tensor) {
    const Values values = tensor ? tensor.download() : Values{};
    return std::vector<Real>(values.begin(), values.end());
  };
  const std::int64_t n = x.shape().back();
  return reference::layerNorm<Real>(read(x), read(options.weight), read(options.bias), x.elementCount() / n,
                                    n, options.epsilon);
}

class LayerNorm : public OpsTest, public testing::WithParamInterface<Dtype> {
 protected:
  LayerNorm() : stream(device) {}

  void check(const Tensor& x, const Tensor& out, const LayerNormOptions& options, const std::string& what) {
    stream.layerNorm(x, out, options);
    finish(stream);
    const Doubles expected = scalarLayerNorm<double>(x, options);
    expectClose(out, expected, scalarLayerNorm<float>(x, options), reference::largestMagnitude(expected),
                what);
  }

  Stream stream;
};

TEST_P(LayerNorm, NormalisesRowsOfAnyLength) {
  for (const std::int64_t n : {1, 2, 3, 5, 7, 8, 9, 63, 64, 65, 192, 384, 511, 512, 513, 768, 1000}) {
    const Tensor x = random(GetParam(), {5, n});
    const std::string what = "N " + std::to_string(n);
    check(x, output(GetParam(), {5, n}), {.epsilon = 1e-6f}, what);
    check(x, output(GetParam(), {5, n}), {.weight = random(GetParam(), {n}), .bias = random(GetParam(), {n})},
          what);
  }
}

TEST_P(LayerNorm, TakesStridedRowsAndWritesStridedRows) {
  const std::int64_t n = 24;
  const Tensor x = random(GetParam(), {2, 5, 3, n}).transpose(1, 2);  // [2, 3, 5, n]
  const Tensor out = output(GetParam(), {2, 3, 6, n + 2}).slice(2, 1, 6).slice(3, 0, n);
  check(x, out, {.weight = random(GetParam(), {n}), .bias = random(GetParam(), {n})}, "strided");
  check(random(GetParam(), {n}).expand({4, n}), output(GetParam(), {4, n}), {}, "one row for all");
}

TEST_P(LayerNorm, KeepsItsAccuracyFarFromZero) {
  const std::int64_t n = 768;
  const Tensor x = random(GetParam(), {4, n}, 100);
  check(x, output(GetParam(), {4, n}), {.epsilon = 1e-6f}, "mean 100");
}

TEST_P(LayerNorm, MayWriteOverItsInput) {
  const Tensor x = random(GetParam(), {7, 300});
  const Doubles expected = scalarLayerNorm<double>(x, {});
  const Values plain = scalarLayerNorm<float>(x, {});
  stream.layerNorm(x, x, {});
  finish(stream);
  expectClose(x, expected, plain, reference::largestMagnitude(expected), "in place");
}

TEST_P(LayerNorm, ConfinesNanToItsRow) {
  const Tensor x = random(GetParam(), {3, 40});
  x.slice(0, 1, 2).slice(1, 17, 18).upload(Values{std::numeric_limits<float>::quiet_NaN()});
  const Tensor out = output(GetParam(), {3, 40});
  stream.layerNorm(x, out, {});
  finish(stream);
  const Values values = out.download();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(std::isnan(values[i]), i / 40 == 1) << i;
}

TEST_P(LayerNorm, OfNothingDoesNothing) {
  for (const Shape& shape : {Shape{0, 8}, Shape{3, 0}}) {
    const Tensor empty = Tensor::empty(device, GetParam(), shape);
    EXPECT_EQ(stream.layerNorm(empty, empty, {})->info().dispatchCount, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(, LayerNorm, testing::Values(Dtype::F32, Dtype::F16, Dtype::BF16), dtypeName);

}  // namespace
}  // namespace saccade::ops_test
