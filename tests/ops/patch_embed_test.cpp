// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops_test.hpp"
#include "reference/ops.hpp"

namespace saccade::ops_test {
namespace {

template <typename Real>
std::vector<Real> scalarPatchEmbed(const Tensor& image, const Tensor& weight,
                                   const PatchEmbedOptions& options) {
  const auto read = [](const Tensor& tensor) {
    const Values values = tensor ? tensor.download() : Values{};
    return std::vector<Real>(values.begin(), values.end());
  };
  const Shape& shape = image.shape();
  std::vector<Real> result =
      reference::patchEmbed<Real>(read(image), read(weight), read(options.bias),
                                  {shape[0], shape[1], shape[2], shape[3]}, weight.size(2), weight.size(0));
  if (!options.residual) return result;
  const std::int64_t patches = shape[2] / weight.size(2) * (shape[3] / weight.size(2));
  return reference::add<Real>(result, read(options.residual.expand({shape[0], 1, patches, weight.size(0)})));
}

class PatchEmbed : public OpsTest, public testing::WithParamInterface<MatmulVariant> {
 protected:
  void SetUp() override { requireKernel(GetParam().kernel); }
  PatchEmbed() : stream(device), dtype(GetParam().dtype) {}

  void check(const Tensor& image, const Tensor& weight, const Tensor& out, PatchEmbedOptions options) {
    options.kernel = GetParam().kernel;
    stream.patchEmbed(image, weight, out, options);
    finish(stream);
    const double depth = static_cast<double>(image.size(1) * weight.size(2) * weight.size(2));
    expectClose(out, scalarPatchEmbed<double>(image, weight, options),
                scalarPatchEmbed<float>(image, weight, options), 3 * std::sqrt(depth),
                "patch " + std::to_string(weight.size(2)));
  }

  Stream stream;
  Dtype dtype;
};

TEST_P(PatchEmbed, EmbedsPatchesRowByRow) {
  for (const std::int64_t patch : {1, 2, 3, 4, 7}) {
    const std::int64_t height = 2 * patch, width = 3 * patch;
    check(random(dtype, {2, 3, height, width}), random(dtype, {20, 3, patch, patch}),
          output(dtype, {2, 1, 6, 20}),
          {.bias = random(dtype, {20}), .residual = random(dtype, {1, 1, 6, 20})});
  }
}

TEST_P(PatchEmbed, LeavesRoomForOtherTokensInItsOutput) {
  const Tensor tokens = output(dtype, {2, 1, 5, 8});
  check(random(dtype, {2, 1, 4, 4}), random(dtype, {8, 1, 2, 2}), tokens.slice(2, 1, 5),
        {.bias = random(dtype, {8})});
  for (const float value : tokens.slice(2, 0, 1).download()) {
    EXPECT_TRUE(std::isnan(value)) << "the class token's place";
  }
}

TEST_P(PatchEmbed, TakesPartsOfPictures) {
  const Tensor picture = random(dtype, {2, 4, 10, 13});
  check(picture.slice(1, 0, 3).slice(2, 1, 9).slice(3, 1, 13), random(dtype, {9, 3, 4, 4}),
        output(dtype, {2, 1, 6, 9}), {});
}

TEST_P(PatchEmbed, NeedsAlignedScratchForTheRowsOfPatches) {
  const PlanPtr plan = stream.patchEmbed(random(dtype, {2, 3, 4, 4}), random(dtype, {8, 3, 2, 2}),
                                         output(dtype, {2, 1, 4, 8}), {.kernel = GetParam().kernel});
  EXPECT_EQ(plan->info().scratchBytes, 2u * 4 * 12 * (dtype == Dtype::F32 ? 4 : 2));
  EXPECT_EQ(plan->info().dispatchCount, 2u);
  EXPECT_EQ(plan->info().barrierCount, 1u);
  finish(stream);
}

INSTANTIATE_TEST_SUITE_P(, PatchEmbed, testing::ValuesIn(matmulVariants()), matmulVariantName);

}  // namespace
}  // namespace saccade::ops_test
