// SPDX-License-Identifier: Apache-2.0
// Facts of cooperative matrices and of subgroup sizes: what the host enabled counts, and kernels ask for what the device gives.
#include <map>

#include "api/context.hpp"
#include "core_test.hpp"
#include "kernels/matrix_shape.hpp"
#include "kernels/registry.hpp"
#include "mock_driver.hpp"
#include "ops/matmul_plan.hpp"
#include "ops/matmul_problem.hpp"

namespace saccade::test {
namespace {

constexpr uint32_t kF16 = VK_COMPONENT_TYPE_FLOAT16_KHR, kF32 = VK_COMPONENT_TYPE_FLOAT32_KHR, kS32 = VK_COMPONENT_TYPE_SINT32_KHR;

SaccadeCooperativeMatrixShape shapeOf(uint32_t m, uint32_t n, uint32_t k, uint32_t a = kF16, uint32_t result = kF32,
                                      uint32_t scope = VK_SCOPE_SUBGROUP_KHR) {
  return {m, n, k, a, a, result, result, scope, VK_FALSE};
}

class MatrixFacts : public testing::Test {
 protected:
  MatrixFacts() : driver(matrixGpuFacts()), info(driver.contextInfo()) { info.apiVersion = VK_API_VERSION_1_3; }
  ~MatrixFacts() override { saccadeDestroyContext(context); }

  const SaccadeDeviceFacts& facts() {
    SaccadeMessage message{};
    if (saccadeCreateContext(&info, &context, &message) != SACCADE_OK) throw std::runtime_error(message.text);
    return *saccadeGetDeviceFacts(context);
  }
  void withoutExtension(std::string_view name) {
    std::erase_if(driver.extensions, [&](const char* extension) { return extension == name; });
    info.enabledExtensionCount = static_cast<uint32_t>(driver.extensions.size());
  }

