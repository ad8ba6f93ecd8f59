// SPDX-License-Identifier: Apache-2.0
#include "kernels/pipelines.hpp"

#include "api/message.hpp"
#include "plan/plan.hpp"

namespace saccade::core {

Pipelines::Pipelines(const DeviceFunctions& functions, VkDevice device, VkPipelineCache cache,
                     const VkAllocationCallbacks* callbacks)
    : functions_(functions), device_(device), cache_(cache), callbacks_(callbacks) {
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(PushConstants)};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  checkVulkan(functions_.vkCreatePipelineLayout(device_, &info, callbacks_, &layout_), "vkCreatePipelineLayout");
}

Pipelines::~Pipelines() {
  for (auto& [key, pipeline] : pipelines_) functions_.vkDestroyPipeline(device_, pipeline, callbacks_);
  functions_.vkDestroyPipelineLayout(device_, layout_, callbacks_);
}

VkPipeline Pipelines::get(const ShaderModuleCode& shader, const std::vector<uint32_t>& specialisation) {
  const auto key = std::pair(&shader, specialisation);
  {
    const std::lock_guard lock(mutex_);
    if (auto found = pipelines_.find(key); found != pipelines_.end()) return found->second;
  }
  // Compiled outside the lock: several threads may compile different pipelines at once. If two
  // compile the same one, the second result is dropped.
  VkPipeline pipeline = create(shader, specialisation);
  const std::lock_guard lock(mutex_);
  auto [entry, inserted] = pipelines_.emplace(key, pipeline);
  if (!inserted) functions_.vkDestroyPipeline(device_, pipeline, callbacks_);
  return entry->second;
}

VkPipeline Pipelines::create(const ShaderModuleCode& shader, const std::vector<uint32_t>& specialisation) const {
  VkShaderModuleCreateInfo moduleInfo{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = static_cast<size_t>(shader.end - shader.begin) * sizeof(uint32_t);
  moduleInfo.pCode = shader.begin;
  VkShaderModule module = VK_NULL_HANDLE;
  checkVulkan(functions_.vkCreateShaderModule(device_, &moduleInfo, callbacks_, &module), "vkCreateShaderModule");

  std::vector<VkSpecializationMapEntry> entries(specialisation.size());
  for (uint32_t i = 0; i < entries.size(); i++) {
    entries[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
  }
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                       specialisation.size() * sizeof(uint32_t), specialisation.data()};
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result = functions_.vkCreateComputePipelines(device_, cache_, 1, &info, callbacks_, &pipeline);
  functions_.vkDestroyShaderModule(device_, module, callbacks_);
  checkVulkan(result, std::format("vkCreateComputePipelines for {}", shader.name).c_str());
  return pipeline;
}

}  // namespace saccade::core
