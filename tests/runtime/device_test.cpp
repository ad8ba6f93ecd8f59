// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "standalone/features.hpp"
#include "test_device.hpp"

namespace saccade {
namespace {

class DeviceOpening : public DeviceTest {};

TEST_F(DeviceOpening, ListsTheOpenDeviceAsSupported) {
  const std::vector<DeviceSummary> devices = Device::list();
  const auto found = std::find_if(devices.begin(), devices.end(), [this](const DeviceSummary& summary) {
    return summary.name == device.summary().name;
  });
  ASSERT_NE(found, devices.end());
  EXPECT_TRUE(found->supported);
  EXPECT_TRUE(found->missing.empty());
  EXPECT_GE(found->apiVersion, VK_API_VERSION_1_2);
  EXPECT_FALSE(found->driver.empty());
}

TEST_F(DeviceOpening, OpensByIndexAndByName) {
  const DeviceSummary own = Device::open({.select = device.summary().name}).summary();
  EXPECT_EQ(own.name, device.summary().name);
  EXPECT_EQ(Device::open({.select = std::to_string(own.index)}).summary().name, own.name);
}

TEST_F(DeviceOpening, TakesTheEnvironmentsDeviceUnlessOneIsGiven) {
  const std::string name = device.summary().name;
  setenv("SACCADE_DEVICE", "no such device", 1);
  EXPECT_TRUE(contains(refusal(Status::DeviceRequirements, [] { Device::open(); }), "'no such device'"));
  EXPECT_EQ(Device::open({.select = name}).summary().name, name);
  unsetenv("SACCADE_DEVICE");
}

TEST_F(DeviceOpening, ReportsACpuDeviceThatNobodyAskedFor) {
  const char* asked = std::getenv("SACCADE_DEVICE");
  if (device.summary().type != DeviceType::Cpu || (asked != nullptr && *asked != '\0')) GTEST_SKIP();
  EXPECT_TRUE(contains(Device::open().note(), "a CPU device, does the work"));
  EXPECT_EQ(Device::open({.select = device.summary().name}).note(), "");
}

TEST_F(DeviceOpening, ReportsAMachineWithoutADriver) {
  const char* drivers = std::getenv("VK_DRIVER_FILES");
  const std::string before = drivers != nullptr ? drivers : "";
  setenv("VK_DRIVER_FILES", "/no/such/driver.json", 1);
  EXPECT_TRUE(contains(refusal(Status::DeviceRequirements, [] { Device::open(); }), "install"));
  if (drivers != nullptr) {
    setenv("VK_DRIVER_FILES", before.c_str(), 1);
  } else {
    unsetenv("VK_DRIVER_FILES");
  }
}

TEST_F(DeviceOpening, ForcesTheKernelOfTheOptionsOrTheEnvironment) {
  const auto planWith = [](const DeviceOptions& options) {
    const TensorDesc tensor{.sizes = {1, 1, 2, 4}};
    return Device::open(options).plan(AttentionDesc{.q = tensor, .k = tensor, .v = tensor});
  };
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { planWith({.kernel = "no_such_kernel"}); }),
                       "no_such_kernel"));
  setenv("SACCADE_KERNEL", "from_environment", 1);
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { planWith({}); }), "from_environment"));
  unsetenv("SACCADE_KERNEL");
}

TEST_F(DeviceOpening, RefusesAnUnclearValidationSwitch) {
  setenv("SACCADE_VALIDATION", "yes", 1);
  EXPECT_TRUE(
      contains(refusal(Status::InvalidArgument, [] { Device::open(); }), "SACCADE_VALIDATION is 'yes'"));
  unsetenv("SACCADE_VALIDATION");
}

TEST_F(DeviceOpening, ValidationIsOffUnlessAskedFor) {
  EXPECT_TRUE(device.validation());
  EXPECT_FALSE(Device::open({.validation = false}).validation());
}

TEST_F(DeviceOpening, CountsValidationMessages) {
  const Device own = Device::open({.validation = true});
  const DeviceHandles handles = own.handles();
  const auto submit = reinterpret_cast<PFN_vkSubmitDebugUtilsMessageEXT>(
      handles.getInstanceProcAddr(handles.instance, "vkSubmitDebugUtilsMessageEXT"));
  VkDebugUtilsMessengerCallbackDataEXT data{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT};
  data.pMessage = "sent by a test, not by a layer";
  EXPECT_EQ(own.validationMessageCount(), 0u);
  submit(handles.instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
         VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, &data);
  EXPECT_EQ(own.validationMessageCount(), 1u);
}

TEST_F(DeviceOpening, EnablesEveryFeatureThatTheCoreListsAndTheDeviceHas) {
  const DeviceHandles handles = device.handles();
  const auto requirements = runtime::runtimeRequirements(handles.instance, handles.physicalDevice);
  EXPECT_GE(requirements.size(), 5u);
  runtime::FeatureChain chain;
  EXPECT_NO_THROW(runtime::enableAvailable(requirements, chain));
  EXPECT_EQ(device.facts().bufferDeviceAddress, VK_TRUE);
  for (const Requirement& item : requirements) {
    if (std::string_view(item.name) == "shaderInt64") {
      EXPECT_EQ(device.facts().shaderInt64, item.available);
    }
    if (std::string_view(item.name) == "storageBuffer16BitAccess") {
      EXPECT_EQ(device.facts().storageBuffer16BitAccess, item.available);
    }
  }
}

TEST_F(DeviceOpening, MissingFeaturesAreNamed) {
  Requirement present{"present", "VkPhysicalDeviceFeatures", "", VK_TRUE, VK_TRUE};
  Requirement absent{"absent", "VkPhysicalDeviceFeatures", "", VK_TRUE, VK_FALSE};
  Requirement recommended{"recommended", "VkPhysicalDeviceFeatures", "", VK_FALSE, VK_FALSE};
  const Requirement all[] = {present, absent, recommended};
  EXPECT_EQ(runtime::missingRequirements(all), std::vector<std::string>{"absent"});
}

TEST_F(DeviceOpening, PlansAreCachedByDescription) {
  const TensorDesc tensor{.sizes = {1, 2, 8, 16}};
  const AttentionDesc desc{.q = tensor, .k = tensor, .v = tensor};
  AttentionDesc other = desc;
  other.softmaxScale = 0.0f;
  EXPECT_EQ(device.plan(desc), device.plan(desc));
  EXPECT_NE(device.plan(desc), device.plan(other)) << "a scale of 0 is not the default";
}

TEST_F(DeviceOpening, APlanOutlivesItsDevicesHandle) {
  const TensorDesc tensor{.sizes = {1, 1, 8, 16}};
  const PlanPtr plan = Device::open().plan(AttentionDesc{.q = tensor, .k = tensor, .v = tensor});
  EXPECT_GT(plan->info().dispatchCount, 0u);
}

}  // namespace
}  // namespace saccade
