// SPDX-License-Identifier: Apache-2.0
// A device with Vulkan 1.2, bufferDeviceAddress and nothing else: everything works, and the validation layer, which knows what
// was enabled, is silent.
#include <algorithm>
#include <cstring>
#include <set>

#include "io/half.hpp"
#include "work.hpp"

namespace saccade::host {
namespace {

constexpr SaccadeDtype kFloats[] = {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16};

class MinimalDevice : public HostTest {};

TEST_F(MinimalDevice, RunsEveryAttentionKernel) {
  uint32_t count = 0;
  ASSERT_EQ(saccadeGetKernels(context, &count, nullptr, nullptr), SACCADE_OK);
  std::vector<SaccadeKernelInfo> kernels(count);
  ASSERT_EQ(saccadeGetKernels(context, &count, kernels.data(), nullptr), SACCADE_OK);
  std::set<std::string> ran;
  for (const SaccadeKernelInfo& kernel : kernels) {
    if (kernel.op != SACCADE_OPERATOR_ATTENTION || !kernel.selectable || !kernel.supported) continue;
    for (const SaccadeDtype dtype : kFloats) {
      if (dtype == SACCADE_DTYPE_F32 && std::strcmp(kernel.name, "widened_rows") == 0) continue;  // for 16 bits alone
      if (dtype != SACCADE_DTYPE_F16 && std::strncmp(kernel.name, "coopmat", 7) == 0) continue;   // for fp16 alone
      if (dtype == SACCADE_DTYPE_BF16 && std::strcmp(kernel.name, "scalar_rows") != 0) continue;  // read as F16 is, to save time
      Work work(host, context, {.batch = 2, .dtype = dtype, .mask = true, .lengths = true, .kernel = kernel.name});
      work.seqlensK.as<int32_t>()[1] = 21;
      Commands commands(host);
      work.record(commands);
      commands.end();
      host.run({commands});
      work.expectRight(work.info().label);
      ran.insert(kernel.name);
    }
  }
  for (const char* name : {"scalar_rows", "scalar_tiled", "flash_decode", "split_kv", "widened_rows"}) EXPECT_TRUE(ran.contains(name)) << name;
}

TEST_F(MinimalDevice, IsToldWhatItWouldGain) {
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV};
  VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR rotate{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR, &matrix2};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, &rotate};
  VkPhysicalDeviceSubgroupSizeControlFeatures sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, &matrix};
  VkPhysicalDeviceVulkan12Features vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &sizes};
  VkPhysicalDeviceVulkan11Features vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &vulkan12};
  VkPhysicalDeviceFeatures2 available{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &vulkan11};
  vkGetPhysicalDeviceFeatures2(host.physicalDevice, &available);
  if (!matrix2.cooperativeMatrixFlexibleDimensions) matrix2 = {matrix2.sType};  // the rest is of no use
  std::set<std::string> features;
  if (available.features.shaderInt64) features.insert("VkPhysicalDeviceFeatures::shaderInt64");
  if (vulkan11.storageBuffer16BitAccess) features.insert("VkPhysicalDeviceVulkan11Features::storageBuffer16BitAccess");
  if (vulkan12.storageBuffer8BitAccess) features.insert("VkPhysicalDeviceVulkan12Features::storageBuffer8BitAccess");
  const std::pair<VkBool32, const char*> others[] = {
      {vulkan12.shaderFloat16, "VkPhysicalDeviceVulkan12Features::shaderFloat16"},
      {vulkan12.vulkanMemoryModel && vulkan12.vulkanMemoryModelDeviceScope, "VkPhysicalDeviceVulkan12Features::vulkanMemoryModel"},
      {vulkan12.vulkanMemoryModelDeviceScope, "VkPhysicalDeviceVulkan12Features::vulkanMemoryModelDeviceScope"},
      {sizes.subgroupSizeControl, "VkPhysicalDeviceSubgroupSizeControlFeatures::subgroupSizeControl"},
      {sizes.computeFullSubgroups, "VkPhysicalDeviceSubgroupSizeControlFeatures::computeFullSubgroups"},
      {rotate.shaderSubgroupRotate, "VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR::shaderSubgroupRotate"},
      {rotate.shaderSubgroupRotateClustered, "VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR::shaderSubgroupRotateClustered"},
      {matrix.cooperativeMatrix, "VkPhysicalDeviceCooperativeMatrixFeaturesKHR::cooperativeMatrix"},
      {matrix2.cooperativeMatrixFlexibleDimensions, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixFlexibleDimensions"},
      {matrix2.cooperativeMatrixReductions, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixReductions"},
      {matrix2.cooperativeMatrixConversions, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixConversions"},
      {matrix2.cooperativeMatrixPerElementOperations, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixPerElementOperations"},
      {matrix2.cooperativeMatrixWorkgroupScope, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixWorkgroupScope"},
      {matrix2.cooperativeMatrixTensorAddressing, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixTensorAddressing"},
      {matrix2.cooperativeMatrixBlockLoads, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV::cooperativeMatrixBlockLoads"},
  };
  for (const auto& [has, name] : others) {
    if (has) features.insert(name);
  }

  const auto gainsOf = [](SaccadeContext asked) {
    SaccadeContextInfo info{};
    saccadeGetContextInfo(asked, &info);
    std::set<std::string> gains;
    for (uint32_t i = 0; i < info.gainCount; i++) {
      const SaccadeRequirement& gain = info.gains[i];
      EXPECT_TRUE(gain.available && !gain.required && *gain.buys != '\0') << gain.name;
      const std::string where = gain.structName;
      if (where.starts_with("VkPhysicalDevice")) gains.insert(where + "::" + gain.name);
    }
    return gains;
  };
  EXPECT_EQ(gainsOf(context), features);

  const Host generous({.recommended = true});
  const SaccadeContext other = generous.createContext();
  EXPECT_EQ(gainsOf(other), std::set<std::string>());
  {
    Work work(generous, other, {.dtype = SACCADE_DTYPE_F16, .mask = true});
    Commands commands(generous);
    work.record(commands);
    commands.end();
    generous.run({commands});
    work.expectRight("with all that is recommended");
  }
  saccadeDestroyContext(other);
  for (const std::string& text : generous.messages()) ADD_FAILURE() << text;
}

// Inputs of nothing but ones, and so one value throughout each result.
class Layers : public HostTest, public testing::WithParamInterface<SaccadeDtype> {
 protected:
  static SaccadeTensorDesc desc(int64_t a, int64_t b, int64_t c, int64_t d) { return {GetParam(), {a, b, c, d}, {}}; }

  template <class Create, class Desc, class Cmd, class Buffers>
  void expectAll(double value, size_t count, Create create, const Desc& desc, Cmd cmd, const Buffers& buffers) {
    SaccadePlan plan = nullptr;
    SaccadeMessage message{};
    ASSERT_EQ(create(context, &desc, &plan, &message), SACCADE_OK) << message.text;
    std::memset(out.data, 0xff, out.size);
    Commands commands(host);
    EXPECT_EQ(cmd(commands, plan, &buffers, &message), SACCADE_OK) << message.text;
    commands.end();
    host.run({commands});
    const double precision = GetParam() == SACCADE_DTYPE_F32 ? 0x1p-20 : GetParam() == SACCADE_DTYPE_F16 ? 0x1p-11 : 0x1p-8;
    SaccadePlanInfo info{};
    saccadeGetPlanInfo(plan, &info);
    for (size_t i = 0; i < count; i++) ASSERT_NEAR(result(i), value, precision * value) << info.label << ", element " << i;
    saccadeDestroyPlan(plan);
  }

  double result(size_t i) const {
    if (GetParam() == SACCADE_DTYPE_F32) return out.as<float>()[i];
    return GetParam() == SACCADE_DTYPE_F16 ? io::halfToFloat(out.as<uint16_t>()[i]) : io::bfloat16ToFloat(out.as<uint16_t>()[i]);
  }

  Memory ones{host, 1024}, out{host, 1024}, scratch{host, 1024};
};

TEST_P(Layers, RunOnAMinimalDevice) {
  for (size_t i = 0; i < 256; i++) {
    if (GetParam() == SACCADE_DTYPE_F32) {
      ones.as<float>()[i] = 1;
    } else {
      ones.as<uint16_t>()[i] = GetParam() == SACCADE_DTYPE_F16 ? io::floatToHalf(1) : io::floatToBfloat16(1);
    }
  }
  SaccadeMatmulDesc matmul = saccadeMatmulDescDefault();
  matmul.a = desc(1, 1, 5, 7);
  matmul.b = desc(1, 1, 6, 7);
  matmul.out.dtype = GetParam();
  SaccadeMatmulBuffers matmulBuffers = saccadeMatmulBuffersDefault();
  matmulBuffers.a = matmulBuffers.b = ones.range();
  matmulBuffers.out = out.range();
  expectAll(7, 30, saccadeCreateMatmulPlan, matmul, saccadeCmdMatmul, matmulBuffers);

  SaccadeSoftmaxDesc softmax = saccadeSoftmaxDescDefault();
  softmax.x = softmax.out = desc(1, 1, 5, 8);
  SaccadeSoftmaxBuffers softmaxBuffers = saccadeSoftmaxBuffersDefault();
  softmaxBuffers.x = ones.range();
  softmaxBuffers.out = out.range();
  expectAll(1.0 / 8, 40, saccadeCreateSoftmaxPlan, softmax, saccadeCmdSoftmax, softmaxBuffers);

  SaccadeLayerNormDesc layerNorm = saccadeLayerNormDescDefault();
  layerNorm.x = layerNorm.out = desc(1, 1, 5, 8);
  layerNorm.weight = layerNorm.bias = desc(1, 1, 1, 8);
  SaccadeLayerNormBuffers layerNormBuffers = saccadeLayerNormBuffersDefault();
  layerNormBuffers.x = layerNormBuffers.weight = layerNormBuffers.bias = ones.range();
  layerNormBuffers.out = out.range();
  expectAll(1, 40, saccadeCreateLayerNormPlan, layerNorm, saccadeCmdLayerNorm, layerNormBuffers);

  SaccadeActivationDesc activation = saccadeActivationDescDefault();
  activation.x = activation.out = desc(1, 1, 5, 8);
  activation.activation = SACCADE_ACTIVATION_GELU;
  SaccadeActivationBuffers activationBuffers = saccadeActivationBuffersDefault();
  activationBuffers.x = ones.range();
  activationBuffers.out = out.range();
  expectAll(0.841344746, 40, saccadeCreateActivationPlan, activation, saccadeCmdActivation, activationBuffers);

  SaccadePatchEmbedDesc patchEmbed = saccadePatchEmbedDescDefault();
  patchEmbed.image = desc(1, 3, 4, 4);
  patchEmbed.weight = desc(5, 3, 2, 2);
  patchEmbed.out.dtype = GetParam();
  patchEmbed.patchSize = 2;
  SaccadePatchEmbedBuffers patchEmbedBuffers = saccadePatchEmbedBuffersDefault();
  patchEmbedBuffers.image = patchEmbedBuffers.weight = ones.range();
  patchEmbedBuffers.out = out.range();
  patchEmbedBuffers.scratch = scratch.range();
  expectAll(12, 20, saccadeCreatePatchEmbedPlan, patchEmbed, saccadeCmdPatchEmbed, patchEmbedBuffers);
}

INSTANTIATE_TEST_SUITE_P(In, Layers, testing::ValuesIn(kFloats), [](const auto& test) {
  return test.param == SACCADE_DTYPE_F32 ? "f32" : test.param == SACCADE_DTYPE_F16 ? "f16" : "bf16";
});

}  // namespace
}  // namespace saccade::host
