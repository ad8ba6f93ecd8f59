// SPDX-License-Identifier: Apache-2.0
// What helps a host to see what it does: names, labels, the log, and checks of handles.
#include <array>
#include <cstdlib>
#include <thread>

#include "core_test.hpp"
#include "mock_driver.hpp"

namespace saccade::test {
namespace {

struct Line {
  SaccadeSeverity severity;
  std::string text;
};

struct ContextUnderTest {
  explicit ContextUnderTest(SaccadeContextCreateInfo info, SaccadeSeverity severity = SACCADE_SEVERITY_ERROR) {
    info.logSeverity = severity;
    info.logUserData = &lines;
    info.logCallback = [](void* data, SaccadeSeverity s, const char* text) { static_cast<std::vector<Line>*>(data)->push_back({s, text}); };
    SaccadeMessage message{};
    EXPECT_EQ(saccadeCreateContext(&info, &context, &message), SACCADE_OK) << message.text;
  }
  ~ContextUnderTest() { saccadeDestroyContext(context); }

  SaccadePlan plan() {
    const SaccadeAttentionDesc desc = attentionDesc({});
    SaccadePlan made = nullptr;
    EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &made, nullptr), SACCADE_OK);
    return made;
  }
  SaccadeContextInfo info() const {
    SaccadeContextInfo made{};
    saccadeGetContextInfo(context, &made);
    return made;
  }
  bool said(SaccadeSeverity severity, const std::string& part) const {
    return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
      return line.severity == severity && line.text.find(part) != std::string::npos;
    });
  }

  std::vector<Line> lines;
  SaccadeContext context = nullptr;
};

SaccadeAttentionBuffers buffers() {
  SaccadeAttentionBuffers made = saccadeAttentionBuffersDefault();
  for (SaccadeBuffer* buffer : {&made.q, &made.k, &made.v, &made.out}) *buffer = {0x10000, VkDeviceSize{1} << 40};
  return made;
}

// Handles as the Vulkan loader makes them: their objects begin with its table of a device.
struct Handles {
  void* table;
  template <class Handle>
  Handle as() {
    return reinterpret_cast<Handle>(this);
  }
};

// Of a context that checks use, on a device that can be looked at.
SaccadeContextCreateInfo checkedInfo(MockDriver& driver, Handles& device) {
  SaccadeContextCreateInfo info = driver.contextInfo();
  info.checkUse = VK_TRUE;
  info.device = device.as<VkDevice>();
  return info;
}

