// SPDX-License-Identifier: Apache-2.0
#include "common/gpu.hpp"

#include <cstring>

namespace example {

void memoryBarrier(VkCommandBuffer commands, VkPipelineStageFlags2 srcStage, VkAccessFlags2 srcAccess,
                   VkPipelineStageFlags2 dstStage, VkAccessFlags2 dstAccess) {
  const VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, .srcStageMask = srcStage,
                                    .srcAccessMask = srcAccess, .dstStageMask = dstStage, .dstAccessMask = dstAccess};
  const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1,
                                       .pMemoryBarriers = &barrier};
  vkCmdPipelineBarrier2(commands, &dependency);
}

void changeLayout(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to) {
  const VkImageMemoryBarrier2 barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2, .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT, .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT, .oldLayout = from, .newLayout = to,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .image = image,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
  const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .imageMemoryBarrierCount = 1,
                                       .pImageMemoryBarriers = &barrier};
  vkCmdPipelineBarrier2(commands, &dependency);
}

Buffer Gpu::buffer(VkDeviceSize size, Memory memory) {
  constexpr VmaAllocationCreateFlags kAccess[] = {0, VMA_ALLOCATION_CREATE_HOST_ACCESS_SEQUENTIAL_WRITE_BIT,
                                                  VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT};
  const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  const VmaAllocationCreateInfo allocationInfo = {.flags = kAccess[static_cast<int>(memory)], .usage = VMA_MEMORY_USAGE_AUTO};
  Buffer result{.size = size};
  check(vmaCreateBuffer(allocator_, &info, &allocationInfo, &result.handle, &result.allocation, nullptr), "vmaCreateBuffer");
  atEnd([this, result] { vmaDestroyBuffer(allocator_, result.handle, result.allocation); });
  const VkBufferDeviceAddressInfo addressInfo = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                                 .buffer = result.handle};
  result.address = vkGetBufferDeviceAddress(device, &addressInfo);
  return result;
}

void Gpu::write(const Buffer& buffer, std::span<const std::byte> bytes) {
  void* data = nullptr;
  check(vmaMapMemory(allocator_, buffer.allocation, &data), "vmaMapMemory");
  std::memcpy(data, bytes.data(), bytes.size());
  check(vmaFlushAllocation(allocator_, buffer.allocation, 0, VK_WHOLE_SIZE), "vmaFlushAllocation");
  vmaUnmapMemory(allocator_, buffer.allocation);
}

std::vector<std::byte> Gpu::read(const Buffer& buffer) {
  void* data = nullptr;
  check(vmaMapMemory(allocator_, buffer.allocation, &data), "vmaMapMemory");
  check(vmaInvalidateAllocation(allocator_, buffer.allocation, 0, VK_WHOLE_SIZE), "vmaInvalidateAllocation");
  const auto* bytes = static_cast<const std::byte*>(data);
  std::vector<std::byte> result(bytes, bytes + buffer.size);
  vmaUnmapMemory(allocator_, buffer.allocation);
  return result;
}

void Gpu::once(const std::function<void(VkCommandBuffer)>& record) {
  const VkCommandBufferAllocateInfo allocateInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                    .commandPool = commandPool, .commandBufferCount = 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(device, &allocateInfo, &commands), "vkAllocateCommandBuffers");
  const VkCommandBufferBeginInfo beginInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commands, &beginInfo), "vkBeginCommandBuffer");
  record(commands);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
  vkFreeCommandBuffers(device, commandPool, 1, &commands);
}

Image Gpu::picture(VkExtent2D extent, std::span<const std::byte> rgba) {
  const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
                                  .format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {extent.width, extent.height, 1},
                                  .mipLevels = 1, .arrayLayers = 1, .samples = VK_SAMPLE_COUNT_1_BIT,
                                  .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
  const VmaAllocationCreateInfo allocationInfo = {.usage = VMA_MEMORY_USAGE_AUTO};
  Image image;
  VmaAllocation allocation = VK_NULL_HANDLE;
  check(vmaCreateImage(allocator_, &info, &allocationInfo, &image.handle, &allocation, nullptr), "vmaCreateImage");
  atEnd([this, image, allocation] { vmaDestroyImage(allocator_, image.handle, allocation); });
  const VkImageViewCreateInfo viewInfo = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = image.handle,
                                          .viewType = VK_IMAGE_VIEW_TYPE_2D, .format = info.format,
                                          .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
  check(vkCreateImageView(device, &viewInfo, nullptr, &image.view), "vkCreateImageView");
  atEnd([this, image] { vkDestroyImageView(device, image.view, nullptr); });

  const Buffer staging = buffer(rgba.size(), Memory::Upload);
  write(staging, rgba);
  once([&](VkCommandBuffer commands) {
    changeLayout(commands, image.handle, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {extent.width, extent.height, 1}};
    vkCmdCopyBufferToImage(commands, staging.handle, image.handle, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    changeLayout(commands, image.handle, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
  });
  return image;
}

}  // namespace example
