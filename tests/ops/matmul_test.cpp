// SPDX-License-Identifier: Apache-2.0
// Both matmul kernels at all storage types against the scalar path.
#include <cmath>
#include <limits>
#include <numeric>

#include "ops_test.hpp"
#include "reference/ops.hpp"

namespace saccade::ops_test {
namespace {

// What an element of the result is, computed from the tensors as they are viewed: four axes, b, bias and
// residual broadcast by expand().
template <typename Real>
std::vector<Real> scalarMatmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const Shape& shape = a.shape();
  const auto matrices = static_cast<std::size_t>(shape[0] * shape[1]);
  const std::int64_t rows = shape[2], depth = shape[3], columns = b.size(2);
  const auto read = [](const Tensor& tensor) {
    const Values values = tensor.download();
    return std::vector<Real>(values.begin(), values.end());
  };
  const std::vector<Real> aValues = read(a), bValues = read(b.expand({shape[0], shape[1], columns, depth}));
  const std::vector<Real> bias = options.bias ? read(options.bias) : std::vector<Real>{};
  std::vector<Real> result;
  for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
    const auto part = [&](const std::vector<Real>& values) {
      return std::span(values).subspan(matrix * (values.size() / matrices), values.size() / matrices);
    };
    const std::vector<Real> one = reference::matmul<Real>(
        part(aValues), part(bValues), reference::WeightLayout::Nk, bias, rows, columns, depth);
    result.insert(result.end(), one.begin(), one.end());
  }
  if (options.activation != Activation::None) {
    result = reference::gelu<Real>(
        result, options.activation == Activation::Gelu ? reference::Gelu::Exact : reference::Gelu::Tanh);
  }
  if (!options.residual) return result;
  return reference::add<Real>(result, read(options.residual.expand({shape[0], shape[1], rows, columns})));
}

class Matmul : public OpsTest, public testing::WithParamInterface<MatmulVariant> {
 protected:
  void SetUp() override { requireKernel(GetParam().kernel); }
  Matmul() : stream(device), dtype(GetParam().dtype) {}

  // Runs the product into `out` and compares. The size of the sums is estimated from their depth.
  void check(const Tensor& a, const Tensor& b, const Tensor& out, MatmulOptions options,
             const std::string& what) {
    options.kernel = GetParam().kernel + tile;
    const PlanPtr plan = stream.matmul(a, b, out, options);
    EXPECT_STREQ(plan->info().kernel, GetParam().kernel);
    finish(stream);
    expectClose(out, scalarMatmul<double>(a, b, options), scalarMatmul<float>(a, b, options),
                3 * std::sqrt(static_cast<double>(a.size(3))), what);
  }

  Stream stream;
  Dtype dtype;
  std::string tile;  // what else `check` asks for
};

TEST_P(Matmul, IsRightAtEverySizeAroundTheEdgesOfTiles) {
  const std::int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 37, 63, 64, 65, 127, 128, 129};
  std::uniform_int_distribution<std::size_t> pick(0, std::size(sizes) - 1);
  for (const std::int64_t size : sizes) {
    for (int axis = 0; axis < 3; ++axis) {
      std::int64_t mnk[3] = {sizes[pick(generator)], sizes[pick(generator)], sizes[pick(generator)]};
      mnk[axis] = size;
      const auto [m, n, k] = mnk;
      check(random(dtype, {1, 1, m, k}), random(dtype, {1, 1, n, k}), output(dtype, {1, 1, m, n}),
            {.bias = random(dtype, {n}), .residual = random(dtype, {1, 1, m, n})},
            "M " + std::to_string(m) + " N " + std::to_string(n) + " K " + std::to_string(k));
    }
  }
}

TEST_P(Matmul, TakesAnyLayoutOfItsOperands) {
  const std::int64_t m = 21, k = 27;
  for (const std::int64_t n : {11, 75}) {
    const Tensor aViews[] = {
        random(dtype, {1, 1, m, k}),
        random(dtype, {1, 1, k, m}).transpose(2, 3),
        random(dtype, {1, 1, m, k + 5}).slice(3, 2, k + 2),
        random(dtype, {1, 1, m, k, 3}).select(4, 1),
        random(dtype, {1, 1, 1, k}).expand({1, 1, m, k}),
    };
    const Tensor bViews[] = {
        random(dtype, {1, 1, n, k}),
        random(dtype, {1, 1, k, n}).transpose(2, 3),
        random(dtype, {1, 1, k, n + 3}).slice(3, 1, n + 1).transpose(2, 3),
        random(dtype, {1, 1, n, k, 2}).select(4, 1),
    };
    for (const Tensor& a : aViews) {
      for (const Tensor& b : bViews) {
        const Tensor wide = output(dtype, {1, 1, m, n + 4});
        check(a, b, wide.slice(3, 3, n + 3), {}, "N " + std::to_string(n));
      }
    }
  }
}

