// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "common/swapchain.hpp"

namespace example {

// A PNG or JPEG file as an image of the device. Throws std::runtime_error, naming the file.
Image loadPicture(Gpu& gpu, const std::filesystem::path& file);
// Writes a PNG file. Throws std::runtime_error, naming the file.
void savePicture(const std::filesystem::path& file, const ReadBack& frame);

}  // namespace example
