// SPDX-License-Identifier: Apache-2.0
#include "fake_devices.hpp"

#include <algorithm>
#include <iterator>

namespace saccade::test {

core::DeviceFacts minimalFacts() {
  core::DeviceFacts facts{};
  std::snprintf(facts.deviceName, sizeof facts.deviceName, "minimal device");
  facts.apiVersion = VK_API_VERSION_1_2;
  facts.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  facts.subgroupSize = facts.minSubgroupSize = facts.maxSubgroupSize = 1;
  facts.subgroupOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
  facts.maxComputeSharedMemorySize = 16384;
  facts.maxComputeWorkGroupInvocations = 128;
  const uint32_t groupSize[] = {128, 128, 64};
  std::copy(std::begin(groupSize), std::end(groupSize), facts.maxComputeWorkGroupSize);
  std::fill(std::begin(facts.maxComputeWorkGroupCount), std::end(facts.maxComputeWorkGroupCount), 65535u);
  facts.maxPushConstantsSize = 128;
  facts.maxStorageBufferRange = 1u << 27;
  facts.maxMemoryAllocationSize = 1u << 30;
  facts.timestampPeriod = 1;
  facts.bufferDeviceAddress = VK_TRUE;
  return facts;
}

core::DeviceFacts desktopGpuFacts() {
  core::DeviceFacts facts = minimalFacts();
  std::snprintf(facts.deviceName, sizeof facts.deviceName, "desktop GPU");
  facts.apiVersion = VK_API_VERSION_1_3;
  facts.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  facts.subgroupSize = facts.minSubgroupSize = facts.maxSubgroupSize = 32;
  facts.subgroupOperations |= VK_SUBGROUP_FEATURE_VOTE_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  facts.maxComputeSharedMemorySize = 49152;
  facts.maxComputeWorkGroupInvocations = 1024;
  const uint32_t groupSize[] = {1024, 1024, 64};
  std::copy(std::begin(groupSize), std::end(groupSize), facts.maxComputeWorkGroupSize);
  facts.maxComputeWorkGroupCount[0] = 0x7fffffff;
  facts.maxPushConstantsSize = 256;
  facts.maxStorageBufferRange = 0xffffffff;
  facts.shaderInt64 = VK_TRUE;
  facts.storageBuffer8BitAccess = VK_TRUE;
  facts.storageBuffer16BitAccess = VK_TRUE;
  facts.shaderFloat16 = VK_TRUE;
  facts.signedZeroInfNanPreserveFloat32 = VK_TRUE;
  return facts;
}

core::DeviceFacts wideGpuFacts() {
  core::DeviceFacts facts = desktopGpuFacts();
  std::snprintf(facts.deviceName, sizeof facts.deviceName, "GPU with subgroups of 64");
  facts.subgroupSize = facts.maxSubgroupSize = 64;
  facts.maxComputeSharedMemorySize = 65536;
  facts.maxComputeWorkGroupCount[0] = 65535;
  return facts;
}

core::DeviceFacts cpuFacts() {
  core::DeviceFacts facts = desktopGpuFacts();
  std::snprintf(facts.deviceName, sizeof facts.deviceName, "CPU device");
  facts.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  facts.subgroupSize = facts.minSubgroupSize = facts.maxSubgroupSize = 8;
  facts.maxComputeSharedMemorySize = 32768;
  facts.maxComputeWorkGroupCount[0] = 65535;
  return facts;
}

const std::vector<FakeDevice>& fakeDevices() {
  static const std::vector<FakeDevice> devices{{"cpu", cpuFacts()},
                                               {"gpu_subgroup_32", desktopGpuFacts()},
                                               {"gpu_subgroup_64", wideGpuFacts()},
                                               {"minimal_vulkan_1_2", minimalFacts()}};
  return devices;
}

}  // namespace saccade::test
