// SPDX-License-Identifier: Apache-2.0
// What quantising costs: the figures that docs/dtypes-and-accuracy.md gives, on the scalar path in double precision, so
// that they hold for every kernel.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "check/quantise.hpp"
#include "io/attention_case.hpp"
#include "reference/attention.hpp"

namespace saccade::check {
namespace {

using io::DType;
using io::TensorData;

TensorData normals(const io::Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(io::elementCount(shape)));
  for (double& value : values) value = normal(random);
  return TensorData::fromDoubles(DType::F16, shape, values);
}

io::AttentionCase normalCase(std::int64_t keys) {
  io::AttentionCase values;
  values.batch = 1;
  values.numHeadsQ = 4;
  values.numHeadsKv = 2;
  values.seqlenQ = 8;
  values.seqlenK = keys;
  values.headDimQk = values.headDimV = 128;
  values.q = normals({1, 4, 8, 128}, 1);
  values.k = normals({1, 2, keys, 128}, 2);
  values.v = normals({1, 2, keys, 128}, 3);
  return values;
}

std::vector<double> outOf(const io::AttentionCase& values) {
  return reference::attention(reference::problemFromCase(values).problem, reference::Probs::Skip).out;
}

// The root mean square of what quantising changes, relative to that of the output.
double relativeError(std::int64_t keys, DType dtype, std::int64_t block) {
  io::AttentionCase values = normalCase(keys);
  const std::vector<double> expected = outOf(values);
  Quantised k = quantise(values.k, dtype, block), v = quantise(values.v, dtype, block);
  values.k = std::move(k.stored);
  values.v = std::move(v.stored);
  values.kScale = std::move(k.scales);
  values.vScale = std::move(v.scales);
  values.scaleBlock = block;
  const std::vector<double> got = outOf(values);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

TEST(Quantise, CostsWhatTheGuideSays) {
  struct Figure {
    DType dtype;
    std::int64_t block;
    double error;
  };
  for (const Figure& figure : {Figure{DType::I8, 64, 0.0121}, Figure{DType::I8, 0, 0.0156}, Figure{DType::F8_E4M3, 64, 0.0366},
                               Figure{DType::F8_E4M3, 0, 0.0362}}) {
    const double error = relativeError(1024, figure.dtype, figure.block);
    EXPECT_NEAR(error, figure.error, 0.1 * figure.error) << io::dtypeName(figure.dtype) << " in blocks of " << figure.block;
  }
}

TEST(Quantise, MakesTheLargestOfEveryBlockTheLargestNumber) {
  const TensorData values = TensorData::fromDoubles(DType::F32, {1, 2, 3, 2}, std::vector{1.0, -2.0, 0.5, 0.25, 8.0, 4.0,   //
                                                                                       0.0, 0.0, 0.0, 0.0, 3.0, -1.5});
  const Quantised i8 = quantise(values, DType::I8, 2);
  EXPECT_EQ(i8.scales.shape(), (io::Shape{1, 2, 2, 1}));
  EXPECT_EQ(i8.scales.toFloats(), (std::vector<float>{2.0f / 127, 8.0f / 127, 1.0f, 3.0f / 127}));
  EXPECT_EQ(i8.stored.toDoubles(), (std::vector<double>{64, -127, 32, 16, 127, 64, 0, 0, 0, 0, 127, -64}));
  const Quantised f8 = quantise(values, DType::F8_E4M3, 0);
  EXPECT_EQ(f8.scales.toFloats(), (std::vector<float>{8.0f / 448, 3.0f / 448}));
  EXPECT_EQ(f8.stored.toDoubles(), (std::vector<double>{56, -112, 28, 14, 448, 224, 0, 0, 0, 0, 448, -224}));
}

TEST(Quantise, TakesTheTokensOfPackedSequencesTogether) {
  const TensorData values = TensorData::fromDoubles(DType::F32, {3, 2, 1}, std::vector{1.0, 10.0, 2.0, 20.0, 4.0, 40.0});
  const Quantised quantised = quantise(values, DType::F8_E4M3, 2);
  EXPECT_EQ(quantised.scales.shape(), (io::Shape{1, 2, 2, 1}));
  EXPECT_EQ(quantised.scales.toFloats(), (std::vector<float>{2.0f / 448, 4.0f / 448, 20.0f / 448, 40.0f / 448}));
  EXPECT_EQ(quantised.stored.toDoubles(), (std::vector<double>{224, 224, 448, 448, 448, 448}));
}

}  // namespace
}  // namespace saccade::check
