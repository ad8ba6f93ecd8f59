// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <saccade/runtime.hpp>

#include "standalone/buffer.hpp"
#include "standalone/device_list.hpp"
#include "standalone/features.hpp"
#include "standalone/instance.hpp"
#include "standalone/pipeline_cache.hpp"
#include "standalone/plan_cache.hpp"
#include "standalone/shader_objects.hpp"

namespace saccade::runtime {

class Staging;
class StreamState;

struct DestroyDevice {
  PFN_vkDestroyDevice destroy = nullptr;
  void operator()(VkDevice device) const { destroy(device, nullptr); }
};

struct DeviceSettings {
  std::string kernel;                  // for every plan; empty: free choice
  std::string tuning;                  // DeviceOptions::tuning
  std::string note;                    // Device::note
  std::filesystem::path cacheFolder;   // empty: pipelines are not kept
  std::function<void(const std::string&)> say;
  double dispatchBudget = 100;         // milliseconds
};

// What a Device handle shares: the Vulkan device, its one queue, its memory and its plans.
class DeviceState {
 public:
  DeviceState(Instance instance, ListedDevice chosen, DeviceSettings settings);
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState();

  const DeviceSummary& summary() const { return summary_; }
  const std::string& note() const { return settings_.note; }
  const std::string& tuningFile() const { return tuningFile_; }
  const DeviceFacts& facts() const { return context_->facts(); }
  const Context& context() const { return *context_; }
  const Instance& instance() const { return instance_; }
  VkDevice handle() const { return device_.get(); }
  const DeviceFunctions& vk() const { return vk_; }
  Allocator& allocator() { return *allocator_; }
  std::uint32_t queueFamily() const { return queueFamily_; }
  double dispatchBudget() const { return settings_.dispatchBudget; }
  std::uint32_t timestampValidBits() const { return timestampValidBits_; }
  MemoryCounter& memory() { return memory_; }
  PlanCache& plans() { return plans_; }
  DeviceHandles handles() const;

  // Throws Error unless `result` is a success code, and remembers a lost device.
  void check(VkResult result, const char* action);
  // Throws Error DeviceLost once the device is lost, so that nothing more is asked of it.
  void checkUsable() const;

  void submit(const VkSubmitInfo& info);
  void waitIdle();

  // A stream for work that is done when the call returns. Used under its lock.
  struct Immediate {
    std::unique_lock<std::mutex> lock;
    StreamState& stream;
    Staging& staging;
  };
  Immediate immediate();

 private:
  void createDevice();
  void createPipelineCache(const VkPhysicalDeviceProperties& properties);
  void createContext(const VkPhysicalDeviceProperties& properties);
  std::uint64_t uncachedPipelines() const;

  // In the order of creation; everything is destroyed in the reverse order.
  Instance instance_;
  VkPhysicalDevice physicalDevice_;
  DeviceSummary summary_;
  DeviceSettings settings_;
  std::string tuningFile_;
  FeatureChain enabledFeatures_;
  std::vector<const char*> enabledExtensions_;
  std::uint32_t timestampValidBits_ = 0;
  std::uint32_t queueFamily_ = 0;
  std::atomic<bool> lost_ = false;
  std::unique_ptr<VkDevice_T, DestroyDevice> device_;
  DeviceFunctions vk_{};
  std::mutex queueMutex_;
  VkQueue queue_ = VK_NULL_HANDLE;
  MemoryCounter memory_;
  std::optional<Allocator> allocator_;
  std::optional<ShaderObjects> shaderObjects_;
  std::optional<PipelineCache> pipelineCache_;
  std::optional<Context> context_;
  PlanCache plans_;
  std::mutex immediateMutex_;
  std::unique_ptr<StreamState> immediateStream_;
  std::unique_ptr<Staging> staging_;
};

}  // namespace saccade::runtime
