// SPDX-License-Identifier: Apache-2.0
#include "common/picture_files.hpp"

#include <memory>
#include <stdexcept>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_write.h>

namespace example {

Image loadPicture(Gpu& gpu, const std::filesystem::path& file) {
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load(file.c_str(), &width, &height, &channels, STBI_rgb_alpha), &stbi_image_free);
  if (!pixels) throw std::runtime_error("the picture " + file.string() + " cannot be read: " + stbi_failure_reason());
  const VkExtent2D extent = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)};
  const std::uint32_t largest = gpu.properties.limits.maxImageDimension2D;
  if (extent.width > largest || extent.height > largest) {
    throw std::runtime_error("the picture " + file.string() + " has a side of more than " + std::to_string(largest) +
                             " pixels, the largest that this device has images of");
  }
  return gpu.picture(extent, std::as_bytes(std::span(pixels.get(), 4ull * extent.width * extent.height)));
}

void savePicture(const std::filesystem::path& file, const ReadBack& frame) {
  const int width = static_cast<int>(frame.extent.width), height = static_cast<int>(frame.extent.height);
  if (stbi_write_png(file.c_str(), width, height, 3, frame.rgb.data(), 3 * width) == 0) {
    throw std::runtime_error("the picture " + file.string() + " cannot be written");
  }
}

}  // namespace example
