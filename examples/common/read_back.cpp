// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <stdexcept>

#include "common/swapchain.hpp"

namespace example {

ReadBack Swapchain::drawAndRead(const Recording& recording, std::span<const Buffer> buffers) {
  Buffer pixels;
  std::vector<Buffer> copies;
  for (const Buffer& buffer : buffers) copies.push_back(gpu_.buffer(buffer.size, Gpu::Memory::ReadBack));
  const bool drawn = draw(recording, [&](VkCommandBuffer commands, VkImage image) {
    pixels = gpu_.buffer(4ull * extent_.width * extent_.height, Gpu::Memory::ReadBack);
    changeLayout(commands, image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {extent_.width, extent_.height, 1}};
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, pixels.handle, 1, &region);
    changeLayout(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    memoryBarrier(commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT,
                  VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_READ_BIT);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const VkBufferCopy whole = {.size = buffers[i].size};
      vkCmdCopyBuffer(commands, buffers[i].handle, copies[i].handle, 1, &whole);
    }
    memoryBarrier(commands, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_2_HOST_BIT,
                  VK_ACCESS_2_HOST_READ_BIT);
  });
  if (!drawn) throw std::runtime_error("the window has no area to read back");
  finish();

  ReadBack result{.extent = extent_};
  const bool blueFirst = gpu_.surfaceFormat.format == VK_FORMAT_B8G8R8A8_UNORM;
  const std::vector<std::byte> texels = gpu_.read(pixels);
  for (std::size_t i = 0; i < texels.size(); i += 4) {
    for (const std::size_t channel : {0u, 1u, 2u}) {
      result.rgb.push_back(static_cast<std::uint8_t>(texels[i + (blueFirst ? 2 - channel : channel)]));
    }
  }
  for (const Buffer& copy : copies) {
    const std::vector<std::byte> bytes = gpu_.read(copy);
    std::memcpy(result.buffers.emplace_back(bytes.size() / sizeof(float)).data(), bytes.data(), bytes.size());
  }
  return result;
}

}  // namespace example
