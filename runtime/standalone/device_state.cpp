// SPDX-License-Identifier: Apache-2.0
#include "standalone/device_state.hpp"

#include <algorithm>
#include <cstring>

#include "standalone/staging.hpp"
#include "standalone/stream_state.hpp"
#include "standalone/tuning.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {
namespace {

constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";

bool hasExtension(VkPhysicalDevice physicalDevice, const char* name) {
  std::uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count, nullptr),
        "list device extensions");
  std::vector<VkExtensionProperties> extensions(count);
  check(vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count, extensions.data()),
        "list device extensions");
  return std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

}  // namespace

DeviceState::DeviceState(Instance instance, ListedDevice chosen, DeviceSettings settings)
    : instance_(std::move(instance)), physicalDevice_(chosen.physicalDevice),
      summary_(std::move(chosen.summary)), settings_(std::move(settings)) {
  createDevice();
  allocator_.emplace(instance_.handle(), physicalDevice_, handle(), std::min(kInstanceApiVersion, summary_.apiVersion));
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(physicalDevice_, &properties);
  createPipelineCache(properties);
  createContext(properties);
}

DeviceState::~DeviceState() {
  if (context_ && !lost_) pipelineCache_->save(uncachedPipelines());
}

void DeviceState::createDevice() {
  enabledExtensions_ =
      enableAvailable(runtimeRequirements(instance_.handle(), physicalDevice_), enabledFeatures_);
  if (hasExtension(physicalDevice_, kPortabilitySubset)) enabledExtensions_.push_back(kPortabilitySubset);
  queueFamily_ = findComputeFamily(physicalDevice_, timestampValidBits_);

  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = queueFamily_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = enabledFeatures_.head();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(enabledExtensions_.size());
  info.ppEnabledExtensionNames = enabledExtensions_.data();
  // Without a cache on disk there is nothing to gain.
  const bool shaderObjects = !settings_.cacheFolder.empty() && wantsShaderObjects(physicalDevice_);
  VkPhysicalDeviceShaderObjectFeaturesEXT objects{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT};
  objects.shaderObject = VK_TRUE;
  objects.pNext = enabledFeatures_.head();
  if (shaderObjects) {
    enabledExtensions_.push_back(VK_EXT_SHADER_OBJECT_EXTENSION_NAME);
    info.enabledExtensionCount = static_cast<std::uint32_t>(enabledExtensions_.size());
    info.ppEnabledExtensionNames = enabledExtensions_.data();
    info.pNext = &objects;
  }
  VkDevice device = VK_NULL_HANDLE;
  runtime::check(vkCreateDevice(physicalDevice_, &info, nullptr, &device), "create the Vulkan device");
  vk_ = loadDeviceFunctions(device);
  device_ = {device, DestroyDevice{vk_.vkDestroyDevice}};
  if (shaderObjects) shaderObjects_.emplace(instance_.handle(), physicalDevice_, device, vk_);
  vk_.vkGetDeviceQueue(device, queueFamily_, 0, &queue_);
}

void DeviceState::createPipelineCache(const VkPhysicalDeviceProperties& properties) {
  PipelineCacheOwner owner{properties.vendorID, properties.deviceID, properties.driverVersion};
  std::copy(std::begin(properties.pipelineCacheUUID), std::end(properties.pipelineCacheUUID), owner.uuid.begin());
  std::filesystem::path file;
  if (!settings_.cacheFolder.empty()) file = settings_.cacheFolder / pipelineCacheFileName(owner);
  pipelineCache_.emplace(shaderObjects_ ? shaderObjects_->table() : vk_, handle(), owner, std::move(file), settings_.say);
}

// Of those that the cache had there is nothing new to write.
std::uint64_t DeviceState::uncachedPipelines() const {
  const ContextStatistics statistics = context_->statistics();
  return statistics.pipelinesCreated - statistics.pipelineCacheHits;
}

void DeviceState::createContext(const VkPhysicalDeviceProperties& properties) {
  const Tuning tuning = readTuning(settings_.tuning, settings_.cacheFolder, properties);
  tuningFile_ = tuning.file.string();
  const DeviceHandles own = handles();
  context_.emplace(ContextDesc{
      .apiVersion = own.apiVersion,
      .instance = own.instance,
      .physicalDevice = own.physicalDevice,
      .device = own.device,
      .getInstanceProcAddr = shaderObjects_ ? ShaderObjects::entry() : own.getInstanceProcAddr,
      .enabledFeatures = own.enabledFeatures,
      .enabledExtensions = own.enabledExtensions,
      .pipelineCache = pipelineCache_->handle(),
      .kernel = settings_.kernel,
      .tuning = tuning.content,
      .dispatchBudget = settings_.dispatchBudget,
      .debugUtils = instance_.debugUtils(),
  });
  std::string problem = tuning.problem;
  if (const char* ignored = context_->info().tuningIgnored; *ignored != '\0') problem = formatted("{}: {}", tuningFile_, ignored);
  if (!problem.empty()) settings_.note += (settings_.note.empty() ? "" : "; ") + problem;
}

DeviceHandles DeviceState::handles() const {
  return {
      .apiVersion = kInstanceApiVersion,
      .instance = instance_.handle(),
      .physicalDevice = physicalDevice_,
      .device = handle(),
      .queueFamily = queueFamily_,
      .getInstanceProcAddr = vkGetInstanceProcAddr,
      .enabledFeatures = enabledFeatures_.head(),
      .enabledExtensions = enabledExtensions_,
  };
}

void DeviceState::check(VkResult result, const char* action) {
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  runtime::check(result, action);
}

void DeviceState::checkUsable() const {
  if (lost_) runtime::check(VK_ERROR_DEVICE_LOST, "record more work");
}

void DeviceState::submit(const VkSubmitInfo& info) {
  {
    const std::lock_guard lock(queueMutex_);
    check(vk_.vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "submit work to the device");
  }
  pipelineCache_->saveIfDue(uncachedPipelines());  // while the device works
}

void DeviceState::waitIdle() {
  const std::lock_guard lock(queueMutex_);
  check(vk_.vkQueueWaitIdle(queue_), "wait for the device");
}

DeviceState::Immediate DeviceState::immediate() {
  std::unique_lock lock(immediateMutex_);
  if (!immediateStream_) immediateStream_ = std::make_unique<StreamState>(*this);
  if (!staging_) staging_ = std::make_unique<Staging>(*this, *immediateStream_);
  return {std::move(lock), *immediateStream_, *staging_};
}

}  // namespace saccade::runtime
