// SPDX-License-Identifier: Apache-2.0
#include "host.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace saccade::host {

void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + " failed with VkResult " + std::to_string(result));
}

VKAPI_ATTR VkBool32 VKAPI_CALL Host::onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                               const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  Host& host = *static_cast<Host*>(user);
  const std::lock_guard lock(host.mutex_);
  host.messages_.push_back(data->pMessage);
  return VK_FALSE;
}

std::vector<std::string> Host::messages() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

Host::Host(const HostOptions& options) {
  features.pNext = &vulkan11_;
  createInstance(options.validation);
  chooseDevice(options.device);
  createDevice(options);
}

Host::~Host() {
  if (device != VK_NULL_HANDLE) vkDestroyDevice(device, nullptr);
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance, messenger_, nullptr);
  }
  vkDestroyInstance(instance, nullptr);
}

void Host::createInstance(bool validation) {
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (!validation) {
    check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
    return;
  }
  VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = onMessage;
  messenger.pUserData = this;
  const VkValidationFeatureEnableEXT synchronisation = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT checks{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, &messenger, 1, &synchronisation, 0, nullptr};
  const char* const layer = "VK_LAYER_KHRONOS_validation";
  const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  info.pNext = &checks;
  info.enabledLayerCount = 1;
  info.ppEnabledLayerNames = &layer;
  info.enabledExtensionCount = 2;
  info.ppEnabledExtensionNames = extensions;
  check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance with VK_LAYER_KHRONOS_validation");
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
  check(create(instance, &messenger, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
}

void Host::chooseDevice(size_t index) {
  uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> all(count), named;
  check(vkEnumeratePhysicalDevices(instance, &count, all.data()), "vkEnumeratePhysicalDevices");
  const char* wanted = std::getenv("SACCADE_DEVICE");
  for (const VkPhysicalDevice candidate : all) {
    vkGetPhysicalDeviceProperties(candidate, &properties);
    if (std::string_view(properties.deviceName).find(wanted != nullptr ? wanted : "") != std::string_view::npos) {
      named.push_back(candidate);
    }
  }
  if (named.empty()) throw std::runtime_error("no Vulkan device has a name with SACCADE_DEVICE in it");
  physicalDevice = named[std::min(index, named.size() - 1)];
  vkGetPhysicalDeviceProperties(physicalDevice, &properties);
}

void Host::enableRecommendedExtensions() {
  uint32_t count = 0;
  saccadeGetDeviceRequirements(instance, physicalDevice, vkGetInstanceProcAddr, &count, nullptr, nullptr);
  std::vector<SaccadeRequirement> items(count);
  saccadeGetDeviceRequirements(instance, physicalDevice, vkGetInstanceProcAddr, &count, items.data(), nullptr);
  for (const SaccadeRequirement& item : items) {
    if (item.available && std::string_view(item.structName) == "device extension") extensionNames_.push_back(item.name);
  }
  const auto chain = [&](const char* extension, auto& structure) {
    if (std::find(extensionNames_.begin(), extensionNames_.end(), std::string_view(extension)) == extensionNames_.end()) return;
    VkPhysicalDeviceFeatures2 query{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &structure};
    vkGetPhysicalDeviceFeatures2(physicalDevice, &query);
    structure.pNext = features.pNext;
    features.pNext = &structure;
  };
  chain(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, subgroupSizes_);
  chain(VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME, rotate_);
  chain(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, matrix_);
  chain(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME, matrix2_);
}

void Host::createDevice(const HostOptions& options) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physicalDevice, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physicalDevice, &count, families.data());
  const auto family = std::find_if(families.begin(), families.end(), [&](const VkQueueFamilyProperties& candidate) {
    return (candidate.queueFlags & options.with) == options.with && (candidate.queueFlags & options.without) == 0;
  });
  if (family == families.end()) return;
  queueFamily = static_cast<uint32_t>(family - families.begin());
  if (options.recommended) {
    VkPhysicalDeviceVulkan12Features available12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features available11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &available12};
    VkPhysicalDeviceFeatures2 available{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &available11};
    vkGetPhysicalDeviceFeatures2(physicalDevice, &available);
    features.features.shaderInt64 = available.features.shaderInt64;
    vulkan11_.storageBuffer16BitAccess = available11.storageBuffer16BitAccess;
    vulkan12_.storageBuffer8BitAccess = available12.storageBuffer8BitAccess;
    vulkan12_.shaderFloat16 = available12.shaderFloat16;
    vulkan12_.vulkanMemoryModel = available12.vulkanMemoryModel && available12.vulkanMemoryModelDeviceScope;
    vulkan12_.vulkanMemoryModelDeviceScope = available12.vulkanMemoryModelDeviceScope;
    enableRecommendedExtensions();
  }
  vulkan12_.bufferDeviceAddress = VK_TRUE;
  const float priority = 1;
  VkDeviceQueueCreateInfo queueInfo{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queueInfo.queueFamilyIndex = queueFamily;
  queueInfo.queueCount = 1;
  queueInfo.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queueInfo;
  info.enabledExtensionCount = static_cast<uint32_t>(extensionNames_.size());
  info.ppEnabledExtensionNames = extensionNames_.data();
  check(vkCreateDevice(physicalDevice, &info, nullptr, &device), "vkCreateDevice");
  vkGetDeviceQueue(device, queueFamily, 0, &queue);
}

