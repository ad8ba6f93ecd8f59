// SPDX-License-Identifier: Apache-2.0
// Contexts on a driver made of counters: what a host forgets is named, and only what it enabled counts.
#include "core_test.hpp"
#include "mock_driver.hpp"

namespace saccade::test {
namespace {

struct Creation {
  SaccadeStatus status;
  std::string field, text;
};

Creation create(const SaccadeContextCreateInfo& info) {
  SaccadeContext context = nullptr;
  SaccadeMessage message{};
  const SaccadeStatus status = saccadeCreateContext(&info, &context, &message);
  EXPECT_EQ(context != nullptr, status == SACCADE_OK);
  EXPECT_EQ(message.status, status);
  saccadeDestroyContext(context);
  return {status, message.field, message.text};
}

TEST(Context, IsCreatedAndDestroyedWithoutALeak) {
  MockDriver driver;
  EXPECT_EQ(create(driver.contextInfo()).status, SACCADE_OK);
  EXPECT_EQ(driver.liveObjects, 0);
  EXPECT_EQ(driver.calls["vkCreateComputePipelines"], 0);  // nothing is compiled before it is needed
}

TEST(Context, NamesEachMissingHandle) {
  MockDriver driver;
  const auto fieldWithout = [&](auto member) {
    SaccadeContextCreateInfo info = driver.contextInfo();
    info.*member = {};
    const Creation creation = create(info);
    EXPECT_EQ(creation.status, SACCADE_ERROR_INVALID_ARGUMENT);
    return creation.field;
  };
  EXPECT_EQ(fieldWithout(&SaccadeContextCreateInfo::instance), "instance");
  EXPECT_EQ(fieldWithout(&SaccadeContextCreateInfo::physicalDevice), "physicalDevice");
  EXPECT_EQ(fieldWithout(&SaccadeContextCreateInfo::device), "device");
  EXPECT_EQ(fieldWithout(&SaccadeContextCreateInfo::getInstanceProcAddr), "getInstanceProcAddr");
  EXPECT_EQ(fieldWithout(&SaccadeContextCreateInfo::enabledFeatures), "enabledFeatures");
  EXPECT_EQ(fieldWithout(&SaccadeContextCreateInfo::structSize), "structSize");
}

TEST(Context, NamesTheRequiredFeatureThatTheHostDidNotEnable) {
  MockDriver driver;
  driver.features12.bufferDeviceAddress = VK_FALSE;
  const Creation creation = create(driver.contextInfo());
  EXPECT_EQ(creation.status, SACCADE_ERROR_DEVICE_REQUIREMENTS);
  EXPECT_EQ(creation.field, "bufferDeviceAddress");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "VkPhysicalDeviceVulkan12Features", creation.text);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "CPU device", creation.text);
}

// VUID-RuntimeSpirv-vulkanMemoryModel-06265: half of the memory model forbids what no memory model allows.
TEST(Context, RefusesHalfOfTheMemoryModel) {
  MockDriver driver;
  driver.features12.vulkanMemoryModel = VK_TRUE;
  driver.features12.vulkanMemoryModelDeviceScope = VK_FALSE;
  const Creation creation = create(driver.contextInfo());
  EXPECT_EQ(creation.status, SACCADE_ERROR_DEVICE_REQUIREMENTS);
  EXPECT_EQ(creation.field, "vulkanMemoryModelDeviceScope");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "enable both or neither", creation.text);
  driver.features12.vulkanMemoryModelDeviceScope = VK_TRUE;
  EXPECT_EQ(create(driver.contextInfo()).status, SACCADE_OK);
}

TEST(Context, RefusesVulkanOlderThan1_2) {
  MockDriver driver;
  SaccadeContextCreateInfo info = driver.contextInfo();
  info.apiVersion = VK_API_VERSION_1_1;
  const Creation creation = create(info);
  EXPECT_EQ(creation.status, SACCADE_ERROR_DEVICE_REQUIREMENTS);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "1.1 (instance)", creation.text);
}

TEST(Context, NamesAFunctionThatTheLoaderLacks) {
  MockDriver driver;
  driver.missingFunction = "vkCmdDispatch";
  const Creation creation = create(driver.contextInfo());
  EXPECT_EQ(creation.status, SACCADE_ERROR_DEVICE_REQUIREMENTS);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "vkCmdDispatch is missing", creation.text);
}

TEST(Context, RefusesAKernelThatDoesNotExist) {
  MockDriver driver;
  SaccadeContextCreateInfo info = driver.contextInfo();
  info.kernel = "fast";
  EXPECT_EQ(create(info).field, "kernel");
  info.kernel = "scalar_tiled";
  EXPECT_EQ(create(info).status, SACCADE_OK);
}