TEST_P(Matmul, ReadsWholeVectorsWhereOperandsAreAligned) {
  const std::int64_t m = 100, n = 72, k = 90;  // some chunks of the depth, and a part of one
  for (const std::int64_t pitch : {96, 91}) {  // aligned, and not
    const Tensor aViews[] = {random(dtype, {1, 1, m, pitch}).slice(3, 0, k), random(dtype, {1, 1, k, pitch + 8}).slice(3, 0, m - 8).transpose(2, 3)};
    const Tensor bViews[] = {random(dtype, {1, 1, n, pitch}).slice(3, 0, k), random(dtype, {1, 1, k, pitch}).slice(3, 0, n).transpose(2, 3)};
    for (const Tensor& a : aViews) {
      for (const Tensor& b : bViews) {
        check(a, b, output(dtype, {1, 1, a.size(2), n}), {}, "pitch " + std::to_string(pitch));
      }
    }
  }
}

TEST_P(Matmul, TakesTilesThatAreAskedFor) {
  if (std::string_view(GetParam().kernel) != "matmul_coopmat") return;  // the others stage no vectors
  // More vectors to stage than invocations, fewer, and no multiple of them.
  const std::string least = device.facts().subgroupSize == 8 ? "8" : "16";
  for (const std::string& asked : {" rows_each=1 columns_each=1 chunk=" + least, " rows_each=3 columns_each=2 chunk=" + least,
                                   std::string(" rows_each=1 columns_each=3 chunk=32")}) {
    tile = asked;
    const Tensor across = random(dtype, {1, 1, 96, 72}).transpose(2, 3);
    check(random(dtype, {1, 1, 100, 96}), random(dtype, {1, 1, 72, 96}), output(dtype, {1, 1, 100, 72}), {}, tile);
    check(across, random(dtype, {1, 1, 96, 52}).transpose(2, 3), output(dtype, {1, 1, 72, 52}), {}, tile);
  }
}

TEST_P(Matmul, MultipliesBatchesWithOneWeightOrMany) {
  const std::int64_t m = 10, n = 18, k = 20;
  const Tensor a = random(dtype, {2, 3, m, k});
  const Tensor residual = random(dtype, {2, 3, m, n});
  for (const Shape& batch : {Shape{2, 3}, Shape{1, 3}, Shape{2, 1}, Shape{1, 1}}) {
    const Tensor b = random(dtype, {batch[0], batch[1], n, k});
    check(a, b, output(dtype, {2, 3, m, n}), {.residual = residual}, "contiguous");
    // Heads side by side, as attention wants them: the batch axes do not fold into rows.
    check(a, b, output(dtype, {2, m, 3, n}).transpose(1, 2), {}, "heads side by side");
    check(random(dtype, {2, m, 3, k}).transpose(1, 2), b, output(dtype, {2, 3, m, n}), {},
          "from heads side by side");
  }
  for (const Shape& shape :
       {Shape{1, 3, m, n}, Shape{2, 1, m, n}, Shape{1, 1, m, n}, Shape{1, 1, 1, n}, Shape{2, 3, 1, n}}) {
    check(a, random(dtype, {1, 1, n, k}), output(dtype, {2, 3, m, n}), {.residual = random(dtype, shape)},
          "broadcast residual");
  }
}

TEST_P(Matmul, TreatsOneRowPerSampleAsRows) {
  // The class token of every sample, picked out of [B, T, E].
  const Tensor tokens = random(dtype, {9, 5, 33});
  const Tensor a = tokens.slice(1, 0, 1).unsqueeze(1);
  check(a, random(dtype, {1, 1, 12, 33}), output(dtype, {9, 1, 1, 12}), {.bias = random(dtype, {12})},
        "class tokens");
}

TEST_P(Matmul, AppliesBiasThenActivationThenResidual) {
  const std::int64_t m = 13, n = 30, k = 19;
  const Tensor a = random(dtype, {1, 1, m, k}), b = random(dtype, {1, 1, n, k});
  const Tensor bias = random(dtype, {n}), residual = random(dtype, {1, 1, m, n});
  for (const Activation activation : {Activation::None, Activation::Gelu, Activation::GeluTanh}) {
    for (int given = 0; given < 4; ++given) {
      check(a, b, output(dtype, {1, 1, m, n}),
            {.bias = given & 1 ? bias : Tensor{},
             .residual = given & 2 ? residual : Tensor{},
             .activation = activation},
            "activation " + std::to_string(static_cast<int>(activation)) + " given " + std::to_string(given));
    }
  }
}

