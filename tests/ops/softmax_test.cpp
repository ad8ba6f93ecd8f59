// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "io/special_values.hpp"
#include "ops_test.hpp"
#include "reference/ops.hpp"

namespace saccade::ops_test {
namespace {

template <typename Real>
std::vector<Real> scalarSoftmax(const Tensor& x) {
  const Values values = x.download();
  const std::int64_t n = x.shape().back();
  return reference::softmax<Real>(std::vector<Real>(values.begin(), values.end()), x.elementCount() / n, n);
}

class Softmax : public OpsTest, public testing::WithParamInterface<Dtype> {
 protected:
  Softmax() : stream(device) {}

  Values check(const Tensor& x, const Tensor& out, const std::string& what) {
    stream.softmax(x, out);
    finish(stream);
    expectClose(out, scalarSoftmax<double>(x), scalarSoftmax<float>(x), 1, what);
    return out.download();
  }

  Stream stream;
};

TEST_P(Softmax, IsRightForRowsOfAnyLength) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 63, 64, 65, 197, 513, 1000}) {
    check(random(GetParam(), {5, n}), output(GetParam(), {5, n}), "N " + std::to_string(n));
  }
}

TEST_P(Softmax, TakesAndWritesStridedRows) {
  check(random(GetParam(), {2, 5, 3, 20}).transpose(1, 2), output(GetParam(), {2, 3, 5, 25}).slice(3, 4, 24),
        "strided");
}

TEST_P(Softmax, MayWriteOverItsInput) {
  const Tensor x = random(GetParam(), {7, 300});
  const Doubles expected = scalarSoftmax<double>(x);
  const Values plain = scalarSoftmax<float>(x);
  stream.softmax(x, x);
  finish(stream);
  expectClose(x, expected, plain, 1, "in place");
}

TEST_P(Softmax, SubtractsTheMaximumSoThatNothingOverflows) {
  const Tensor x =
      Tensor::from(device, GetParam(), {2, 3}, Values{30000, 29999, -30000, -30000, -30000, -30001});
  check(x, output(GetParam(), {2, 3}), "large");
}

TEST_P(Softmax, GivesMinusInfinityExactlyZeroAndARowOfNothingElseZeros) {
  const Tensor x =
      Tensor::from(device, GetParam(), {2, 3}, Values{1, -kInfinity, 2, -kInfinity, -kInfinity, -kInfinity});
  const Values values = check(x, output(GetParam(), {2, 3}), "hidden");
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ((Values{values.begin() + 3, values.end()}), (Values{0, 0, 0}));
}

TEST_P(Softmax, ConfinesNanAndPlusInfinityToTheirRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x =
      Tensor::from(device, GetParam(), {4, 3}, Values{1, 2, 3, 1, nan, 3, kInfinity, 2, 3, nan, nan, nan});
  const Tensor out = output(GetParam(), {4, 3});
  stream.softmax(x, out);
  finish(stream);
  const Values values = out.download();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(std::isnan(values[i]), i >= 3) << i;
}

INSTANTIATE_TEST_SUITE_P(, Softmax, testing::Values(Dtype::F32, Dtype::F16, Dtype::BF16), dtypeName);

}  // namespace
}  // namespace saccade::ops_test