TEST(Versions, OfLibraryAndHeaderAreCompared) {
  EXPECT_EQ(saccadeGetVersion(), SACCADE_VERSION);
  MockDriver driver;
  SaccadeContextCreateInfo info = driver.contextInfo();
  EXPECT_EQ(info.headerVersion, SACCADE_VERSION);
  info.headerVersion = VK_MAKE_API_VERSION(0, SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR + 1, 0);
  info.structSize += 8;  // as a newer one would be: the version is the better explanation
  SaccadeContext context = nullptr;
  SaccadeMessage message{};
  EXPECT_EQ(saccadeCreateContext(&info, &context, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "headerVersion");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "saccade.h 0.2.0, this library is 0.1.0", std::string(message.text));
  info.headerVersion = SACCADE_VERSION + 1;  // another patch
  EXPECT_EQ(saccadeCreateContext(&info, &context, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "structSize");
}

TEST(ContextCreation, RefusesAFeatureChainThatBeginsWithSomethingElse) {
  MockDriver driver;
  SaccadeContextCreateInfo info = driver.contextInfo();
  VkPhysicalDeviceFeatures2 features = driver.features;
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  info.enabledFeatures = &features;
  SaccadeContext context = nullptr;
  SaccadeMessage message{};
  EXPECT_EQ(saccadeCreateContext(&info, &context, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "enabledFeatures");
}

TEST(ContextInfo, SaysWhatTheHostWouldGain) {
  MockDriver driver;
  SaccadeContextCreateInfo info = driver.contextInfo();
  VkPhysicalDeviceVulkan12Features features12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  features12.bufferDeviceAddress = VK_TRUE;
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12};
  info.enabledFeatures = &features;
  ContextUnderTest minimal(info, SACCADE_SEVERITY_INFO);
  std::map<std::string, std::string> gains;
  const SaccadeContextInfo made = minimal.info();
  for (uint32_t i = 0; i < made.gainCount; i++) {
    gains[made.gains[i].name] = made.gains[i].structName;
    EXPECT_TRUE(made.gains[i].available);
    EXPECT_FALSE(made.gains[i].required);
  }
  const std::map<std::string, std::string> expected{
      {"shaderFloat16", "VkPhysicalDeviceVulkan12Features"},
      {"shaderInt64", "VkPhysicalDeviceFeatures"},
      {"storageBuffer16BitAccess", "VkPhysicalDeviceVulkan11Features"},
      {"storageBuffer8BitAccess", "VkPhysicalDeviceVulkan12Features"},
      {"shaderSubgroupRotate", "VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR"},
      {"shaderSubgroupRotateClustered", "VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR"},
      {"apiVersion 1.3", "VkApplicationInfo"},
      {"VK_EXT_debug_utils", "instance extension"},
  };
  EXPECT_EQ(gains, expected);
  EXPECT_TRUE(minimal.said(SACCADE_SEVERITY_INFO, "context on CPU device"));
  EXPECT_TRUE(minimal.said(SACCADE_SEVERITY_INFO, "shaderInt64 of VkPhysicalDeviceFeatures is not enabled"));

  info = driver.contextInfo();
  info.apiVersion = VK_API_VERSION_1_3;
  info.debugUtils = VK_TRUE;
  EXPECT_EQ(ContextUnderTest(info).info().gainCount, 0u);
}

TEST(DebugUtils, NameObjectsAndLabelOperators) {
  MockDriver driver;
  SaccadeContextCreateInfo info = driver.contextInfo();
  info.debugUtils = VK_TRUE;
  ContextUnderTest labelled(info);
  const SaccadePlan plan = labelled.plan();
  const SaccadeAttentionBuffers memory = buffers();
  ASSERT_EQ(saccadeCmdAttention(MockDriver::commandBuffer(), plan, &memory, nullptr), SACCADE_OK);
  SaccadePlanInfo planInfo{};
  saccadeGetPlanInfo(plan, &planInfo);
  ASSERT_GE(driver.commands.size(), 3u);
  EXPECT_EQ(driver.commands.front().kind, CommandKind::BeginLabel);
  EXPECT_EQ(driver.commands.front().label, std::string("saccade ") + planInfo.label);
  EXPECT_EQ(driver.commands.back().kind, CommandKind::EndLabel);
  const std::vector<std::string> names = driver.names;
  EXPECT_EQ(std::count(names.begin(), names.end(), "saccade parameters"), 2);  // buffer and memory
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with("saccade scalar_rows"); }));

  // A refused record call leaves no region open.
  driver.commands.clear();
  const SaccadeAttentionBuffers nothing = saccadeAttentionBuffersDefault();
  EXPECT_NE(saccadeCmdAttention(MockDriver::commandBuffer(), plan, &nothing, nullptr), SACCADE_OK);
  EXPECT_TRUE(driver.commands.empty());
  saccadeDestroyPlan(plan);
}

TEST(DebugUtils, AreNotTouchedUnlessTheHostSaysSo) {
  MockDriver driver;
  ContextUnderTest plain(driver.contextInfo());
  const SaccadePlan plan = plain.plan();
  EXPECT_TRUE(driver.names.empty());
  saccadeDestroyPlan(plan);
  SaccadeContextCreateInfo info = driver.contextInfo();
  info.debugUtils = VK_TRUE;
  driver.missingFunction = "vkCmdBeginDebugUtilsLabelEXT";
  SaccadeContext context = nullptr;
  SaccadeMessage message{};
  EXPECT_EQ(saccadeCreateContext(&info, &context, &message), SACCADE_ERROR_DEVICE_REQUIREMENTS);
  EXPECT_STREQ(message.field, "debugUtils");
}