TEST_P(Matmul, MayAddToItsResidualInPlace) {
  const Tensor a = random(dtype, {1, 1, 50, 40}), b = random(dtype, {1, 1, 70, 40});
  const Tensor residual = random(dtype, {1, 1, 50, 70}), apart = output(dtype, {1, 1, 50, 70});
  stream.matmul(a, b, apart, {.residual = residual, .kernel = GetParam().kernel});
  stream.matmul(a, b, residual, {.residual = residual, .kernel = GetParam().kernel});
  finish(stream);
  EXPECT_EQ(residual.downloadBytes(), apart.downloadBytes());
}

TEST_P(Matmul, WithoutDepthIsItsEpilogue) {
  const std::int64_t m = 11, n = 21;
  const Tensor a = Tensor::empty(device, dtype, {1, 1, m, 0}), b = Tensor::empty(device, dtype, {1, 1, n, 0});
  check(a, b, output(dtype, {1, 1, m, n}), {}, "zeros");
  check(a, b, output(dtype, {1, 1, m, n}),
        {.bias = random(dtype, {n}), .residual = random(dtype, {1, 1, m, n}), .activation = Activation::Gelu},
        "epilogue");
}

TEST_P(Matmul, WithoutRowsColumnsOrBatchDoesNothing) {
  const Shape shapes[][2] = {
      {{1, 1, 0, 8}, {1, 1, 5, 8}}, {{1, 1, 6, 8}, {1, 1, 0, 8}}, {{0, 2, 6, 8}, {1, 1, 5, 8}}};
  for (const auto& [a, b] : shapes) {
    const Tensor out = Tensor::empty(device, dtype, {a[0], a[1], a[2], b[2]});
    const PlanPtr plan = stream.matmul(Tensor::empty(device, dtype, a), Tensor::empty(device, dtype, b), out,
                                       {.kernel = GetParam().kernel});
    EXPECT_EQ(plan->info().dispatchCount, 0u);
  }
  finish(stream);
}

TEST_P(Matmul, PassesNanAndInfinityOnToTheElementsThatUseThem) {
  const std::int64_t m = 20, n = 70, k = 21;
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t depth : {std::int64_t{0}, std::int64_t{9}, k - 1}) {
    const Tensor a = random(dtype, {1, 1, m, k}), b = random(dtype, {1, 1, n, k});
    a.slice(2, 7, 8).slice(3, depth, depth + 1).upload(Values{nan});
    b.slice(2, 66, 67).slice(3, depth, depth + 1).upload(Values{infinity});
    a.slice(2, 3, 4).slice(3, depth, depth + 1).upload(Values{0});
    const Tensor out = output(dtype, {1, 1, m, n});
    stream.matmul(a, b, out, {.kernel = GetParam().kernel});
    finish(stream);
    const Values values = out.download();
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        const float value = values[static_cast<std::size_t>(row * n + column)];
        const bool expectNan = row == 7 || (row == 3 && column == 66);  // 0 * infinity is NaN
        EXPECT_EQ(std::isnan(value), expectNan) << "row " << row << " column " << column;
        EXPECT_EQ(std::isinf(value), column == 66 && !expectNan) << "row " << row << " column " << column;
      }
    }
  }
}

TEST_P(Matmul, GivesTheSameBitsTwice) {
  const Tensor a = random(dtype, {1, 1, 50, 96}), b = random(dtype, {1, 1, 70, 96});
  const Tensor first = output(dtype, {1, 1, 50, 70}), second = output(dtype, {1, 1, 50, 70});
  stream.matmul(a, b, first, {.kernel = GetParam().kernel});
  stream.matmul(a, b, second, {.kernel = GetParam().kernel});
  finish(stream);
  EXPECT_EQ(first.downloadBytes(), second.downloadBytes());
}

TEST_P(Matmul, SumsInFp32AndRoundsOnce) {
  // 4096 products of 1/64 squared and one of 1: fp16 or bf16 sums would lose them.
  const std::int64_t k = 4097;
  Values values(static_cast<std::size_t>(k), 1.0f / 64);
  values[0] = 1;
  const Tensor a = Tensor::from(device, dtype, {1, 1, 1, k}, values);
  const Tensor out = output(dtype, {1, 1, 1, 1});
  stream.matmul(a, a, out, {.kernel = GetParam().kernel});
  finish(stream);
  EXPECT_EQ(out.download()[0], 2.0f);
}

INSTANTIATE_TEST_SUITE_P(, Matmul, testing::ValuesIn(matmulVariants()), matmulVariantName);

}  // namespace
}  // namespace saccade::ops_test