  MockDriver driver;
  SaccadeContextCreateInfo info;
  SaccadeContext context = nullptr;
};

TEST_F(MatrixFacts, AreThoseOfTheDriver) {
  const SaccadeDeviceFacts& known = facts();
  EXPECT_TRUE(known.cooperativeMatrix && known.vulkanMemoryModel && known.maintenance4 && known.shaderFloat16);
  ASSERT_EQ(known.cooperativeMatrixShapeCount, 3u);
  EXPECT_EQ(known.cooperativeMatrixShapes[1].mSize, 16u);
  EXPECT_EQ(known.cooperativeMatrixShapes[1].nSize, 8u);
  EXPECT_EQ(known.cooperativeMatrixShapes[1].kSize, 32u);
  EXPECT_EQ(known.cooperativeMatrixShapes[1].aType, kF16);
  EXPECT_EQ(known.cooperativeMatrixShapes[1].resultType, kF32);
  EXPECT_EQ(known.cooperativeMatrixShapes[2].resultType, kS32);
  EXPECT_TRUE(known.cooperativeMatrixFlexibleDimensions && known.cooperativeMatrixReductions && known.cooperativeMatrixConversions &&
              known.cooperativeMatrixPerElementOperations);
  EXPECT_FALSE(known.cooperativeMatrixWorkgroupScope || known.cooperativeMatrixTensorAddressing || known.cooperativeMatrixBlockLoads);
  EXPECT_EQ(known.cooperativeMatrixFlexibleDimensionsMaxDimension, 256u);
  ASSERT_EQ(known.flexibleMatrixShapeCount, 1u);
  EXPECT_EQ(known.flexibleMatrixShapes[0].mGranularity, 16u);
  EXPECT_EQ(known.flexibleMatrixShapes[0].kGranularity, 8u);
}

TEST_F(MatrixFacts, NeedTheExtensionEnabled) {
  withoutExtension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  const SaccadeDeviceFacts& known = facts();
  EXPECT_FALSE(known.cooperativeMatrix);
  EXPECT_EQ(known.cooperativeMatrixShapeCount, 0u);
  EXPECT_FALSE(known.cooperativeMatrixReductions);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "VK_KHR_cooperative_matrix", core::matrixUnitsRefusal(known));
}

TEST_F(MatrixFacts, NeedTheFeatureInTheChain) {
  driver.matrix.cooperativeMatrix = VK_FALSE;
  EXPECT_FALSE(facts().cooperativeMatrix);
}

TEST_F(MatrixFacts, NeedAComputeStage) {
  driver.matrixStages = VK_SHADER_STAGE_FRAGMENT_BIT;
  EXPECT_FALSE(facts().cooperativeMatrix);
}

TEST_F(MatrixFacts, OfTheSecondExtensionNeedIt) {
  withoutExtension(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
  const SaccadeDeviceFacts& known = facts();
  EXPECT_EQ(known.cooperativeMatrixShapeCount, 3u);
  EXPECT_FALSE(known.cooperativeMatrixReductions || known.cooperativeMatrixFlexibleDimensions);
  EXPECT_EQ(known.flexibleMatrixShapeCount, 0u);
}

TEST_F(MatrixFacts, SurviveALoaderWithoutTheFunction) {
  driver.missingFunction = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR";
  const SaccadeDeviceFacts& known = facts();
  EXPECT_EQ(known.cooperativeMatrixShapeCount, 0u);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "lists no such shape", core::matrixUnitsRefusal(known));
}

TEST_F(MatrixFacts, KeepWhatKernelsUseOfMoreThanFit) {
  driver.shapes.clear();
  for (uint32_t i = 0; i < SACCADE_MAX_MATRIX_SHAPES; i++) driver.shapes.push_back(shapeOf(i + 1, 1, 1, kF16, kF32, VK_SCOPE_WORKGROUP_KHR));
  driver.shapes.push_back(shapeOf(1, 8, 4, kF32));
  driver.shapes.push_back(shapeOf(1, 16, 16));
  driver.shapes.push_back(shapeOf(2, 16, 16));
  const SaccadeDeviceFacts& known = facts();
  ASSERT_EQ(known.cooperativeMatrixShapeCount, uint32_t{SACCADE_MAX_MATRIX_SHAPES});
  EXPECT_EQ(known.cooperativeMatrixShapes[0].nSize, 16u);
  EXPECT_EQ(known.cooperativeMatrixShapes[1].mSize, 2u);
  EXPECT_EQ(known.cooperativeMatrixShapes[2].aType, kF32);
  EXPECT_EQ(known.cooperativeMatrixShapes[3].mSize, 1u);
  EXPECT_EQ(known.cooperativeMatrixShapes[SACCADE_MAX_MATRIX_SHAPES - 1].mSize, uint32_t{SACCADE_MAX_MATRIX_SHAPES - 3});
}

TEST_F(MatrixFacts, ThatAreNotEnabledAreListedAsGains) {
  info.enabledExtensionCount = 0;
  facts();
  SaccadeContextInfo contextInfo{};
  saccadeGetContextInfo(context, &contextInfo);
  std::map<std::string, std::string> gains;
  for (uint32_t i = 0; i < contextInfo.gainCount; i++) gains[contextInfo.gains[i].name] = contextInfo.gains[i].structName;
  EXPECT_EQ(gains, (std::map<std::string, std::string>{{"VK_EXT_debug_utils", "instance extension"},
                                                       {"VK_KHR_cooperative_matrix", "device extension"},
                                                       {"VK_KHR_shader_subgroup_rotate", "device extension"},
                                                       {"VK_NV_cooperative_matrix2", "device extension"}}));
}

TEST_F(MatrixFacts, OfTheSecondExtensionAreNoGainWithoutFlexibleSizes) {
  driver.matrix2.cooperativeMatrixFlexibleDimensions = VK_FALSE;
  uint32_t count = 0;
  ASSERT_EQ(saccadeGetDeviceRequirements(info.instance, info.physicalDevice, info.getInstanceProcAddr, &count, nullptr, nullptr), SACCADE_OK);
  std::vector<SaccadeRequirement> items(count);
  ASSERT_EQ(saccadeGetDeviceRequirements(info.instance, info.physicalDevice, info.getInstanceProcAddr, &count, items.data(), nullptr),
            SACCADE_OK);
  for (const SaccadeRequirement& item : items) {
    const std::string_view name = item.name, where = item.structName;
    if (name == VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME || where == "VkPhysicalDeviceCooperativeMatrix2FeaturesNV") {
      EXPECT_FALSE(item.available) << name;
    }
    if (name == VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) {
      EXPECT_TRUE(item.available);
    }
  }
}

class SubgroupRotation : public MatrixFacts {
 protected:
  static constexpr uint32_t kBits = VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR | VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR;
  uint32_t rotation() { return facts().subgroupOperations & kBits; }
};

TEST_F(SubgroupRotation, IsKnownToAHostThatEnabledTheExtension) { EXPECT_EQ(rotation(), kBits); }

TEST_F(SubgroupRotation, NeedsTheExtensionBeforeVulkan1_4) {
  withoutExtension(VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME);
  EXPECT_EQ(rotation(), 0u);
}

TEST_F(SubgroupRotation, IsOfTheFeaturesThatAreEnabled) {
  driver.rotate.shaderSubgroupRotateClustered = VK_FALSE;
  EXPECT_EQ(rotation(), uint32_t{VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR});
}

#ifdef VK_API_VERSION_1_4
TEST_F(SubgroupRotation, IsPartOfVulkan1_4) {
  driver.facts.apiVersion = info.apiVersion = VK_API_VERSION_1_4;
  withoutExtension(VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME);
  driver.rotate.shaderSubgroupRotate = driver.rotate.shaderSubgroupRotateClustered = VK_FALSE;
  VkPhysicalDeviceVulkan14Features features14{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES, driver.features.pNext};
  features14.shaderSubgroupRotate = features14.shaderSubgroupRotateClustered = VK_TRUE;
  driver.features.pNext = &features14;
  EXPECT_EQ(rotation(), kBits);
}
#endif

class SubgroupSizes : public MatrixFacts {};

TEST_F(SubgroupSizes, AreKnownToAHostOfVulkan1_2ThatEnabledTheExtension) {
  info.apiVersion = VK_API_VERSION_1_2;
  driver.extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  info.enabledExtensions = driver.extensions.data();
  info.enabledExtensionCount = static_cast<uint32_t>(driver.extensions.size());
  const SaccadeDeviceFacts& known = facts();
  EXPECT_EQ(known.apiVersion, VK_API_VERSION_1_2);
  EXPECT_TRUE(known.subgroupSizeControl && known.computeFullSubgroups);
  EXPECT_FALSE(known.maintenance4);
  EXPECT_EQ(known.minSubgroupSize, 32u);
  EXPECT_EQ(known.maxSubgroupSize, 64u);
  EXPECT_EQ(known.maxComputeWorkgroupSubgroups, 32u);
}

TEST_F(SubgroupSizes, AreOneToAHostOfVulkan1_2WithoutTheExtension) {
  info.apiVersion = VK_API_VERSION_1_2;
  const SaccadeDeviceFacts& known = facts();
  EXPECT_FALSE(known.subgroupSizeControl || known.computeFullSubgroups);
  EXPECT_EQ(known.minSubgroupSize, 64u);
  EXPECT_EQ(known.maxSubgroupSize, 64u);
  EXPECT_EQ(core::subgroupSizeRefusal(known, 64), "");
  EXPECT_EQ(core::subgroupSizeRefusal(known, 32),
            "needs subgroups of 32 invocations, and this device gives 64 unless subgroupSizeControl is enabled");
  EXPECT_EQ(core::matrixSubgroupSize(known), 64u);
}

TEST_F(SubgroupSizes, ThatTheDeviceCannotGiveAreRefused) {
  const SaccadeDeviceFacts& known = facts();
  EXPECT_EQ(core::subgroupSizeRefusal(known, 32), "");
  EXPECT_EQ(core::subgroupSizeRefusal(known, 64), "");
  EXPECT_EQ(core::subgroupSizeRefusal(known, 16), "needs subgroups of 16 invocations, and this device gives 32 to 64");
  EXPECT_NE(core::subgroupSizeRefusal(known, 48), "");
}

TEST_F(SubgroupSizes, AreAskedOfTheDriverAndMakePipelinesOfTheirOwn) {
  facts();
  const core::ShaderModuleCode& shader = core::shaderFor("scalar_tiled", SACCADE_DTYPE_F32, context->facts());
  for (const uint32_t size : {0u, 32u, 64u, 32u}) {
    core::Pipelines::Request request{&shader, {}, size};
    context->pipelines().get({&request, 1});
    EXPECT_EQ(driver.stageFlags, size == 0 ? 0u : uint32_t{VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT});
  }
  EXPECT_EQ(driver.requiredSubgroupSizes, (std::vector<uint32_t>{32, 64}));
  EXPECT_EQ(driver.calls["vkCreateComputePipelines"], 3);
}

TEST_F(SubgroupSizes, AreNotAskedOfADriverThatWasNotMadeToListen) {
  driver.subgroupSizes.subgroupSizeControl = driver.subgroupSizes.computeFullSubgroups = VK_FALSE;
  facts();
  const core::ShaderModuleCode& shader = core::shaderFor("scalar_tiled", SACCADE_DTYPE_F32, context->facts());
  core::Pipelines::Request request{&shader, {}, 64};
  context->pipelines().get({&request, 1});
  EXPECT_TRUE(driver.requiredSubgroupSizes.empty());
  EXPECT_EQ(driver.stageFlags, 0u);
}

TEST(MatrixShapes, AreTheLargestOfTheirTypesInSubgroups) {
  core::DeviceFacts facts = matrixGpuFacts();
  const auto use = [&](std::initializer_list<SaccadeCooperativeMatrixShape> shapes) {
    std::copy(shapes.begin(), shapes.end(), facts.cooperativeMatrixShapes);
    facts.cooperativeMatrixShapeCount = static_cast<uint32_t>(shapes.size());
    return core::pickMatrixShape(facts, kF16, kF32);
  };
  const auto picked = use({shapeOf(16, 8, 8), shapeOf(16, 16, 16), shapeOf(16, 8, 32), shapeOf(64, 64, 64, kF32),
                           shapeOf(64, 64, 64, kF16, kF16), shapeOf(64, 64, 64, kF16, kF32, VK_SCOPE_WORKGROUP_KHR)});
  ASSERT_TRUE(picked);
  EXPECT_EQ(picked->m, 16u);
  EXPECT_EQ(picked->n, 16u);
  EXPECT_EQ(picked->k, 16u);
  EXPECT_EQ(picked->subgroupSize, 32u);
  EXPECT_FALSE(use({shapeOf(16, 16, 16, kF16, kF16)}));
  EXPECT_STREQ(core::matrixUnitsRefusal(facts),
               "needs cooperative matrices of fp16 with fp32 sums in subgroups, and this device lists no such shape");
}

TEST(MatrixShapes, OfRecordedDevices) {
  std::map<std::string, std::string> picked;
  for (const FakeDevice& device : fakeDevices()) {
    const auto shape = core::pickMatrixShape(device.facts, kF16, kF32);
    EXPECT_EQ(*core::matrixUnitsRefusal(device.facts) == '\0', shape.has_value()) << device.name;
    if (!shape) continue;
    EXPECT_EQ(core::subgroupSizeRefusal(device.facts, shape->subgroupSize), "") << device.name;
    picked[device.name] = std::to_string(shape->m) + "x" + std::to_string(shape->n) + "x" + std::to_string(shape->k) + " in " +
                          std::to_string(shape->subgroupSize);
  }
  EXPECT_EQ(picked, (std::map<std::string, std::string>{{"bmg", "8x16x16 in 16"},
                                                        {"dg2", "8x8x16 in 16"},
                                                        {"geforce_rtx_2080", "16x16x16 in 32"},
                                                        {"gfx1201", "16x16x16 in 32"},
                                                        {"lavapipe_26_1", "8x8x8 in 8"},
                                                        {"lnl", "8x16x16 in 16"},
                                                        {"navi31", "16x16x16 in 32"},
                                                        {"nvk164", "16x16x16 in 32"},
                                                        {"nvk170", "16x16x16 in 32"},
                                                        {"nvk172", "16x16x16 in 32"},
                                                        {"ptl", "8x16x16 in 16"}}));
}

core::PlanDraft product(const core::DeviceFacts& facts, const char* kernel, SaccadeDtype dtype = SACCADE_DTYPE_F16, int64_t rows = 4096) {
  SaccadeMatmulDesc desc = saccadeMatmulDescDefault();
  desc.a = tensorDesc(dtype, {1, 1, rows, 64});
  desc.b = tensorDesc(dtype, {1, 1, 4096, 64});
  desc.out.dtype = dtype;
  desc.kernel = kernel;
  return core::planMatmul(facts, core::validateMatmul(desc), "");
}

TEST(MatmulOnMatrixUnits, TakesTilesThatFitRegisters) {
  std::map<std::string, std::string> tiles;
  for (const FakeDevice& device : fakeDevices()) {
    if (*core::matrixUnitsRefusal(device.facts) != '\0') continue;
    const core::PlanDraft plan = product(device.facts, "matmul_coopmat");
    EXPECT_EQ(plan.steps.at(0).subgroupSize, core::matrixSubgroupSize(device.facts));
    tiles[device.name] = plan.tile.substr(std::string("matmul_coopmat ").size());
  }
  const std::string wide = "rows_each=4 columns_each=4 chunk=32", narrow = "rows_each=4 columns_each=2 chunk=16";
  const std::string small = "rows_each=2 columns_each=2 chunk=16";
  EXPECT_EQ(tiles, (std::map<std::string, std::string>{{"bmg", narrow},  {"dg2", small},    {"geforce_rtx_2080", wide}, {"gfx1201", wide},
                                                       {"lavapipe_26_1", small}, {"lnl", narrow}, {"navi31", wide}, {"nvk164", wide},
                                                       {"nvk170", wide}, {"nvk172", wide},  {"ptl", narrow}}));
}

TEST(MatmulOnMatrixUnits, IsChosenForF16AndRefusesTheRest) {
  const core::DeviceFacts facts = matrixGpuFacts();
  EXPECT_EQ(product(facts, "").kernel, "matmul_coopmat");
  EXPECT_EQ(product(facts, "", SACCADE_DTYPE_BF16).kernel, "matmul_tiled");
  EXPECT_EQ(product(desktopGpuFacts(), "").kernel, "matmul_tiled");
  EXPECT_EQ(product(facts, "matmul_coopmat", SACCADE_DTYPE_F16, 64).tile, "matmul_coopmat rows_each=2 columns_each=2 chunk=32");
  const auto textOf = [&](const core::DeviceFacts& device, const char* kernel, SaccadeDtype dtype) {
    const auto refusal = refusalOf([&] { product(device, kernel, dtype); });
    return refusal ? refusal->text : "";
  };
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "multiplies matrices of f16, and these are of f32",
                      textOf(facts, "matmul_coopmat", SACCADE_DTYPE_F32));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs cooperative matrices", textOf(desktopGpuFacts(), "matmul_coopmat", SACCADE_DTYPE_F16));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "rows_each is 8 and columns_each 8; a subgroup of 32 has no registers for the sums of 64 matrices",
                      textOf(facts, "matmul_coopmat rows_each=8 columns_each=8", SACCADE_DTYPE_F16));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "chunk is 24; it must be a multiple of 16",
                      textOf(facts, "matmul_coopmat chunk=24", SACCADE_DTYPE_F16));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "bytes of shared memory", textOf([] {
    core::DeviceFacts little = matrixGpuFacts();
    little.maxComputeSharedMemorySize = 16384;
    return little;
  }(), "matmul_coopmat rows_each=4 columns_each=4", SACCADE_DTYPE_F16));
}

}  // namespace
}  // namespace saccade::test
