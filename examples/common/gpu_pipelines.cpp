// SPDX-License-Identifier: Apache-2.0
#include "common/gpu.hpp"

namespace example {

void Gpu::createLayouts() {
  const VkSamplerCreateInfo samplerInfo = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO, .magFilter = VK_FILTER_LINEAR,
                                           .minFilter = VK_FILTER_LINEAR,
                                           .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                           .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
  check(vkCreateSampler(device, &samplerInfo, nullptr, &sampler_), "vkCreateSampler");
  atEnd([this] { vkDestroySampler(device, sampler_, nullptr); });

  const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                                .descriptorCount = 1, .stageFlags = kStages, .pImmutableSamplers = &sampler_};
  const VkDescriptorSetLayoutCreateInfo setInfo = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                   .bindingCount = 1, .pBindings = &binding};
  check(vkCreateDescriptorSetLayout(device, &setInfo, nullptr, &setLayout_), "vkCreateDescriptorSetLayout");
  atEnd([this] { vkDestroyDescriptorSetLayout(device, setLayout_, nullptr); });

  const VkPushConstantRange range = {kStages, 0, 128};
  const VkPipelineLayoutCreateInfo layoutInfo = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
                                                 .pSetLayouts = &setLayout_, .pushConstantRangeCount = 1,
                                                 .pPushConstantRanges = &range};
  check(vkCreatePipelineLayout(device, &layoutInfo, nullptr, &pipelineLayout), "vkCreatePipelineLayout");
  atEnd([this] { vkDestroyPipelineLayout(device, pipelineLayout, nullptr); });

  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1};
  const VkDescriptorPoolCreateInfo poolInfo = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1,
                                               .poolSizeCount = 1, .pPoolSizes = &size};
  check(vkCreateDescriptorPool(device, &poolInfo, nullptr, &descriptorPool_), "vkCreateDescriptorPool");
  atEnd([this] { vkDestroyDescriptorPool(device, descriptorPool_, nullptr); });
}

VkDescriptorSet Gpu::sampledImage(VkImageView view) {
  const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = descriptorPool_, .descriptorSetCount = 1,
                                            .pSetLayouts = &setLayout_};
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(device, &info, &set), "vkAllocateDescriptorSets");
  const VkDescriptorImageInfo image = {.imageView = view, .imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
  const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, .pImageInfo = &image};
  vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
  return set;
}

VkShaderModule Gpu::shader(std::span<const std::uint32_t> code) {
  const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code.size_bytes(),
                                         .pCode = code.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device, &info, nullptr, &module), "vkCreateShaderModule");
  atEnd([this, module] { vkDestroyShaderModule(device, module, nullptr); });
  return module;
}

VkPipeline Gpu::computePipeline(std::span<const std::uint32_t> code) {
  const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = shader(code), .pName = "main"},
      .layout = pipelineLayout};
  VkPipeline pipeline = VK_NULL_HANDLE;
  check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline), "vkCreateComputePipelines");
  atEnd([this, pipeline] { vkDestroyPipeline(device, pipeline, nullptr); });
  return pipeline;
}

VkPipeline Gpu::graphicsPipeline(std::span<const std::uint32_t> vertex, std::span<const std::uint32_t> fragment) {
  const VkPipelineShaderStageCreateInfo stages[] = {
      {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_VERTEX_BIT,
       .module = shader(vertex), .pName = "main"},
      {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
       .module = shader(fragment), .pName = "main"}};
  const VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  const VkPipelineInputAssemblyStateCreateInfo assembly = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                           .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP};
  const VkPipelineViewportStateCreateInfo viewport = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                      .viewportCount = 1, .scissorCount = 1};
  const VkPipelineRasterizationStateCreateInfo raster = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                                                         .lineWidth = 1.0f};
  const VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
  const VkPipelineColorBlendAttachmentState attachment = {.colorWriteMask = 0xf};
  const VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                     .attachmentCount = 1, .pAttachments = &attachment};
  const VkDynamicState dynamicStates[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
  const VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                    .dynamicStateCount = 2, .pDynamicStates = dynamicStates};
  const VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                   .colorAttachmentCount = 1, .pColorAttachmentFormats = &surfaceFormat.format};
  const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .pNext = &rendering,
                                             .stageCount = 2, .pStages = stages, .pVertexInputState = &input,
                                             .pInputAssemblyState = &assembly, .pViewportState = &viewport,
                                             .pRasterizationState = &raster, .pMultisampleState = &samples,
                                             .pColorBlendState = &blend, .pDynamicState = &dynamic, .layout = pipelineLayout};
  VkPipeline pipeline = VK_NULL_HANDLE;
  check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline), "vkCreateGraphicsPipelines");
  atEnd([this, pipeline] { vkDestroyPipeline(device, pipeline, nullptr); });
  return pipeline;
}

}  // namespace example
