// SPDX-License-Identifier: Apache-2.0
// What plans of the operators say of themselves.
#include <string_view>

#include "ops_test.hpp"

namespace saccade::ops_test {
namespace {

class OpsPlan : public OpsTest {};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_F(OpsPlan, MatmulNamesWhatRunsAndWhatItCosts) {
  const PlanPtr plan = device.plan(MatmulDesc{.a = f32(2, 3, 50, 64),
                                              .b = f32(1, 1, 32, 64),
                                              .bias = f32(1, 1, 1, 32),
                                              .activation = Activation::Gelu,
                                              .kernel = "matmul_tiled"});
  const auto info = plan->info();
  EXPECT_STREQ(info.label, "matmul matmul_tiled f32 B2x3 M50 N32 K64 bias gelu");
  EXPECT_EQ(info.flops, 2.0 * 6 * 50 * 32 * 64);
  EXPECT_EQ(info.bytes, 4.0 * (6 * 50 * 64 + 32 * 64 + 32 + 6 * 50 * 32));
  EXPECT_EQ(info.scratchBytes, 0u);
  EXPECT_EQ(info.dispatchCount, 1u);
}

TEST_F(OpsPlan, MatmulGivesAReasonForEveryVariant) {
  const PlanPtr plan = device.plan(MatmulDesc{.a = f32(1, 1, 8, 8), .b = f32(1, 1, 8, 8)});
  EXPECT_TRUE(contains(plan->info().reason, "matmul_rows: ")) << plan->info().reason;
  EXPECT_TRUE(contains(plan->info().reason, "matmul_tiled: ")) << plan->info().reason;
}

TEST_F(OpsPlan, TheOthersHaveLabelsToo) {
  EXPECT_STREQ(device.plan(LayerNormDesc{.x = f32(1, 2, 3, 4)})->info().label,
               "layer_norm f32 x[1, 2, 3, 4]");
  EXPECT_STREQ(device.plan(SoftmaxDesc{.x = f32(1, 2, 3, 4)})->info().label, "softmax f32 x[1, 2, 3, 4]");
  EXPECT_STREQ(device.plan(ActivationDesc{.x = f32(1, 2, 3, 4)})->info().label,
               "activation gelu f32 x[1, 2, 3, 4]");
  const PlanPtr patches = device.plan(PatchEmbedDesc{.image = f32(1, 3, 8, 8),
                                                     .weight = f32(6, 3, 4, 4),
                                                     .bias = f32(1, 1, 1, 6),
                                                     .patchSize = 4,
                                                     .kernel = "matmul_tiled"});
  EXPECT_STREQ(patches->info().label, "patch_embed matmul_tiled f32 image[1, 3, 8, 8] patch4 E6 bias");
  EXPECT_EQ(patches->info().flops, 2.0 * 4 * 6 * 48);
}

}  // namespace
}  // namespace saccade::ops_test