TEST(TheLog, TellsPlansPipelinesAndRefusalsToWhoWantsThem) {
  MockDriver driver;
  ContextUnderTest context(driver.contextInfo(), SACCADE_SEVERITY_DEBUG);
  const SaccadePlan plan = context.plan();
  EXPECT_TRUE(context.said(SACCADE_SEVERITY_DEBUG, "plan attention scalar_rows f32"));
  EXPECT_TRUE(context.said(SACCADE_SEVERITY_DEBUG, "pipeline scalar_rows"));
  SaccadeAttentionDesc desc = attentionDesc({});
  desc.temperature = -1;
  SaccadePlan none = nullptr;
  EXPECT_NE(saccadeCreateAttentionPlan(context.context, &desc, &none, nullptr), SACCADE_OK);
  EXPECT_TRUE(context.said(SACCADE_SEVERITY_DEBUG, "refused: temperature is -1"));
  saccadeDestroyPlan(plan);

  SaccadeContextCreateInfo info = driver.contextInfo();
  info.tuning = "no tuning file";
  info.tuningSize = 14;
  ContextUnderTest warned(info, SACCADE_SEVERITY_WARNING);
  ASSERT_EQ(warned.lines.size(), 1u);
  EXPECT_EQ(warned.lines[0].severity, SACCADE_SEVERITY_WARNING);
  info.logSeverity = static_cast<SaccadeSeverity>(7);
  SaccadeContext refused = nullptr;
  SaccadeMessage message{};
  EXPECT_EQ(saccadeCreateContext(&info, &refused, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "logSeverity");
}

TEST(TheLog, GoesToStderrAsTheEnvironmentAsks) {
  MockDriver driver;
  const auto stderrOf = [&](const char* value) {
    setenv("SACCADE_LOG", value, 1);
    testing::internal::CaptureStderr();
    SaccadeContext context = nullptr;
    const SaccadeContextCreateInfo info = driver.contextInfo();
    EXPECT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
    saccadeDestroyContext(context);
    unsetenv("SACCADE_LOG");
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "saccade: info: context on CPU device", stderrOf("info"));
  EXPECT_EQ(stderrOf("warning"), "");
  EXPECT_EQ(stderrOf(""), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "SACCADE_LOG is 'loud'; it must be debug, info, warning, error or off", stderrOf("loud"));
}

TEST(Handles, OfAContextWithPlansAreKept) {
  MockDriver driver;
  ContextUnderTest context(driver.contextInfo());
  const SaccadePlan plan = context.plan();
  EXPECT_EQ(context.info().planCount, 1u);
  saccadeDestroyContext(context.context);
  EXPECT_TRUE(context.said(SACCADE_SEVERITY_ERROR, "1 of its plans still exist, among them \"attention scalar_rows f32"));
  EXPECT_EQ(context.info().planCount, 1u);  // it lives
  saccadeDestroyPlan(plan);
  EXPECT_EQ(context.info().planCount, 0u);
}

TEST(Handles, ThatAreStaleAreRefusedWhereUseIsChecked) {
  MockDriver driver;
  Handles device{&driver}, commandBuffer{&driver};
  ContextUnderTest context(checkedInfo(driver, device));
  const SaccadePlan plan = context.plan();
  const SaccadeAttentionBuffers memory = buffers();
  EXPECT_EQ(saccadeCmdAttention(commandBuffer.as<VkCommandBuffer>(), plan, &memory, nullptr), SACCADE_OK);
  saccadeDestroyPlan(plan);
  SaccadeMessage message{};
  EXPECT_EQ(saccadeCmdAttention(commandBuffer.as<VkCommandBuffer>(), plan, &memory, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "plan");
  testing::internal::CaptureStderr();
  saccadeDestroyPlan(plan);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "saccadeDestroyPlan got a handle that is no plan", testing::internal::GetCapturedStderr());
}

TEST(Handles, OfAnotherDeviceAreRefusedWhereUseIsChecked) {
  MockDriver driver;
  Handles device{&driver}, foreign{&device};
  ContextUnderTest context(checkedInfo(driver, device));
  const SaccadePlan plan = context.plan();
  const SaccadeAttentionBuffers memory = buffers();
  SaccadeMessage message{};
  EXPECT_EQ(saccadeCmdAttention(foreign.as<VkCommandBuffer>(), plan, &memory, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "commandBuffer");
  EXPECT_TRUE(driver.commands.empty());
  saccadeDestroyPlan(plan);
}

TEST(Handles, OfAPlanThatIsBeingRecordedAreKeptWhereUseIsChecked) {
  MockDriver driver;
  Handles device{&driver};
  ContextUnderTest context(checkedInfo(driver, device));
  const SaccadePlan plan = context.plan();
  plan->recorders++;  // as another thread does it
  saccadeDestroyPlan(plan);
  EXPECT_TRUE(context.said(SACCADE_SEVERITY_ERROR, "is not destroyed, because a thread is recording it"));
  plan->recorders--;
  saccadeDestroyPlan(plan);
  EXPECT_EQ(context.info().planCount, 0u);
}

}  // namespace
}  // namespace saccade::test
