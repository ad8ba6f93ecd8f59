// SPDX-License-Identifier: Apache-2.0
// Every refusal names the field, its value and what is allowed, and happens before anything is recorded.
#include <limits>

#include "ops_test.hpp"

namespace saccade::ops_test {
namespace {

class OpsRefusal : public OpsTest {
 protected:
  // The plan of `desc` must be refused for `field`, with every part in the sentence.
  template <class Desc>
  void expectRefusal(const Desc& desc, const std::string& field,
                     const std::vector<std::string>& parts) const {
    try {
      device.plan(desc);
      ADD_FAILURE() << "nothing was refused; expected " << field;
    } catch (const Error& error) {
      EXPECT_EQ(error.field(), field) << error.what();
      for (const std::string& part : parts) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << error.what() << "\nlacks: " << part;
      }
    }
  }
};

TEST_F(OpsRefusal, MatmulChecksShapesAgainstEachOther) {
  const MatmulDesc good{.a = f32(2, 3, 5, 8), .b = f32(1, 3, 7, 8)};
  MatmulDesc desc = good;
  desc.b = f32(1, 1, 8, 7);
  expectRefusal(desc, "b.sizes", {"b.sizes[3] is 7", "a.sizes[3] is 8"});
  desc = good;
  desc.b = f32(1, 2, 7, 8);
  expectRefusal(desc, "b.sizes", {"b.sizes[1] is 2", "3 or 1"});
  desc = good;
  desc.bias = f32(1, 1, 1, 6);
  expectRefusal(desc, "bias.sizes", {"[1, 1, 1, 6]", "[1, 1, 1, 7]"});
  desc = good;
  desc.residual = f32(2, 3, 5, 1);
  expectRefusal(desc, "residual.sizes", {"residual.sizes[3] is 1", "7"});
  desc.residual = f32(2, 3, 4, 7);
  expectRefusal(desc, "residual.sizes", {"residual.sizes[2] is 4", "5 or 1"});
  desc = good;
  desc.out = f32(2, 3, 7, 5);
  expectRefusal(desc, "out.sizes", {"[2, 3, 7, 5]", "[2, 3, 5, 7]"});
}

TEST_F(OpsRefusal, MatmulChecksDtypesStridesActivationAndKernel) {
  const MatmulDesc good{.a = f32(1, 1, 5, 8), .b = f32(1, 1, 7, 8)};
  MatmulDesc desc = good;
  desc.a.dtype = Dtype::U8;
  expectRefusal(desc, "a.dtype", {"u8", "f32, f16, bf16"});
  desc = good;
  desc.b.dtype = Dtype::F16;
  expectRefusal(desc, "b.dtype", {"f16", "f32"});
  desc = good;
  desc.out = TensorDesc{Dtype::F32, {1, 1, 5, 7}, {35, 35, 6, 1}};
  expectRefusal(desc, "out.strides", {"out.strides[2] is 6", "must not overlap"});
  desc.out = TensorDesc{Dtype::F32, {1, 1, 5, 7}, {35, 35, 1, 5}};
  expectRefusal(desc, "out.strides", {"out.strides[3] is 5"});
  desc = good;
  desc.a.strides = {40, 40, -8, 1};
  expectRefusal(desc, "a.strides", {"a.strides[2] is -8"});
  desc = good;
  desc.activation = static_cast<Activation>(9);
  expectRefusal(desc, "activation", {"9", "gelu_tanh"});
  desc = good;
  desc.kernel = "scalar_rows";
  expectRefusal(desc, "kernel", {"scalar_rows", "matmul_rows, matmul_tiled, matmul_coopmat"});
  desc = good;
  desc.a = f32(1, 1, -5, 8);
  expectRefusal(desc, "a.sizes", {"a.sizes[2] is -5"});
}

TEST_F(OpsRefusal, LayerNormChecksEpsilonAndItsVectors) {
  const LayerNormDesc good{.x = f32(1, 1, 3, 8)};
  LayerNormDesc desc = good;
  for (const float epsilon :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    desc.epsilon = epsilon;
    expectRefusal(desc, "epsilon", {"finite and >= 0"});
  }
  desc.epsilon = -1;
  expectRefusal(desc, "epsilon", {"epsilon is -1"});
  desc = good;
  desc.weight = f32(1, 1, 1, 8);
  expectRefusal(desc, "bias.dtype", {"bias is absent", "both or neither"});
  desc.bias = f32(1, 1, 1, 7);
  expectRefusal(desc, "bias.sizes", {"[1, 1, 1, 7]", "[1, 1, 1, 8]"});
  desc = good;
  desc.bias = f32(1, 1, 1, 8);
  expectRefusal(desc, "weight.dtype", {"weight is absent"});
}

TEST_F(OpsRefusal, SoftmaxAndActivationCheckTheirTensors) {
  SoftmaxDesc softmax{.x = f32(1, 1, 3, 8), .out = f32(1, 1, 8, 3)};
  expectRefusal(softmax, "out.sizes", {"[1, 1, 8, 3]", "[1, 1, 3, 8]"});
  softmax.x.dtype = Dtype::I32;
  expectRefusal(softmax, "x.dtype", {"i32"});
  ActivationDesc activation{.x = f32(1, 1, 3, 8), .activation = static_cast<Activation>(1000)};
  expectRefusal(activation, "activation", {"1000"});
  activation = {.x = {Dtype::F32, {1, 1, 3, 8}, {24, 24, 1, 3}}};
  expectRefusal(activation, "x.strides", {"x.strides[3] is 3", "contiguous"});
}

TEST_F(OpsRefusal, PatchEmbedChecksThePatchSizeAndTheWeight) {
  const PatchEmbedDesc good{.image = f32(2, 3, 28, 42), .weight = f32(10, 3, 7, 7), .patchSize = 7};
  PatchEmbedDesc desc = good;
  desc.patchSize = 0;
  expectRefusal(desc, "patchSize", {"patchSize is 0"});
  desc.patchSize = 5;
  expectRefusal(desc, "patchSize", {"5", "height", "28"});
  desc.patchSize = 4;
  expectRefusal(desc, "patchSize", {"4", "width", "42"});
  desc = good;
  desc.weight = f32(10, 1, 7, 7);
  expectRefusal(desc, "weight.sizes", {"[10, 1, 7, 7]", "[10, 3, 7, 7]"});
  desc.weight = {Dtype::F32, {10, 3, 7, 7}, {147, 49, 8, 1}};
  expectRefusal(desc, "weight.strides", {"weight.strides[2] is 8", "contiguous"});
  desc = good;
  desc.out = f32(2, 1, 23, 10);
  expectRefusal(desc, "out.sizes", {"[2, 1, 24, 10]"});
}

TEST_F(OpsRefusal, StructuresOfAnotherVersionAreRefused) {
  const auto expectStructSize = [&](auto create, auto desc) {
    desc.structSize -= 8;
    SaccadePlan plan = nullptr;
    SaccadeMessage message{};
    EXPECT_EQ(create(device.context().handle(), &desc, &plan, &message), SACCADE_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(message.field, "structSize");
    EXPECT_EQ(plan, nullptr);
  };
  expectStructSize(saccadeCreateMatmulPlan, saccadeMatmulDescDefault());
  expectStructSize(saccadeCreateLayerNormPlan, saccadeLayerNormDescDefault());
  expectStructSize(saccadeCreateSoftmaxPlan, saccadeSoftmaxDescDefault());
  expectStructSize(saccadeCreateActivationPlan, saccadeActivationDescDefault());
  expectStructSize(saccadeCreatePatchEmbedPlan, saccadePatchEmbedDescDefault());
}

TEST_F(OpsRefusal, RecordingChecksEveryRange) {
  const Tensor a = Tensor::zeros(device, Dtype::F32, {4, 8});
  try {
    const PlanPtr plan = device.plan(MatmulDesc{.a = f32(1, 1, 4, 8), .b = f32(1, 1, 4, 8)});
    plan->record(reinterpret_cast<VkCommandBuffer>(1), MatmulBuffers{.a = a.buffer()});
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "b") << error.what();
  }
}

}  // namespace
}  // namespace saccade::ops_test