TEST(Context, ReportsADriverThatFails) {
  MockDriver driver;
  driver.failures["vkCreatePipelineLayout"] = VK_ERROR_OUT_OF_HOST_MEMORY;
  EXPECT_EQ(create(driver.contextInfo()).status, SACCADE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.liveObjects, 0);
}

TEST(Context, CountsOnlyWhatTheHostEnabled) {
  MockDriver driver;
  driver.features11.storageBuffer16BitAccess = VK_FALSE;
  const SaccadeContextCreateInfo info = driver.contextInfo();
  SaccadeContext context = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  const SaccadeDeviceFacts& facts = *saccadeGetDeviceFacts(context);
  EXPECT_FALSE(facts.storageBuffer16BitAccess);
  EXPECT_TRUE(facts.storageBuffer8BitAccess);
  EXPECT_TRUE(facts.shaderInt64);
  EXPECT_EQ(facts.subgroupSize, 8u);
  EXPECT_EQ(facts.apiVersion, VK_API_VERSION_1_2);  // the host's, lower than the device's
  EXPECT_STREQ(facts.deviceName, "CPU device");
  saccadeDestroyContext(context);
}

TEST(Context, HandsTheHostsAllocationCallbacksToTheDriver) {
  MockDriver driver;
  const VkAllocationCallbacks callbacks{};
  SaccadeContextCreateInfo info = driver.contextInfo();
  info.allocationCallbacks = &callbacks;
  SaccadeContext context = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  EXPECT_EQ(driver.objectsWithCallbacks, driver.liveObjects);
  EXPECT_GT(driver.liveObjects, 0);
  saccadeDestroyContext(context);
}

TEST(Requirements, SayWhatIsRequiredAndWhatTheDeviceHas) {
  MockDriver driver(minimalFacts());
  const SaccadeContextCreateInfo info = driver.contextInfo();
  uint32_t count = 0;
  ASSERT_EQ(saccadeGetDeviceRequirements(info.instance, info.physicalDevice, info.getInstanceProcAddr, &count,
                                         nullptr, nullptr),
            SACCADE_OK);
  std::vector<SaccadeRequirement> items(count);
  ASSERT_EQ(saccadeGetDeviceRequirements(info.instance, info.physicalDevice, info.getInstanceProcAddr, &count,
                                         items.data(), nullptr),
            SACCADE_OK);
  ASSERT_EQ(count, items.size());
  std::map<std::string, std::pair<bool, bool>> found;  // required, available
  for (const SaccadeRequirement& item : items) {
    found[item.name] = {item.required == VK_TRUE, item.available == VK_TRUE};
    EXPECT_NE(*item.buys, '\0') << item.name;
  }
  EXPECT_EQ(found.at("bufferDeviceAddress"), std::pair(true, true));
  EXPECT_EQ(found.at("storageBuffer16BitAccess"), std::pair(false, false));
}

TEST(Requirements, WriteNoMoreThanTheCallerHasRoomFor) {
  MockDriver driver;
  const SaccadeContextCreateInfo info = driver.contextInfo();
  uint32_t count = 1;
  SaccadeRequirement items[2]{};
  ASSERT_EQ(saccadeGetDeviceRequirements(info.instance, info.physicalDevice, info.getInstanceProcAddr, &count,
                                         items, nullptr),
            SACCADE_OK);
  EXPECT_EQ(count, 1u);
  EXPECT_NE(items[0].name, nullptr);
  EXPECT_EQ(items[1].name, nullptr);
}

TEST(Kernels, OfADeviceTooSmallForThemAreListedWithTheReason) {
  core::DeviceFacts facts = desktopGpuFacts();
  facts.maxComputeWorkGroupInvocations = 64;
  MockDriver driver(facts);
  const SaccadeContextCreateInfo info = driver.contextInfo();
  SaccadeContext context = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  uint32_t count = 0;
  ASSERT_EQ(saccadeGetKernels(context, &count, nullptr, nullptr), SACCADE_OK);
  std::vector<SaccadeKernelInfo> kernels(count);
  ASSERT_EQ(saccadeGetKernels(context, &count, kernels.data(), nullptr), SACCADE_OK);
  std::map<std::string, SaccadeKernelInfo> byName;
  for (const SaccadeKernelInfo& kernel : kernels) byName[kernel.name] = kernel;
  EXPECT_TRUE(byName.at("scalar_rows").supported);
  EXPECT_STREQ(byName.at("scalar_rows").reason, "");
  EXPECT_FALSE(byName.at("scalar_tiled").supported);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "128 invocations", std::string(byName.at("scalar_tiled").reason));
  saccadeDestroyContext(context);
}

}  // namespace
}  // namespace saccade::test
