// SPDX-License-Identifier: Apache-2.0
// The smallest host that draws: a picture of one row, a render pass, and a pipeline that shows the values of a buffer.
#pragma once

#include "host.hpp"

namespace saccade::host {

// A descriptor set with one storage buffer at binding 0.
class StorageBufferSet {
 public:
  StorageBufferSet(const Host& host, const Memory& memory, VkShaderStageFlags stage);
  ~StorageBufferSet();
  StorageBufferSet(const StorageBufferSet&) = delete;
  StorageBufferSet& operator=(const StorageBufferSet&) = delete;

  VkDescriptorSetLayout layout = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;

 private:
  VkDevice device_;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
};

class RenderTarget {
 public:
  // `width` texels of four floats each, which texels.frag reads from `values`.
  RenderTarget(const Host& host, uint32_t width, const Memory& values);
  ~RenderTarget();
  RenderTarget(const RenderTarget&) = delete;
  RenderTarget& operator=(const RenderTarget&) = delete;

  void bind(VkCommandBuffer commandBuffer) const;  // pipeline and descriptor set
  void push(VkCommandBuffer commandBuffer, float factor) const;
  // A render pass, and a copy of the picture that is visible to the host after the work.
  void draw(VkCommandBuffer commandBuffer, const Memory& copy) const;

 private:
  void createImage(const Host& host);
  void createRenderPass();
  void createPipeline();

  VkDevice device_;
  uint32_t width_;
  StorageBufferSet values_;
  VkImage image_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
  VkRenderPass renderPass_ = VK_NULL_HANDLE;
  VkFramebuffer framebuffer_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace saccade::host
