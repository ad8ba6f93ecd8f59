// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <saccade/runtime.hpp>

namespace saccade {
namespace {

DeviceSummary device(std::uint32_t index, const std::string& name, DeviceType type,
                     const std::vector<std::string>& missing = {}) {
  return {.index = index,
          .name = name,
          .type = type,
          .driver = "driver 1",
          .supported = missing.empty(),
          .missing = missing};
}

const std::vector<DeviceSummary> kDevices = {
    device(0, "llvmpipe (LLVM 19)", DeviceType::Cpu),
    device(1, "Radeon RX 7900 XTX", DeviceType::DiscreteGpu),
    device(2, "Radeon Graphics", DeviceType::IntegratedGpu),
    device(3, "Old GeForce", DeviceType::DiscreteGpu, {"bufferDeviceAddress", "timelineSemaphore"}),
};

std::string refusal(const std::vector<DeviceSummary>& devices, const std::string& select) {
  try {
    chooseDevice(devices, select);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::DeviceRequirements);
    return error.what();
  }
  ADD_FAILURE() << "'" << select << "' was not refused";
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(DeviceChoice, PrefersTheDiscreteGpu) { EXPECT_EQ(chooseDevice(kDevices, ""), 1u); }

TEST(DeviceChoice, PrefersAnIntegratedGpuToAVirtualOneAndThatToACpu) {
  std::vector<DeviceSummary> devices = {device(0, "a", DeviceType::Cpu),
                                        device(1, "b", DeviceType::VirtualGpu),
                                        device(2, "c", DeviceType::IntegratedGpu)};
  EXPECT_EQ(chooseDevice(devices, ""), 2u);
  devices.pop_back();
  EXPECT_EQ(chooseDevice(devices, ""), 1u);
  devices.pop_back();
  EXPECT_EQ(chooseDevice(devices, ""), 0u);
}

TEST(DeviceChoice, TakesTheFirstOfEquals) {
  const std::vector<DeviceSummary> devices = {device(0, "a", DeviceType::DiscreteGpu),
                                              device(1, "b", DeviceType::DiscreteGpu)};
  EXPECT_EQ(chooseDevice(devices, ""), 0u);
}

TEST(DeviceChoice, PassesOverABetterDeviceThatLacksSomething) {
  const std::vector<DeviceSummary> devices = {
      device(0, "a", DeviceType::DiscreteGpu, {"bufferDeviceAddress"}), device(1, "b", DeviceType::Cpu)};
  EXPECT_EQ(chooseDevice(devices, ""), 1u);
}

TEST(DeviceChoice, TakesAnIndex) { EXPECT_EQ(chooseDevice(kDevices, "2"), 2u); }

TEST(DeviceChoice, TakesAPartOfTheNameInAnyCase) {
  EXPECT_EQ(chooseDevice(kDevices, "LLVMPipe"), 0u);
  EXPECT_EQ(chooseDevice(kDevices, "rx 79"), 1u);
}

TEST(DeviceChoice, RefusesAnAmbiguousNameAndListsTheDevices) {
  const std::string text = refusal(kDevices, "radeon");
  EXPECT_TRUE(contains(text, "'radeon' matches 2 devices")) << text;
  EXPECT_TRUE(contains(text, "1: Radeon RX 7900 XTX (discrete GPU, driver 1)")) << text;
  EXPECT_TRUE(
      contains(text, "3: Old GeForce (discrete GPU, driver 1), lacks bufferDeviceAddress, timelineSemaphore"))
      << text;
}

TEST(DeviceChoice, RefusesANameThatMatchesNothing) {
  EXPECT_TRUE(contains(refusal(kDevices, "mali"), "no device matches 'mali'"));
}

TEST(DeviceChoice, RefusesAnIndexThatIsTooLarge) {
  EXPECT_TRUE(contains(refusal(kDevices, "4"), "no device has index '4'"));
  EXPECT_TRUE(contains(refusal(kDevices, "7900"), "no device has index '7900'"))
      << "a number is never a name";
}

TEST(DeviceChoice, NamesWhatTheChosenDeviceLacks) {
  EXPECT_TRUE(
      contains(refusal(kDevices, "geforce"), "Old GeForce lacks bufferDeviceAddress, timelineSemaphore"));
}

TEST(DeviceChoice, RefusesWhenNoDeviceIsSupported) {
  EXPECT_TRUE(
      contains(refusal({kDevices[3]}, ""), "no Vulkan device of this machine has what Saccade requires"));
}

TEST(DeviceChoice, RefusesWhenThereIsNoDevice) {
  EXPECT_TRUE(contains(refusal({}, ""), "this machine has no Vulkan device"));
}

}  // namespace
}  // namespace saccade
