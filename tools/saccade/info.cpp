// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "check/check.hpp"
#include "commands.hpp"
#include "device/newer_vulkan.hpp"
#include "exit_code.hpp"
#include "info_choices.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* kInfoExamples =
    "  saccade info                    every Vulkan device, its facts and its kernels\n"
    "  saccade info --device llvmpipe  one of them\n"
    "  saccade info --json             the same for programs";

std::string apiVersionText(std::uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

json subgroupOperations(std::uint32_t flags) {
  static constexpr std::pair<std::uint32_t, const char*> kNames[] = {
      {VK_SUBGROUP_FEATURE_BASIC_BIT, "basic"},
      {VK_SUBGROUP_FEATURE_VOTE_BIT, "vote"},
      {VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, "arithmetic"},
      {VK_SUBGROUP_FEATURE_BALLOT_BIT, "ballot"},
      {VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "shuffle"},
      {VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, "shuffle_relative"},
      {VK_SUBGROUP_FEATURE_CLUSTERED_BIT, "clustered"},
      {VK_SUBGROUP_FEATURE_QUAD_BIT, "quad"},
      {VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR, "rotate"},
      {VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR, "rotate_clustered"},
  };
  json names = json::array();
  for (const auto& [bit, name] : kNames) {
    if ((flags & bit) != 0) {
      names.push_back(name);
    }
  }
  return names;
}

std::string componentType(std::uint32_t type) {
  static constexpr std::pair<std::uint32_t, const char*> kNames[] = {
      {VK_COMPONENT_TYPE_FLOAT16_KHR, "f16"}, {VK_COMPONENT_TYPE_FLOAT32_KHR, "f32"}, {VK_COMPONENT_TYPE_FLOAT64_KHR, "f64"},
      {VK_COMPONENT_TYPE_SINT8_KHR, "s8"},    {VK_COMPONENT_TYPE_SINT16_KHR, "s16"},  {VK_COMPONENT_TYPE_SINT32_KHR, "s32"},
      {VK_COMPONENT_TYPE_SINT64_KHR, "s64"},  {VK_COMPONENT_TYPE_UINT8_KHR, "u8"},    {VK_COMPONENT_TYPE_UINT16_KHR, "u16"},
      {VK_COMPONENT_TYPE_UINT32_KHR, "u32"},  {VK_COMPONENT_TYPE_UINT64_KHR, "u64"},  {kComponentTypeBfloat16, "bf16"},
      {kComponentTypeFloat8E4M3, "e4m3"},     {kComponentTypeFloat8E5M2, "e5m2"},
  };
  for (const auto& [value, name] : kNames) {
    if (value == type) return name;
  }
  return fmt::format("{}", type);
}

std::string scopeName(std::uint32_t scope) {
  if (scope == VK_SCOPE_SUBGROUP_KHR) return "subgroup";
  return scope == VK_SCOPE_WORKGROUP_KHR ? "workgroup" : fmt::format("{}", scope);
}

// "16x16x16 f16 f16 f32 f32 subgroup": m, n, k; types of a, b, what is added and the result.
template <typename Shape>
std::string shapeText(std::uint32_t m, std::uint32_t n, std::uint32_t k, const Shape& shape) {
  return fmt::format("{}x{}x{} {} {} {} {} {}{}", m, n, k, componentType(shape.aType), componentType(shape.bType),
                     componentType(shape.cType), componentType(shape.resultType), scopeName(shape.scope),
                     shape.saturatingAccumulation == VK_TRUE ? " saturating" : "");
}

json matrixShapes(const DeviceFacts& facts) {
  json texts = json::array();
  for (std::uint32_t i = 0; i < facts.cooperativeMatrixShapeCount; i++) {
    const SaccadeCooperativeMatrixShape& shape = facts.cooperativeMatrixShapes[i];
    texts.push_back(shapeText(shape.mSize, shape.nSize, shape.kSize, shape));
  }
  return texts;
}

// As matrixShapes, of multiples, with the invocations of a work-group before "saturating" where one holds the matrices.
json flexibleMatrixShapes(const DeviceFacts& facts) {
  json texts = json::array();
  for (std::uint32_t i = 0; i < facts.flexibleMatrixShapeCount; i++) {
    const SaccadeFlexibleMatrixShape& shape = facts.flexibleMatrixShapes[i];
    texts.push_back(fmt::format("{} {}", shape.workgroupInvocations,
                                shapeText(shape.mGranularity, shape.nGranularity, shape.kGranularity, shape)));
  }
  return texts;
}

json factsJson(const DeviceFacts& facts) {
  const auto yes = [](VkBool32 value) { return value == VK_TRUE; };
  return {
      {"device_name", facts.deviceName},
      {"driver_name", facts.driverName},
      {"driver_info", facts.driverInfo},
      {"vendor_id", facts.vendorId},
      {"device_id", facts.deviceId},
      {"driver_version", facts.driverVersion},
      {"api_version", apiVersionText(facts.apiVersion)},
      {"device_type", facts.deviceType},
      {"subgroup_size", facts.subgroupSize},
      {"min_subgroup_size", facts.minSubgroupSize},
      {"max_subgroup_size", facts.maxSubgroupSize},
      {"subgroup_operations", subgroupOperations(facts.subgroupOperations)},
      {"subgroup_size_control", yes(facts.subgroupSizeControl)},
      {"compute_full_subgroups", yes(facts.computeFullSubgroups)},
      {"max_compute_workgroup_subgroups", facts.maxComputeWorkgroupSubgroups},
      {"max_compute_shared_memory_size", facts.maxComputeSharedMemorySize},
      {"max_compute_work_group_invocations", facts.maxComputeWorkGroupInvocations},
      {"max_compute_work_group_size", facts.maxComputeWorkGroupSize},
      {"max_compute_work_group_count", facts.maxComputeWorkGroupCount},
      {"max_push_constants_size", facts.maxPushConstantsSize},
      {"max_storage_buffer_range", facts.maxStorageBufferRange},
      {"max_buffer_size", facts.maxBufferSize},
      {"max_memory_allocation_size", facts.maxMemoryAllocationSize},
      {"timestamp_period", facts.timestampPeriod},
      {"buffer_device_address", yes(facts.bufferDeviceAddress)},
      {"shader_int64", yes(facts.shaderInt64)},
      {"storage_buffer_8bit_access", yes(facts.storageBuffer8BitAccess)},
      {"storage_buffer_16bit_access", yes(facts.storageBuffer16BitAccess)},
      {"shader_float16", yes(facts.shaderFloat16)},
      {"vulkan_memory_model", yes(facts.vulkanMemoryModel)},
      {"maintenance4", yes(facts.maintenance4)},
      {"signed_zero_inf_nan_preserve_float32", yes(facts.signedZeroInfNanPreserveFloat32)},
      {"pipeline_executable_properties", yes(facts.pipelineExecutableProperties)},
      {"cooperative_matrix", yes(facts.cooperativeMatrix)},
      {"cooperative_matrix_shapes", matrixShapes(facts)},
      {"cooperative_matrix_flexible_dimensions", yes(facts.cooperativeMatrixFlexibleDimensions)},
      {"cooperative_matrix_reductions", yes(facts.cooperativeMatrixReductions)},
      {"cooperative_matrix_conversions", yes(facts.cooperativeMatrixConversions)},
      {"cooperative_matrix_per_element_operations", yes(facts.cooperativeMatrixPerElementOperations)},
      {"cooperative_matrix_workgroup_scope", yes(facts.cooperativeMatrixWorkgroupScope)},
      {"cooperative_matrix_tensor_addressing", yes(facts.cooperativeMatrixTensorAddressing)},
      {"cooperative_matrix_block_loads", yes(facts.cooperativeMatrixBlockLoads)},
      {"cooperative_matrix_workgroup_scope_max_workgroup_size", facts.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize},
      {"cooperative_matrix_workgroup_scope_reserved_shared_memory", facts.cooperativeMatrixWorkgroupScopeReservedSharedMemory},
      {"cooperative_matrix_flexible_dimensions_max_dimension", facts.cooperativeMatrixFlexibleDimensionsMaxDimension},
      {"flexible_matrix_shapes", flexibleMatrixShapes(facts)},
  };
}

json kernelsJson(const Device& device) {
  json kernels = json::array();
  for (const KernelInfo& kernel : device.kernels()) {
    kernels.push_back({{"operator", check::operatorName(kernel.op)},
                       {"name", kernel.name},
                       {"idea", kernel.idea},
                       {"selectable", kernel.selectable == VK_TRUE},
                       {"supported", kernel.supported == VK_TRUE},
                       {"reason", kernel.reason},
                       {"left_out", kernel.leftOut}});
  }
  return kernels;
}

json deviceJson(const DeviceSummary& summary) {
  json device = {{"index", summary.index},
                 {"name", summary.name},
                 {"type", deviceTypeName(summary.type)},
                 {"driver", summary.driver},
                 {"api_version", apiVersionText(summary.apiVersion)},
                 {"supported", summary.supported},
                 {"missing", summary.missing}};
  if (summary.supported) {
    const Device opened = Device::open({.select = fmt::format("{}", summary.index)});
    device["facts"] = factsJson(opened.facts());
    device["kernels"] = kernelsJson(opened);
    device["attention_choices"] = attentionChoices(opened.facts());
  }
  return device;
}

std::string deviceText(const json& device) {
  std::string text =
      fmt::format("device {}: {}\n  {}, {}, Vulkan {}\n", device["index"].get<unsigned>(),
                  device["name"].get<std::string>(), device["type"].get<std::string>(),
                  device["driver"].get<std::string>(), device["api_version"].get<std::string>());
  if (!device["supported"].get<bool>()) {
    return text + fmt::format("  not supported, it lacks: {}\n",
                              fmt::join(device["missing"].get<std::vector<std::string>>(), ", "));
  }
  text += "  facts\n";
  for (const auto& [name, value] : device["facts"].items()) {
    if (name.ends_with("_shapes")) {
      // A line for each: there may be dozens.
      for (const json& shape : value) text += fmt::format("    {:<57} {}\n", name, shape.get<std::string>());
    } else {
      text += fmt::format("    {:<57} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  text += "  kernels\n";
  for (const json& kernel : device["kernels"]) {
    text += fmt::format("    {:<12} {:<16} {:<4} {}\n", kernel["operator"].get<std::string>(),
                        kernel["name"].get<std::string>(), kernel["supported"].get<bool>() ? "yes" : "no",
                        kernel["idea"].get<std::string>());
    for (const char* why : {"reason", "left_out"}) {
      std::istringstream lines(kernel[why].get<std::string>());
      for (std::string line; std::getline(lines, line);) {
        text += fmt::format("    {:<29} {} {}\n", "",
                            std::string(why) == "left_out" ? "not in this build:" : "because", line);
      }
    }
  }
  text += "  attention takes, unless a tuning file or --kernel says otherwise (`saccade plan` for any shape)\n";
  for (const json& choice : device["attention_choices"]) {
    text += fmt::format("    {:<8} {:<4} D{:<4} {}\n{:25}{}\n", choice["use"].get<std::string>(),
                        choice["dtype"].get<std::string>(), choice["head_dim"].get<int>(),
                        choice["tile"].get<std::string>(), "", choice["why"].get<std::string>());
  }
  return text;
}

int info(const Globals& globals) {
  const std::vector<DeviceSummary> all = Device::list();
  json devices = json::array();
  if (globals.device.empty()) {
    if (all.empty()) {
      throw Error(Status::DeviceRequirements, "device",
                  "there is no Vulkan device; install a driver (for a CPU device: mesa-vulkan-drivers)");
    }
    for (const DeviceSummary& summary : all) {
      devices.push_back(deviceJson(summary));
    }
  } else {
    devices.push_back(deviceJson(all[chooseDevice(all, globals.device)]));
  }
  if (globals.json) {
    fmt::print("{}\n", json{{"version", SACCADE_TOOL_VERSION}, {"devices", devices}}.dump(2));
    return kExitOk;
  }
  for (const json& device : devices) {
    std::fputs(deviceText(device).c_str(), stdout);
  }
  return kExitOk;
}

}  // namespace

void addInfoCommand(CLI::App& app, Globals& globals) {
  CLI::App& command = addSubcommand(
      app, globals, "info", "List the devices, their facts and the kernels that each can run", kInfoExamples);
  addJsonOption(command, globals);
  setAction(command, globals, [&globals] { return info(globals); });
}

}  // namespace saccade::tool
