// SPDX-License-Identifier: Apache-2.0
#include "bench_probe_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "kernels/shader_table.hpp"
#include "standalone/vulkan.hpp"

namespace saccade::core {

std::span<const ShaderModuleCode> probeShaderTable();

}  // namespace saccade::core

namespace saccade::tool {

namespace {

using runtime::check;

bool hasExtension(VkPhysicalDevice physicalDevice, const char* name) {
  std::uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count, nullptr), "list device extensions");
  std::vector<VkExtensionProperties> extensions(count);
  check(vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count, extensions.data()),
        "list device extensions");
  return std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

const core::ShaderModuleCode& shaderNamed(const std::string& name) {
  for (const core::ShaderModuleCode& code : core::probeShaderTable()) {
    if (name == code.name && code.begin != nullptr) return code;
  }
  throw Error(Status::Unsupported, "probe", fmt::format("the shader {} was left out of this build", name));
}

bool hasShader(const std::string& name) {
  const auto table = core::probeShaderTable();
  return std::any_of(table.begin(), table.end(), [&](const core::ShaderModuleCode& code) {
    return name == code.name && code.begin != nullptr;
  });
}

std::uint32_t deviceMemoryType(VkPhysicalDevice physicalDevice, std::uint32_t allowed) {
  VkPhysicalDeviceMemoryProperties properties{};
  vkGetPhysicalDeviceMemoryProperties(physicalDevice, &properties);
  for (std::uint32_t i = 0; i < properties.memoryTypeCount; ++i) {
    const bool local = (properties.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    if (local && (allowed >> i & 1) != 0) return i;
  }
  throw Error(Status::OutOfMemory, "probe", "no device memory can hold a storage buffer");
}

}  // namespace

ProbeDevice::ProbeDevice(const Device& device)
    : physicalDevice_(device.handles().physicalDevice), queueFamily_(device.handles().queueFamily) {
  volkInitializeCustom(device.handles().getInstanceProcAddr);
  volkLoadInstanceOnly(device.handles().instance);
  findMatrixShapes();
  createDevice();
  createCommands();
}

ProbeDevice::~ProbeDevice() {
  for (const VkPipeline pipeline : pipelines_) vk_.vkDestroyPipeline(device_, pipeline, nullptr);
  for (const Buffer& buffer : buffers_) {
    vk_.vkDestroyBuffer(device_, buffer.handle, nullptr);
    vk_.vkFreeMemory(device_, buffer.memory, nullptr);
  }
  vk_.vkDestroyPipelineLayout(device_, layout_, nullptr);
  vk_.vkDestroyFence(device_, fence_, nullptr);
  vk_.vkDestroyCommandPool(device_, pool_, nullptr);
  vk_.vkDestroyDevice(device_, nullptr);
}