SaccadeContextCreateInfo Host::contextInfo() const {
  SaccadeContextCreateInfo info = saccadeContextCreateInfoDefault();
  info.instance = instance;
  info.physicalDevice = physicalDevice;
  info.device = device;
  info.getInstanceProcAddr = vkGetInstanceProcAddr;
  info.enabledFeatures = &features;
  info.enabledExtensionCount = static_cast<uint32_t>(extensionNames_.size());
  info.enabledExtensions = extensionNames_.data();
  info.debugUtils = info.checkUse = messenger_ != VK_NULL_HANDLE ? VK_TRUE : VK_FALSE;
  return info;
}

SaccadeContext Host::createContext() const {
  const SaccadeContextCreateInfo info = contextInfo();
  SaccadeContext context = nullptr;
  SaccadeMessage message{};
  if (saccadeCreateContext(&info, &context, &message) != SACCADE_OK) throw std::runtime_error(message.text);
  return context;
}

void Host::run(const std::vector<VkCommandBuffer>& commandBuffers) const {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = static_cast<uint32_t>(commandBuffers.size());
  info.pCommandBuffers = commandBuffers.data();
  check(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
}

uint32_t memoryType(const Host& host, uint32_t allowed, VkMemoryPropertyFlags wanted) {
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(host.physicalDevice, &memory);
  for (uint32_t type = 0; type < memory.memoryTypeCount; type++) {
    if ((allowed >> type & 1) != 0 && (memory.memoryTypes[type].propertyFlags & wanted) == wanted) return type;
  }
  throw std::runtime_error("no memory type fits");
}

Memory::Memory(const Host& host, VkDeviceSize bytes, VkBufferUsageFlags usage) : size(bytes), device_(host.device) {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = std::max<VkDeviceSize>(bytes, 16);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | usage;
  check(vkCreateBuffer(device_, &info, nullptr, &buffer), "vkCreateBuffer");
  VkMemoryRequirements needed{};
  vkGetBufferMemoryRequirements(device_, buffer, &needed);
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
  allocate.allocationSize = needed.size;
  allocate.memoryTypeIndex =
      memoryType(host, needed.memoryTypeBits, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  check(vkAllocateMemory(device_, &allocate, nullptr, &memory_), "vkAllocateMemory");
  check(vkBindBufferMemory(device_, buffer, memory_, 0), "vkBindBufferMemory");
  check(vkMapMemory(device_, memory_, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
  VkBufferDeviceAddressInfo addressInfo{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  addressInfo.buffer = buffer;
  address = vkGetBufferDeviceAddress(device_, &addressInfo);
}

Memory::~Memory() {
  vkDestroyBuffer(device_, buffer, nullptr);
  vkFreeMemory(device_, memory_, nullptr);
}

Commands::Commands(const Host& host, VkCommandBufferUsageFlags usage, VkCommandBufferLevel level) : device_(host.device) {
  VkCommandPoolCreateInfo poolInfo{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  poolInfo.queueFamilyIndex = host.queueFamily;
  check(vkCreateCommandPool(device_, &poolInfo, nullptr, &pool_), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool_;
  allocate.level = level;
  allocate.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device_, &allocate, &handle_), "vkAllocateCommandBuffers");
  const VkCommandBufferInheritanceInfo inheritance{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = usage;
  begin.pInheritanceInfo = &inheritance;
  check(vkBeginCommandBuffer(handle_, &begin), "vkBeginCommandBuffer");
}

Commands::~Commands() { vkDestroyCommandPool(device_, pool_, nullptr); }

void Commands::barrier() {
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                               VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  vkCmdPipelineBarrier(handle_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0,
                       nullptr, 0, nullptr);
}

void Commands::end() {
  const VkMemoryBarrier toHost{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(handle_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &toHost, 0, nullptr, 0,
                       nullptr);
  check(vkEndCommandBuffer(handle_), "vkEndCommandBuffer");
}

HostPipeline::HostPipeline(const Host& host, const uint32_t* code, size_t codeBytes, uint32_t pushBytes,
                           VkDescriptorSetLayout set)
    : device_(host.device), pushBytes_(pushBytes) {
  VkShaderModuleCreateInfo moduleInfo{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = codeBytes;
  moduleInfo.pCode = code;
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device_, &moduleInfo, nullptr, &module), "vkCreateShaderModule");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, pushBytes};
  VkPipelineLayoutCreateInfo layoutInfo{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layoutInfo.setLayoutCount = set != VK_NULL_HANDLE ? 1 : 0;
  layoutInfo.pSetLayouts = &set;
  layoutInfo.pushConstantRangeCount = 1;
  layoutInfo.pPushConstantRanges = &range;
  check(vkCreatePipelineLayout(device_, &layoutInfo, nullptr, &layout), "vkCreatePipelineLayout");
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, nullptr, 0, VK_SHADER_STAGE_COMPUTE_BIT, module, "main",
                nullptr};
  info.layout = layout;
  check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_), "vkCreateComputePipelines");
  vkDestroyShaderModule(device_, module, nullptr);
}

HostPipeline::~HostPipeline() {
  vkDestroyPipeline(device_, pipeline_, nullptr);
  vkDestroyPipelineLayout(device_, layout, nullptr);
}

void HostPipeline::dispatch(VkCommandBuffer commandBuffer, const void* push, uint32_t groups) const {
  vkCmdBindPipeline(commandBuffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  vkCmdPushConstants(commandBuffer, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, pushBytes_, push);
  vkCmdDispatch(commandBuffer, groups, 1, 1);
}

}  // namespace saccade::host
