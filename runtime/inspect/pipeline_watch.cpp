// SPDX-License-Identifier: Apache-2.0
#include "inspect/pipeline_watch.hpp"

#include <cstddef>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "inspect/hash.hpp"
#include "kernels/shader_table.hpp"

namespace saccade::inspect {
namespace {

struct Module {
  std::string name;
  uint64_t hash;
};

struct State {
  bool statistics;
  Driver driver;
  PFN_vkGetInstanceProcAddr getInstanceProcAddr;
  PFN_vkGetDeviceProcAddr getDeviceProcAddr;
  PFN_vkCreateShaderModule createShaderModule;
  PFN_vkCreateComputePipelines createComputePipelines;
  PFN_vkDestroyPipeline destroyPipeline;
  PFN_vkGetPipelineExecutablePropertiesKHR getExecutables;
  PFN_vkGetPipelineExecutableStatisticsKHR getStatistics;
  std::map<VkShaderModule, Module> modules;
  std::vector<CompiledPipeline> pipelines;
  std::map<uint32_t, uint32_t> constants;  // that take the place of what the context gives
};
State* state = nullptr;
std::mutex mutex;  // the pipelines of a plan are created on several threads; one at a time, their CPU time can be told apart

double valueOf(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return statistic.value.b32;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return static_cast<double>(statistic.value.u64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: return statistic.value.f64;
    default: throw std::runtime_error("a statistic of an unknown format");
  }
}

std::vector<Statistic> statisticsOf(VkDevice device, VkPipeline pipeline, uint32_t executable) {
  const VkPipelineExecutableInfoKHR info{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr, pipeline, executable};
  uint32_t count = 0;
  state->getStatistics(device, &info, &count, nullptr);
  std::vector<VkPipelineExecutableStatisticKHR> raw(count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  state->getStatistics(device, &info, &count, raw.data());
  std::vector<Statistic> statistics;
  for (const VkPipelineExecutableStatisticKHR& statistic : raw) {
    statistics.push_back({statistic.name, valueOf(statistic)});
  }
  return statistics;
}

std::vector<Executable> executablesOf(VkDevice device, VkPipeline pipeline) {
  const VkPipelineInfoKHR info{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr, pipeline};
  uint32_t count = 0;
  state->getExecutables(device, &info, &count, nullptr);
  std::vector<VkPipelineExecutablePropertiesKHR> raw(count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR});
  state->getExecutables(device, &info, &count, raw.data());
  std::vector<Executable> executables;
  for (uint32_t i = 0; i < count; i++) {
    executables.push_back({raw[i].name, raw[i].subgroupSize, statisticsOf(device, pipeline, i)});
  }
  return executables;
}

uint64_t inputOf(const VkComputePipelineCreateInfo& info) {
  uint64_t hash = state->modules[info.stage.module].hash;
  const auto add = [&hash](uint32_t value) { hash = hashed(&value, sizeof value, hash); };
  add(info.stage.flags);
  for (auto* item = static_cast<const VkBaseInStructure*>(info.stage.pNext); item != nullptr; item = item->pNext) {
    if (item->sType != VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO) continue;
    add(reinterpret_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(item)->requiredSubgroupSize);
  }
  const VkSpecializationInfo* constants = info.stage.pSpecializationInfo;
  for (uint32_t i = 0; constants != nullptr && i < constants->mapEntryCount; i++) {
    const VkSpecializationMapEntry& entry = constants->pMapEntries[i];
    add(entry.constantID);
    hash = hashed(static_cast<const char*>(constants->pData) + entry.offset, entry.size, hash);
  }
  return hash;
}

// Every module has it in the specialisation constant 0.
uint32_t localSizeOf(const VkSpecializationInfo* constants) {
  for (uint32_t i = 0; constants != nullptr && i < constants->mapEntryCount; i++) {
    if (constants->pMapEntries[i].constantID != 0) continue;
    uint32_t value = 0;
    std::memcpy(&value, static_cast<const char*>(constants->pData) + constants->pMapEntries[i].offset, sizeof value);
    return value;
  }
  return 0;
}

// The specialisation constants of a pipeline, with those of the watch in their places.
struct Specialisation {
  explicit Specialisation(const VkSpecializationInfo* given) {
    if (given == nullptr) return;
    info = *given;
    data.assign(static_cast<const std::byte*>(given->pData), static_cast<const std::byte*>(given->pData) + given->dataSize);
    for (uint32_t i = 0; i < given->mapEntryCount; i++) {
      const auto own = state->constants.find(given->pMapEntries[i].constantID);
      if (own != state->constants.end()) std::memcpy(data.data() + given->pMapEntries[i].offset, &own->second, sizeof own->second);
    }
    info.pData = data.data();
  }
  std::vector<std::byte> data;
  VkSpecializationInfo info{};
};

VKAPI_ATTR VkResult VKAPI_CALL createShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                                                  const VkAllocationCallbacks* callbacks, VkShaderModule* module) {
  const std::lock_guard lock(mutex);
  const VkResult result = state->createShaderModule(device, info, callbacks, module);
  if (result != VK_SUCCESS) return result;
  static const std::map<std::vector<uint32_t>, const char*> names = [] {
    std::map<std::vector<uint32_t>, const char*> made;
    for (const core::ShaderModuleCode& shader : core::shaderTable()) made[core::spirvOf(shader)] = shader.name;
    return made;
  }();
  const auto found = names.find({info->pCode, info->pCode + info->codeSize / sizeof(uint32_t)});
  state->modules[*module] = {found == names.end() ? "" : found->second, hashed(info->pCode, info->codeSize)};
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL createComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                      const VkComputePipelineCreateInfo* infos,
                                                      const VkAllocationCallbacks* callbacks, VkPipeline* pipelines) {
  const std::lock_guard lock(mutex);
  for (uint32_t i = 0; i < count; i++) {
    VkComputePipelineCreateInfo info = infos[i];
    const Specialisation constants(info.stage.pSpecializationInfo);
    if (info.stage.pSpecializationInfo != nullptr) info.stage.pSpecializationInfo = &constants.info;
    if (state->statistics) info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    const std::clock_t start = std::clock();
    const bool spared = state->driver == Driver::IsSpared;
    const VkResult result = spared ? VK_SUCCESS : state->createComputePipelines(device, cache, 1, &info, callbacks, &pipelines[i]);
    if (spared) pipelines[i] = (VkPipeline)(state->pipelines.size() + 1);  // a pointer, or a number where pointers are of 32 bits
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    CompiledPipeline compiled{state->modules[info.stage.module].name, seconds, localSizeOf(info.stage.pSpecializationInfo), inputOf(info),
                              result, {}};
    if (result == VK_SUCCESS && state->statistics && !spared) compiled.executables = executablesOf(device, pipelines[i]);
    state->pipelines.push_back(std::move(compiled));
    if (result != VK_SUCCESS) return result;
  }
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroyPipeline(VkDevice device, VkPipeline pipeline, const VkAllocationCallbacks* callbacks) {
  if (state->driver == Driver::Compiles) state->destroyPipeline(device, pipeline, callbacks);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceProcAddr(VkDevice device, const char* name) {
  if (std::strcmp(name, "vkCreateShaderModule") == 0) return reinterpret_cast<PFN_vkVoidFunction>(createShaderModule);
  if (std::strcmp(name, "vkCreateComputePipelines") == 0) {
    return reinterpret_cast<PFN_vkVoidFunction>(createComputePipelines);
  }
  if (std::strcmp(name, "vkDestroyPipeline") == 0) return reinterpret_cast<PFN_vkVoidFunction>(destroyPipeline);
  return state->getDeviceProcAddr(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getInstanceProc(VkInstance instance, const char* name) {
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return reinterpret_cast<PFN_vkVoidFunction>(getDeviceProcAddr);
  return state->getInstanceProcAddr(instance, name);
}

}  // namespace

PipelineWatch::PipelineWatch(VkInstance instance, VkDevice device, PFN_vkGetInstanceProcAddr getInstanceProcAddr,
                             bool statistics, Driver driver) {
  if (state != nullptr) throw std::logic_error("there is a PipelineWatch already");
  state = new State{};
  state->statistics = statistics;
  state->driver = driver;
  state->getInstanceProcAddr = getInstanceProcAddr;
  state->getDeviceProcAddr =
      reinterpret_cast<PFN_vkGetDeviceProcAddr>(getInstanceProcAddr(instance, "vkGetDeviceProcAddr"));
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(state->getDeviceProcAddr(device, name));
  };
  load(state->createShaderModule, "vkCreateShaderModule");
  load(state->createComputePipelines, "vkCreateComputePipelines");
  load(state->destroyPipeline, "vkDestroyPipeline");
  if (statistics) {
    load(state->getExecutables, "vkGetPipelineExecutablePropertiesKHR");
    load(state->getStatistics, "vkGetPipelineExecutableStatisticsKHR");
  }
}

PipelineWatch::~PipelineWatch() { delete std::exchange(state, nullptr); }

PFN_vkGetInstanceProcAddr PipelineWatch::entry() { return getInstanceProc; }

void PipelineWatch::specialise(uint32_t constant, uint32_t value) { state->constants[constant] = value; }

std::vector<CompiledPipeline> PipelineWatch::take() { return std::exchange(state->pipelines, {}); }

double spills(const CompiledPipeline& pipeline) {
  // "Spilled VGPRs" (RADV), "Spills" (ANV, Honeykrisp), "Spills to memory" (NVK); stores to private memory (Turnip).
  const auto counts = [](const std::string& name) {
    return name.find("Spill") != std::string::npos || name == "STP Count";
  };
  double total = 0;
  for (const Executable& executable : pipeline.executables) {
    for (const Statistic& statistic : executable.statistics) {
      if (counts(statistic.name)) total += statistic.value;
    }
  }
  return total;
}

}  // namespace saccade::inspect
