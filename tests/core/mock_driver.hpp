// SPDX-License-Identifier: Apache-2.0
// A Vulkan driver made of counters: enough of one for the core to create a context, make plans and record, so
// that a test sees what was recorded, what was allocated, and what happens when a call fails.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fake_devices.hpp"
#include "plan/plan.hpp"

namespace saccade::test {

enum class CommandKind { BindPipeline, PushConstants, Dispatch, Barrier, BeginLabel, EndLabel };

struct Command {
  CommandKind kind;
  VkPipeline pipeline = VK_NULL_HANDLE;
  core::PushConstants push{};
  uint32_t groups = 0;
  std::string label{};
};

// One at a time: Vulkan functions have no place for a pointer to it.
class MockDriver {
 public:
  explicit MockDriver(const core::DeviceFacts& facts = cpuFacts());
  ~MockDriver();
  MockDriver(const MockDriver&) = delete;
  MockDriver& operator=(const MockDriver&) = delete;

  // A create info with everything enabled that the facts have, but debugUtils and checkUse.
  SaccadeContextCreateInfo contextInfo();
  static VkCommandBuffer commandBuffer();

  core::DeviceFacts facts;
  std::map<std::string, VkResult> failures;  // what a function returns instead of succeeding
  std::string missingFunction;               // that the loader does not know

  std::vector<Command> commands;
  std::map<std::string, int> calls;  // of functions that create or allocate
  std::vector<std::string> names;    // given to objects
  std::vector<uint32_t> requiredSubgroupSizes;      // of pipelines
  VkPipelineShaderStageCreateFlags stageFlags = 0;  // of all pipelines together
  int liveObjects = 0;               // created and not destroyed
  int objectsWithCallbacks = 0;      // created with the host's allocation callbacks

  // What it has, which is what contextInfo enables.
  std::vector<const char*> extensions;
  std::vector<SaccadeCooperativeMatrixShape> shapes;
  VkShaderStageFlags matrixStages = VK_SHADER_STAGE_COMPUTE_BIT;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroupSizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceMaintenance4Features maintenance4{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES};
  VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR rotate{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceFeatures2 features{};
};

}  // namespace saccade::test