void ProbeDevice::findMatrixShapes() {
  if (!hasShader("probe_matrix") || vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR == nullptr ||
      !hasExtension(physicalDevice_, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) {
    return;
  }
  std::uint32_t count = 0;
  check(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(physicalDevice_, &count, nullptr), "list matrix shapes");
  std::vector<VkCooperativeMatrixPropertiesKHR> listed(
      count, VkCooperativeMatrixPropertiesKHR{.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  check(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(physicalDevice_, &count, listed.data()),
        "list matrix shapes");
  for (const VkCooperativeMatrixPropertiesKHR& p : listed) {
    if (p.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
        p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
        p.scope == VK_SCOPE_SUBGROUP_KHR && p.saturatingAccumulation == VK_FALSE) {
      matrixShapes_.push_back({p.MSize, p.NSize, p.KSize});
    }
  }
}

void ProbeDevice::createDevice() {
  VkPhysicalDeviceVulkan12Features available{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &available};
  vkGetPhysicalDeviceFeatures2(physicalDevice_, &features);
  float16_ = available.shaderFloat16 == VK_TRUE && hasShader("probe_fma_f16");
  if (available.shaderFloat16 != VK_TRUE || available.vulkanMemoryModel != VK_TRUE) matrixShapes_.clear();

  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  matrix.cooperativeMatrix = VK_TRUE;
  VkPhysicalDeviceVulkan12Features enabled{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  enabled.bufferDeviceAddress = VK_TRUE;
  enabled.shaderFloat16 = available.shaderFloat16;
  std::vector<const char*> extensions;
  if (!matrixShapes_.empty()) {
    enabled.vulkanMemoryModel = VK_TRUE;
    enabled.pNext = &matrix;
    extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  }
  constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";
  if (hasExtension(physicalDevice_, kPortabilitySubset)) extensions.push_back(kPortabilitySubset);

  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = queueFamily_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &enabled};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(vkCreateDevice(physicalDevice_, &info, nullptr, &device_), "create a Vulkan device for the probes");
  volkLoadDeviceTable(&vk_, device_);
  vk_.vkGetDeviceQueue(device_, queueFamily_, 0, &queue_);
}

void ProbeDevice::createCommands() {
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = queueFamily_;
  check(vk_.vkCreateCommandPool(device_, &pool, nullptr, &pool_), "create a command pool");
  VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  commands.commandPool = pool_;
  commands.commandBufferCount = 1;
  check(vk_.vkAllocateCommandBuffers(device_, &commands, &commands_), "allocate a command buffer");
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vk_.vkCreateFence(device_, &fence, nullptr, &fence_), "create a fence");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(ProbePush)};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  check(vk_.vkCreatePipelineLayout(device_, &layout, nullptr, &layout_), "create a pipeline layout");
}

ProbeDevice::Buffer ProbeDevice::buffer(VkDeviceSize bytes) {
  Buffer& buffer = buffers_.emplace_back();
  buffer.size = bytes;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  check(vk_.vkCreateBuffer(device_, &info, nullptr, &buffer.handle), "create a buffer for the probes");
  VkMemoryRequirements requirements{};
  vk_.vkGetBufferMemoryRequirements(device_, buffer.handle, &requirements);
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
  allocation.allocationSize = requirements.size;
  allocation.memoryTypeIndex = deviceMemoryType(physicalDevice_, requirements.memoryTypeBits);
  check(vk_.vkAllocateMemory(device_, &allocation, nullptr, &buffer.memory), "allocate memory for the probes");
  check(vk_.vkBindBufferMemory(device_, buffer.handle, buffer.memory, 0), "bind memory for the probes");
  VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = buffer.handle;
  buffer.address = vk_.vkGetBufferDeviceAddress(device_, &address);
  // Pages that nobody has written may all be one and the same page of zeros.
  begin();
  vk_.vkCmdFillBuffer(commands_, buffer.handle, 0, VK_WHOLE_SIZE, 0x3f000000);
  submit();
  return buffer;
}

VkPipeline ProbeDevice::pipeline(const std::string& shader, std::span<const std::uint32_t> constants) {
  const core::ShaderModuleCode& code = shaderNamed(shader);
  VkShaderModuleCreateInfo moduleInfo{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = static_cast<std::size_t>(code.end - code.begin);
  moduleInfo.pCode = reinterpret_cast<const std::uint32_t*>(code.begin);
  VkShaderModule module = VK_NULL_HANDLE;
  check(vk_.vkCreateShaderModule(device_, &moduleInfo, nullptr, &module), "create a shader module");
  std::vector<VkSpecializationMapEntry> entries;
  for (std::uint32_t i = 0; i < constants.size(); ++i) {
    entries.push_back({i, i * std::uint32_t{sizeof(std::uint32_t)}, sizeof(std::uint32_t)});
  }
  const VkSpecializationInfo specialisation{static_cast<std::uint32_t>(entries.size()), entries.data(),
                                            constants.size_bytes(), constants.data()};
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialisation;
  info.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result = vk_.vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
  vk_.vkDestroyShaderModule(device_, module, nullptr);
  check(result, fmt::format("create the pipeline of {}", shader).c_str());
  pipelines_.push_back(pipeline);
  return pipeline;
}

void ProbeDevice::begin() {
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vk_.vkBeginCommandBuffer(commands_, &info), "begin a command buffer");
}

double ProbeDevice::submit() {
  check(vk_.vkEndCommandBuffer(commands_), "finish a command buffer");
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  const auto start = std::chrono::steady_clock::now();
  check(vk_.vkQueueSubmit(queue_, 1, &info, fence_), "submit a probe");
  check(vk_.vkWaitForFences(device_, 1, &fence_, VK_TRUE, std::numeric_limits<std::uint64_t>::max()),
        "wait for a probe");
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  check(vk_.vkResetFences(device_, 1, &fence_), "reset a fence");
  return passed.count();
}

double ProbeDevice::secondsOf(VkPipeline pipeline, const ProbePush& push, std::uint32_t groups) {
  begin();
  vk_.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vk_.vkCmdPushConstants(commands_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
  vk_.vkCmdDispatch(commands_, groups, 1, 1);
  return submit();
}

double ProbeDevice::secondsOfCopy(const Buffer& source, const Buffer& target) {
  begin();
  const VkBufferCopy region{0, 0, std::min(source.size, target.size)};
  vk_.vkCmdCopyBuffer(commands_, source.handle, target.handle, 1, &region);
  return submit();
}

}  // namespace saccade::tool
