// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace saccade::io {

// 8 bits per channel, row by row from the top, channels of a pixel side by side.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;  // 1 grey, 3 red, green, blue
  std::vector<std::uint8_t> pixels;

  std::uint8_t at(std::int64_t x, std::int64_t y, std::int64_t channel) const {
    return pixels[static_cast<std::size_t>((y * width + x) * channels + channel)];
  }
};

inline constexpr std::int64_t kMaxPicturePixels = 64 * 1024 * 1024;

// Reads a PNG or JPEG file, grey or colour as it is stored; 16-bit channels are reduced to 8, palettes
// resolved, and transparency is dropped (colours stay as they are stored under it). Throws FileError if the
// file cannot be read, is neither of the two, is damaged, or has more than kMaxPicturePixels pixels, which is
// noticed before decoding it.
Picture readPicture(const std::filesystem::path& path);

// The same for bytes in memory; `path` is for messages only.
Picture decodePicture(const std::filesystem::path& path, std::span<const std::byte> bytes);

// PNG bytes of a picture, and a PNG file: complete or not at all (see AtomicFile); throws FileError.
std::vector<std::byte> encodePng(const Picture& picture);
void writePng(const std::filesystem::path& path, const Picture& picture);

// The same picture with 1 channel (ITU-R BT.601 luma) or 3.
Picture toGrey(const Picture& picture);
Picture toRgb(const Picture& picture);

// Another size with the bicubic kernel a = -0.5, widened when shrinking so that nothing aliases: first along
// rows, then along columns, each rounded to 8 bits. Gives what Pillow's Image.resize(..., BICUBIC) gives.
// Sizes are at least 1.
Picture resize(const Picture& picture, std::int64_t width, std::int64_t height);

// Another size with the same proportions, so that the shorter side has `size` pixels (the longer rounds
// down).
Picture resizeShorterSide(const Picture& picture, std::int64_t size);

// The middle width x height pixels; neither may exceed the picture.
Picture centreCrop(const Picture& picture, std::int64_t width, std::int64_t height);

// (pixel / 255 - mean) / std per channel, channel by channel: [C,H,W]. One mean and one std per channel.
std::vector<float> normalise(const Picture& picture, std::span<const double> mean,
                             std::span<const double> std);

}  // namespace saccade::io
