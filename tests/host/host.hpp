// SPDX-License-Identifier: Apache-2.0
// A host as the tests of this folder know it: its own instance and device, mapped memory with addresses and command buffers, with
// plain Vulkan and saccade.h alone. Vulkan calls that fail end the test with an exception.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <saccade/saccade.h>
#include <vulkan/vulkan.h>

namespace saccade::host {

// Throws std::runtime_error unless `result` is VK_SUCCESS.
void check(VkResult result, const char* what);

struct HostOptions {
  bool recommended = false;  // enable what Saccade recommends and the device has; else bufferDeviceAddress and nothing more
  bool validation = true;    // with synchronisation validation, and contexts with names, labels and checked handles
  VkQueueFlags with = VK_QUEUE_COMPUTE_BIT, without = 0;  // of the queue family
  size_t device = 0;         // among those whose name contains SACCADE_DEVICE; the last one if there are fewer
};

class Host {
 public:
  explicit Host(const HostOptions& options = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  bool hasQueue() const { return queue != VK_NULL_HANDLE; }  // else no family has the flags, and there is no device either

  // Everything that a context needs. Points into this object.
  SaccadeContextCreateInfo contextInfo() const;
  SaccadeContext createContext() const;  // of contextInfo

  // Submits and waits.
  void run(const std::vector<VkCommandBuffer>& commandBuffers) const;

  // What the validation layer has said so far.
  std::vector<std::string> messages() const;

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queueFamily = 0;
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};  // as enabled, with the chain

 private:
  static VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                  VkDebugUtilsMessageTypeFlagsEXT,
                                                  const VkDebugUtilsMessengerCallbackDataEXT* data, void* user);
  void createInstance(bool validation);
  void chooseDevice(size_t index);
  void enableRecommendedExtensions();
  void createDevice(const HostOptions& options);

  std::vector<const char*> extensionNames_;
  VkPhysicalDeviceVulkan12Features vulkan12_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  // Chained where their extensions are enabled.
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroupSizes_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR rotate_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix2_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV};
  VkPhysicalDeviceVulkan11Features vulkan11_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &vulkan12_};
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

// Mapped memory behind a buffer with an address.
class Memory {
 public:
  Memory(const Host& host, VkDeviceSize bytes, VkBufferUsageFlags usage = 0);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  SaccadeBuffer range() const { return {address, size}; }
  template <class Value>
  Value* as() const {
    return static_cast<Value*>(data);
  }

  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize size = 0;
  VkDeviceAddress address = 0;
  void* data = nullptr;

 private:
  VkDevice device_;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
};

// A memory type of `allowed` with all of `wanted`.
uint32_t memoryType(const Host& host, uint32_t allowed, VkMemoryPropertyFlags wanted);

// One command buffer with a pool of its own, in the recording state; converts to the command buffer.
class Commands {
 public:
  explicit Commands(const Host& host, VkCommandBufferUsageFlags usage = 0,
                    VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  operator VkCommandBuffer() const { return handle_; }

  // What one dispatch wrote, the next one may read, and what it read, the next one may overwrite.
  void barrier();
  // Makes what was written visible to the host and ends.
  void end();

 private:
  VkDevice device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer handle_ = VK_NULL_HANDLE;
};

// A compute pipeline of the host. Takes `pushBytes` of push constants and, with `set`, that descriptor set layout.
class HostPipeline {
 public:
  HostPipeline(const Host& host, const uint32_t* code, size_t codeBytes, uint32_t pushBytes,
               VkDescriptorSetLayout set = VK_NULL_HANDLE);
  ~HostPipeline();
  HostPipeline(const HostPipeline&) = delete;
  HostPipeline& operator=(const HostPipeline&) = delete;

  void dispatch(VkCommandBuffer commandBuffer, const void* push, uint32_t groups) const;

  VkPipelineLayout layout = VK_NULL_HANDLE;

 private:
  VkDevice device_;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  uint32_t pushBytes_;
};

}  // namespace saccade::host
