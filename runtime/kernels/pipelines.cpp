// SPDX-License-Identifier: Apache-2.0
#include "kernels/pipelines.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>

#include "api/message.hpp"
#include "kernels/registry.hpp"
#include "kernels/specialise.hpp"
#include "plan/plan.hpp"

namespace saccade::core {
namespace {

// Calls work(0) ... work(count - 1), on as many threads as the machine has cores, and waits. The first exception is thrown again.
void forEachAtOnce(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::exception_ptr> failures(count);
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (size_t i = 1; i < std::min(count, threads); i++) helpers.emplace_back(run);
    } catch (const std::system_error&) {  // no thread to be had: this one does the rest
    }
    run();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

template <class A, class B>
bool Pipelines::Before::operator()(const A& a, const B& b) const {
  if (a.shader != b.shader) return std::less<>()(a.shader, b.shader);
  if (a.subgroupSize != b.subgroupSize) return a.subgroupSize < b.subgroupSize;
  return std::lexicographical_compare(a.specialisation.begin(), a.specialisation.end(), b.specialisation.begin(), b.specialisation.end());
}

Pipelines::Pipelines(const DeviceFunctions& functions, const DeviceFacts& facts, VkDevice device, VkPipelineCache cache,
                     const VkAllocationCallbacks* callbacks, const DebugUtils& debugUtils, const Log& log)
    : functions_(functions), facts_(facts), device_(device), cache_(cache), callbacks_(callbacks), debugUtils_(debugUtils), log_(log) {
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(PushConstants)};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  checkVulkan(functions_.vkCreatePipelineLayout(device_, &info, callbacks_, &layout_), "vkCreatePipelineLayout");
  debugUtils_.name(VK_OBJECT_TYPE_PIPELINE_LAYOUT, layout_, "saccade");
}

Pipelines::~Pipelines() {
  for (auto& [key, pipeline] : pipelines_) functions_.vkDestroyPipeline(device_, pipeline.handle, callbacks_);
  functions_.vkDestroyPipelineLayout(device_, layout_, callbacks_);
}

void Pipelines::get(std::span<Request> requests) {
  std::vector<Request*> missing;
  {
    const std::lock_guard lock(mutex_);
    for (Request& request : requests) {
      if (!find(request)) missing.push_back(&request);
    }
  }
  if (missing.empty()) return;
  // Compiled outside the lock: several threads may compile different pipelines at once. A host's allocation callbacks may
  // not be made for that.
  const size_t threads = callbacks_ != nullptr ? 1 : std::max(std::thread::hardware_concurrency(), 1u);
  forEachAtOnce(missing.size(), threads, [&](size_t i) { createAndKeep(*missing[i]); });
  const std::lock_guard lock(mutex_);
  for (Request* request : missing) find(*request);
}

SaccadeContextStatistics Pipelines::statistics() const {
  return {created_.load(std::memory_order_relaxed), cacheHits_.load(std::memory_order_relaxed),
          static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-6};
}

bool Pipelines::find(Request& request) {
  const auto found = pipelines_.find(request);
  if (found == pipelines_.end()) return false;
  request.pipeline = &found->second;
  return true;
}

void Pipelines::createAndKeep(const Request& request) {
  const VkPipeline pipeline = create(request);
  bool inserted = false;
  try {
    const std::lock_guard lock(mutex_);
    Key key{request.shader, {request.specialisation.begin(), request.specialisation.end()}, request.subgroupSize};
    inserted = pipelines_.try_emplace(std::move(key), pipeline, isCpu(facts_) ? kUnknownCpuPace : kUnknownGpuPace).second;
  } catch (...) {
    functions_.vkDestroyPipeline(device_, pipeline, callbacks_);
    throw;
  }
  // Another thread made the same one meanwhile.
  if (!inserted) functions_.vkDestroyPipeline(device_, pipeline, callbacks_);
}

VkPipeline Pipelines::create(const Request& request) {
  const ShaderModuleCode& shader = *request.shader;
  std::vector<uint32_t> code = spirvOf(shader);
  // Such a driver gets modules that have their specialisation constants already, but for those that unroll loops: its code would
  // be too long.
  if (isPlainCpu(facts_)) code = specialise(code, request.specialisation, unrolledConstants(shader));
  VkShaderModuleCreateInfo moduleInfo{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = code.size() * sizeof code[0];
  moduleInfo.pCode = code.data();
  VkShaderModule module = VK_NULL_HANDLE;
  checkVulkan(functions_.vkCreateShaderModule(device_, &moduleInfo, callbacks_, &module), "vkCreateShaderModule");

  std::vector<VkSpecializationMapEntry> entries(request.specialisation.size());
  for (uint32_t i = 0; i < entries.size(); i++) {
    entries[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
  }
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                       request.specialisation.size_bytes(), request.specialisation.data()};
  VkPipelineCreationFeedback whole{}, stage{};
  VkPipelineCreationFeedbackCreateInfo feedback{VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO};
  feedback.pPipelineCreationFeedback = &whole;
  feedback.pipelineStageCreationFeedbackCount = 1;
  feedback.pPipelineStageCreationFeedbacks = &stage;
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  if (facts_.apiVersion >= VK_API_VERSION_1_3) info.pNext = &feedback;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = layout_;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, nullptr, request.subgroupSize};
  // Without the feature the device has one size, and subgroupSizeRefusal has seen to it that it is this one.
  if (request.subgroupSize != 0 && facts_.subgroupSizeControl) {
    info.stage.pNext = &size;
    if (facts_.computeFullSubgroups) info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  VkPipeline pipeline = VK_NULL_HANDLE;
  const auto begin = std::chrono::steady_clock::now();
  const VkResult result = functions_.vkCreateComputePipelines(device_, cache_, 1, &info, callbacks_, &pipeline);
  const auto duration = std::chrono::steady_clock::now() - begin;
  functions_.vkDestroyShaderModule(device_, module, callbacks_);
  checkVulkan(result, formatted("vkCreateComputePipelines for {}", shader.name).c_str());
  created_.fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(static_cast<uint64_t>(std::chrono::nanoseconds(duration).count()), std::memory_order_relaxed);
  const VkPipelineCreationFeedbackFlags hit =
      VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT | VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
  const bool cached = (whole.flags & hit) == hit;
  if (cached) cacheHits_.fetch_add(1, std::memory_order_relaxed);
  if (debugUtils_.on()) debugUtils_.name(VK_OBJECT_TYPE_PIPELINE, pipeline, formatted("saccade {}", shader.name).c_str());
  log_.write(SACCADE_SEVERITY_DEBUG, "pipeline {} in {:.1f} ms{}", shader.name,
             std::chrono::duration<double, std::milli>(duration).count(), cached ? ", from the pipeline cache" : "");
  return pipeline;
}

}  // namespace saccade::core
