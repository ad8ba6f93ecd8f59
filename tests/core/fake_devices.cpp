// SPDX-License-Identifier: Apache-2.0
#include "fake_devices.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

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
  facts.subgroupOperations |= VK_SUBGROUP_FEATURE_VOTE_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                               VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT | VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR |
                               VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR;
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

core::DeviceFacts matrixGpuFacts() {
  constexpr uint32_t kF16 = VK_COMPONENT_TYPE_FLOAT16_KHR, kF32 = VK_COMPONENT_TYPE_FLOAT32_KHR;
  constexpr uint32_t kS8 = VK_COMPONENT_TYPE_SINT8_KHR, kS32 = VK_COMPONENT_TYPE_SINT32_KHR;
  core::DeviceFacts facts = wideGpuFacts();
  std::snprintf(facts.deviceName, sizeof facts.deviceName, "GPU with matrix units");
  facts.minSubgroupSize = 32;
  facts.subgroupSizeControl = facts.computeFullSubgroups = VK_TRUE;
  facts.maxComputeWorkgroupSubgroups = 32;
  facts.vulkanMemoryModel = facts.maintenance4 = VK_TRUE;
  facts.cooperativeMatrix = VK_TRUE;
  facts.cooperativeMatrixShapeCount = 3;
  facts.cooperativeMatrixShapes[0] = {16, 16, 16, kF16, kF16, kF32, kF32, VK_SCOPE_SUBGROUP_KHR, VK_FALSE};
  facts.cooperativeMatrixShapes[1] = {16, 8, 32, kF16, kF16, kF32, kF32, VK_SCOPE_SUBGROUP_KHR, VK_FALSE};
  facts.cooperativeMatrixShapes[2] = {16, 16, 32, kS8, kS8, kS32, kS32, VK_SCOPE_SUBGROUP_KHR, VK_FALSE};
  facts.cooperativeMatrixFlexibleDimensions = facts.cooperativeMatrixReductions = VK_TRUE;
  facts.cooperativeMatrixConversions = facts.cooperativeMatrixPerElementOperations = VK_TRUE;
  facts.cooperativeMatrixFlexibleDimensionsMaxDimension = 256;
  facts.flexibleMatrixShapeCount = 1;
  facts.flexibleMatrixShapes[0] = {16, 16, 8, kF16, kF16, kF32, kF32, VK_SCOPE_SUBGROUP_KHR, 0, VK_FALSE};
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

core::DeviceFacts plainCpuFacts() {
  core::DeviceFacts facts = cpuFacts();
  facts.shaderInt64 = facts.storageBuffer8BitAccess = facts.storageBuffer16BitAccess = VK_FALSE;
  facts.subgroupSize = facts.minSubgroupSize = facts.maxSubgroupSize = 4;
  return facts;
}

namespace {

using json = nlohmann::json;

// The members of a file's "facts", each to be taken once, by the names that `saccade info --json` gives them.
class FactsReader {
 public:
  explicit FactsReader(json members) : members_(std::move(members)) {}

  template <class Value>
  void take(const char* name, Value& value) {
    members_.at(name).get_to(value);
    members_.erase(name);
  }

  void takeSwitch(const char* name, VkBool32& value) {
    value = members_.at(name).get<bool>() ? VK_TRUE : VK_FALSE;
    members_.erase(name);
  }

  template <size_t Size>
  void takeText(const char* name, char (&text)[Size]) {
    std::snprintf(text, Size, "%s", members_.at(name).get<std::string>().c_str());
    members_.erase(name);
  }

  void takeVersion(const char* name, uint32_t& version) {
    uint32_t major = 0, minor = 0, patch = 0;
    const std::string text = members_.at(name).get<std::string>();
    if (std::sscanf(text.c_str(), "%u.%u.%u", &major, &minor, &patch) != 3) {
      throw std::runtime_error("not a version: " + text);
    }
    version = VK_MAKE_API_VERSION(0, major, minor, patch);
    members_.erase(name);
  }

  void takeSubgroupOperations(const char* name, uint32_t& flags) {
    static const std::map<std::string, uint32_t> kFlags{
        {"basic", VK_SUBGROUP_FEATURE_BASIC_BIT},
        {"vote", VK_SUBGROUP_FEATURE_VOTE_BIT},
        {"arithmetic", VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
        {"ballot", VK_SUBGROUP_FEATURE_BALLOT_BIT},
        {"shuffle", VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
        {"shuffle_relative", VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT},
        {"clustered", VK_SUBGROUP_FEATURE_CLUSTERED_BIT},
        {"quad", VK_SUBGROUP_FEATURE_QUAD_BIT},
        {"rotate", VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR},
        {"rotate_clustered", VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR},
    };
    for (const json& operation : members_.at(name)) flags |= kFlags.at(operation.get<std::string>());
    members_.erase(name);
  }

  // As `saccade info` writes them: "[INVOCATIONS ]MxNxK A B C RESULT SCOPE[ saturating]".
  void takeShapes(const char* name, uint32_t& count, std::span<SaccadeCooperativeMatrixShape> shapes) {
    count = 0;
    for (const json& item : members_.at(name)) {
      std::istringstream text(item.get<std::string>());
      SaccadeCooperativeMatrixShape& shape = shapes[count++];
      takeShape(text, shape.mSize, shape.nSize, shape.kSize, shape);
    }
    members_.erase(name);
  }

  void takeFlexibleShapes(const char* name, uint32_t& count, std::span<SaccadeFlexibleMatrixShape> shapes) {
    count = 0;
    for (const json& item : members_.at(name)) {
      std::istringstream text(item.get<std::string>());
      SaccadeFlexibleMatrixShape& shape = shapes[count++];
      text >> shape.workgroupInvocations;
      takeShape(text, shape.mGranularity, shape.nGranularity, shape.kGranularity, shape);
    }
    members_.erase(name);
  }

  // A member that nothing took is a fact that the tests would plan without.
  void checkAllTaken() const {
    if (!members_.empty()) throw std::runtime_error("unknown facts: " + members_.dump());
  }

 private:
  static uint32_t componentType(const std::string& name) {
    static const std::map<std::string, uint32_t> kTypes{
        {"f16", VK_COMPONENT_TYPE_FLOAT16_KHR}, {"f32", VK_COMPONENT_TYPE_FLOAT32_KHR}, {"f64", VK_COMPONENT_TYPE_FLOAT64_KHR},
        {"s8", VK_COMPONENT_TYPE_SINT8_KHR},    {"s16", VK_COMPONENT_TYPE_SINT16_KHR},  {"s32", VK_COMPONENT_TYPE_SINT32_KHR},
        {"s64", VK_COMPONENT_TYPE_SINT64_KHR},  {"u8", VK_COMPONENT_TYPE_UINT8_KHR},    {"u16", VK_COMPONENT_TYPE_UINT16_KHR},
        {"u32", VK_COMPONENT_TYPE_UINT32_KHR},  {"u64", VK_COMPONENT_TYPE_UINT64_KHR},  {"bf16", kComponentTypeBfloat16},
        {"e4m3", kComponentTypeFloat8E4M3},     {"e5m2", kComponentTypeFloat8E5M2},
    };
    const auto found = kTypes.find(name);
    return found == kTypes.end() ? static_cast<uint32_t>(std::stoul(name)) : found->second;
  }

  template <class Shape>
  static void takeShape(std::istringstream& text, uint32_t& m, uint32_t& n, uint32_t& k, Shape& shape) {
    static const std::map<std::string, uint32_t> kScopes{{"subgroup", VK_SCOPE_SUBGROUP_KHR}, {"workgroup", VK_SCOPE_WORKGROUP_KHR}};
    std::string a, b, c, result, scope, saturating;
    char x = 0;
    if (!(text >> m >> x >> n >> x >> k >> a >> b >> c >> result >> scope)) throw std::runtime_error("not a shape: " + text.str());
    shape.aType = componentType(a);
    shape.bType = componentType(b);
    shape.cType = componentType(c);
    shape.resultType = componentType(result);
    shape.scope = kScopes.at(scope);
    shape.saturatingAccumulation = text >> saturating && saturating == "saturating";
  }

  json members_;
};

core::DeviceFacts readFacts(const json& members) {
  core::DeviceFacts facts{};
  FactsReader reader(members);
  reader.takeText("device_name", facts.deviceName);
  reader.takeText("driver_name", facts.driverName);
  reader.takeText("driver_info", facts.driverInfo);
  reader.take("vendor_id", facts.vendorId);
  reader.take("device_id", facts.deviceId);
  reader.take("driver_version", facts.driverVersion);
  reader.takeVersion("api_version", facts.apiVersion);
  reader.take("device_type", facts.deviceType);
  reader.take("subgroup_size", facts.subgroupSize);
  reader.take("min_subgroup_size", facts.minSubgroupSize);
  reader.take("max_subgroup_size", facts.maxSubgroupSize);
  reader.takeSubgroupOperations("subgroup_operations", facts.subgroupOperations);
  reader.takeSwitch("subgroup_size_control", facts.subgroupSizeControl);
  reader.takeSwitch("compute_full_subgroups", facts.computeFullSubgroups);
  reader.take("max_compute_workgroup_subgroups", facts.maxComputeWorkgroupSubgroups);
  reader.take("max_compute_shared_memory_size", facts.maxComputeSharedMemorySize);
  reader.take("max_compute_work_group_invocations", facts.maxComputeWorkGroupInvocations);
  reader.take("max_compute_work_group_size", facts.maxComputeWorkGroupSize);
  reader.take("max_compute_work_group_count", facts.maxComputeWorkGroupCount);
  reader.take("max_push_constants_size", facts.maxPushConstantsSize);
  reader.take("max_storage_buffer_range", facts.maxStorageBufferRange);
  reader.take("max_buffer_size", facts.maxBufferSize);
  reader.take("max_memory_allocation_size", facts.maxMemoryAllocationSize);
  reader.take("timestamp_period", facts.timestampPeriod);
  reader.takeSwitch("buffer_device_address", facts.bufferDeviceAddress);
  reader.takeSwitch("shader_int64", facts.shaderInt64);
  reader.takeSwitch("storage_buffer_8bit_access", facts.storageBuffer8BitAccess);
  reader.takeSwitch("storage_buffer_16bit_access", facts.storageBuffer16BitAccess);
  reader.takeSwitch("shader_float16", facts.shaderFloat16);
  reader.takeSwitch("vulkan_memory_model", facts.vulkanMemoryModel);
  reader.takeSwitch("maintenance4", facts.maintenance4);
  reader.takeSwitch("signed_zero_inf_nan_preserve_float32", facts.signedZeroInfNanPreserveFloat32);
  reader.takeSwitch("pipeline_executable_properties", facts.pipelineExecutableProperties);
  reader.takeSwitch("cooperative_matrix", facts.cooperativeMatrix);
  reader.takeShapes("cooperative_matrix_shapes", facts.cooperativeMatrixShapeCount, facts.cooperativeMatrixShapes);
  reader.takeSwitch("cooperative_matrix_flexible_dimensions", facts.cooperativeMatrixFlexibleDimensions);
  reader.takeSwitch("cooperative_matrix_reductions", facts.cooperativeMatrixReductions);
  reader.takeSwitch("cooperative_matrix_conversions", facts.cooperativeMatrixConversions);
  reader.takeSwitch("cooperative_matrix_per_element_operations", facts.cooperativeMatrixPerElementOperations);
  reader.takeSwitch("cooperative_matrix_workgroup_scope", facts.cooperativeMatrixWorkgroupScope);
  reader.takeSwitch("cooperative_matrix_tensor_addressing", facts.cooperativeMatrixTensorAddressing);
  reader.takeSwitch("cooperative_matrix_block_loads", facts.cooperativeMatrixBlockLoads);
  reader.take("cooperative_matrix_workgroup_scope_max_workgroup_size", facts.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize);
  reader.take("cooperative_matrix_workgroup_scope_reserved_shared_memory", facts.cooperativeMatrixWorkgroupScopeReservedSharedMemory);
  reader.take("cooperative_matrix_flexible_dimensions_max_dimension", facts.cooperativeMatrixFlexibleDimensionsMaxDimension);
  reader.takeFlexibleShapes("flexible_matrix_shapes", facts.flexibleMatrixShapeCount, facts.flexibleMatrixShapes);
  reader.checkAllTaken();
  return facts;
}

std::vector<FakeDevice> readDevices() {
  std::vector<FakeDevice> devices{{"minimal_vulkan_1_2", minimalFacts()}};
  for (const auto& file : std::filesystem::directory_iterator(SACCADE_TEST_FACTS)) {
    if (file.path().extension() != ".json") continue;
    std::ifstream stream(file.path());
    try {
      devices.push_back({file.path().stem(), readFacts(json::parse(stream).at("facts"))});
    } catch (const std::exception& error) {
      throw std::runtime_error(file.path().string() + ": " + error.what());
    }
  }
  std::sort(devices.begin(), devices.end(),
            [](const FakeDevice& a, const FakeDevice& b) { return a.name < b.name; });
  return devices;
}

}  // namespace

const std::vector<FakeDevice>& fakeDevices() {
  static const std::vector<FakeDevice> devices = readDevices();
  return devices;
}

}  // namespace saccade::test
