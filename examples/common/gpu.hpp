// SPDX-License-Identifier: Apache-2.0
//
// What a Vulkan program with a window has before it meets Saccade: window, instance, surface, device, memory, pipelines.
// Failures are std::runtime_error.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/counted_calls.hpp"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#include <vk_mem_alloc.h>

namespace example {

void check(VkResult result, const char* what);

struct Buffer {
  VkBuffer handle = VK_NULL_HANDLE;
  VmaAllocation allocation = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  VkDeviceSize size = 0;
};

struct Image {
  VkImage handle = VK_NULL_HANDLE;
  VkImageView view = VK_NULL_HANDLE;
};

constexpr VkPipelineStageFlags2 kComputeStage = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags2 kDrawingStages =
    VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;

// A VkMemoryBarrier2 on its own.
void memoryBarrier(VkCommandBuffer commands, VkPipelineStageFlags2 srcStage, VkAccessFlags2 srcAccess,
                   VkPipelineStageFlags2 dstStage, VkAccessFlags2 dstAccess);
// Waits for all that came before and moves a colour image to another layout.
void changeLayout(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to);

// All that it makes lives until it does.
class Gpu {
 public:
  // A device with Vulkan 1.3 that can draw into the window; enables bufferDeviceAddress, which Saccade needs, and what it
  // recommends as far as the device has it.
  Gpu(const char* title, int width, int height);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  enum class Memory { Device, Upload, ReadBack };
  Buffer buffer(VkDeviceSize size, Memory memory = Memory::Device);
  Buffer floats(std::uint32_t rows, std::uint32_t columns) { return buffer(sizeof(float) * rows * columns); }
  void write(const Buffer& buffer, std::span<const std::byte> bytes);  // Upload
  std::vector<std::byte> read(const Buffer& buffer);                   // ReadBack
  // Four channels, in VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL.
  Image picture(VkExtent2D extent, std::span<const std::byte> rgba);

  // A set with the image at binding 0, for compute and fragment shaders.
  VkDescriptorSet sampledImage(VkImageView view);
  // Both have the set of sampledImage and 128 bytes of push constants for all of their stages.
  VkPipeline computePipeline(std::span<const std::uint32_t> code);
  VkPipeline graphicsPipeline(std::span<const std::uint32_t> vertex, std::span<const std::uint32_t> fragment);
  static constexpr VkShaderStageFlags kStages =
      VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;

  // Records, submits and waits: for what is done once.
  void once(const std::function<void(VkCommandBuffer)>& record);
  // Runs when the Gpu is destroyed, last in first out.
  void atEnd(std::function<void()> destroy) { atEnd_.push_back(std::move(destroy)); }

  GLFWwindow* window = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  bool debugUtils = false;  // VK_EXT_debug_utils is enabled, for names and labels
  VkSurfaceKHR surface = VK_NULL_HANDLE;
  VkSurfaceFormatKHR surfaceFormat{};
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceFeatures2 features{};  // with the chain that vkCreateDevice was given
  VkDevice device = VK_NULL_HANDLE;
  std::uint32_t queueFamily = 0;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool commandPool = VK_NULL_HANDLE;
  VkPipelineLayout pipelineLayout = VK_NULL_HANDLE;

 private:
  void createInstance();
  void choosePhysicalDevice();
  void createDevice();
  void createLayouts();
  VkShaderModule shader(std::span<const std::uint32_t> code);

  std::vector<std::function<void()>> atEnd_;
  VkPhysicalDeviceVulkan11Features features11_{};
  VkPhysicalDeviceVulkan12Features features12_{};
  VkPhysicalDeviceVulkan13Features features13_{};
  VmaAllocator allocator_ = VK_NULL_HANDLE;
  VkSampler sampler_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout setLayout_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptorPool_ = VK_NULL_HANDLE;
};

}  // namespace example
