// SPDX-License-Identifier: Apache-2.0
#include "io/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>

#include "io/atomic_file.hpp"
#include "io/file_error.hpp"
#include "io/mapped_file.hpp"
#include "io/stb.hpp"

namespace saccade::io {

namespace {

struct FreeStb {
  void operator()(stbi_uc* pixels) const { stbi_image_free(pixels); }
};

std::uint32_t bigEndian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) {
    value = value << 8 | std::to_integer<std::uint32_t>(byte);
  }
  return value;
}

// Refuses a PNG file with a chunk that claims more bytes than follow, for the decoder would ask for all of that memory first, and
// one whose pixels begin with an empty chunk, which the decoder would copy to nowhere.
void checkPngChunks(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (bytes.size() < kSignature.size() || std::memcmp(bytes.data(), kSignature.data(), kSignature.size()) != 0) {
    return;
  }
  bytes = bytes.subspan(kSignature.size());
  constexpr std::size_t kHead = 8, kFrame = 12;  // length and type; these and a checksum
  bool sawPixels = false;
  while (bytes.size() >= kHead) {
    const auto isType = [&](const char* type) { return std::memcmp(bytes.data() + 4, type, 4) == 0; };
    if (isType("IEND")) {
      return;  // what follows the picture is nobody's business
    }
    const std::uint32_t length = bigEndian(bytes);
    if (bytes.size() < kFrame || length > bytes.size() - kFrame) {
      throw FileError(path, "length of a PNG chunk", fmt::format("{} bytes", length),
                      fmt::format("only {} bytes follow; it must be a complete PNG or JPEG file", bytes.size() - kHead));
    }
    if (isType("IDAT") && !sawPixels && length == 0) {
      throw FileError(path, "length of the first IDAT chunk", "0 bytes", "it must hold the beginning of the pixels");
    }
    sawPixels |= isType("IDAT");
    bytes = bytes.subspan(kFrame + length);
  }
}

}  // namespace

Picture decodePicture(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  constexpr std::size_t kMaxBytes = std::numeric_limits<int>::max();
  if (bytes.size() > kMaxBytes) {
    throw FileError(path, "file size", fmt::format("{} bytes", bytes.size()),
                    fmt::format("pictures of up to {} bytes are read", kMaxBytes));
  }
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_memory(data, size, &width, &height, &channels) == 0) {
    throw FileError(path, "content", bytes.empty() ? "empty" : "neither PNG nor JPEG",
                    "it must be a picture in one of the two formats");
  }
  if (std::int64_t{width} * height > kMaxPicturePixels) {
    throw FileError(path, "size of the picture", fmt::format("{} x {}", width, height),
                    fmt::format("at most {} pixels are read", kMaxPicturePixels));
  }
  checkPngChunks(path, bytes);
  const std::unique_ptr<stbi_uc, FreeStb> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 0));
  if (pixels == nullptr) {
    throw FileError(path, "content", fmt::format("damaged ({})", stbi_failure_reason()),
                    "it must be a complete PNG or JPEG file");
  }
  const bool hasAlpha = channels == 2 || channels == 4;
  Picture picture{width, height, hasAlpha ? channels - 1 : channels, {}};
  const std::int64_t count = picture.width * picture.height;
  if (!hasAlpha) {
    picture.pixels.assign(pixels.get(), pixels.get() + count * channels);
    return picture;
  }
  picture.pixels.reserve(static_cast<std::size_t>(count * picture.channels));
  for (std::int64_t i = 0; i < count; ++i) {
    const stbi_uc* pixel = pixels.get() + i * channels;
    picture.pixels.insert(picture.pixels.end(), pixel, pixel + picture.channels);
  }
  return picture;
}

Picture readPicture(const std::filesystem::path& path) {
  return decodePicture(path, MappedFile(path).bytes());
}

std::vector<std::byte> encodePng(const Picture& picture) {
  std::vector<std::byte> bytes;
  const auto append = [](void* to, void* data, int size) {
    const auto* from = static_cast<const std::byte*>(data);
    auto& target = *static_cast<std::vector<std::byte>*>(to);
    target.insert(target.end(), from, from + size);
  };
  const int written =
      stbi_write_png_to_func(append, &bytes, static_cast<int>(picture.width),
                             static_cast<int>(picture.height), static_cast<int>(picture.channels),
                             picture.pixels.data(), static_cast<int>(picture.width * picture.channels));
  if (written == 0) {
    throw std::bad_alloc();  // the only way in which it fails
  }
  return bytes;
}

void writePng(const std::filesystem::path& path, const Picture& picture) {
  writeFileAtomically(path, encodePng(picture));
}

Picture toGrey(const Picture& picture) {
  if (picture.channels == 1) {
    return picture;
  }
  Picture grey{picture.width, picture.height, 1, {}};
  grey.pixels.reserve(picture.pixels.size() / 3);
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    // The weights 0.299, 0.587, 0.114 in 16-bit fixed point, rounded.
    const std::uint32_t luma =
        picture.pixels[i] * 19595u + picture.pixels[i + 1] * 38470u + picture.pixels[i + 2] * 7471u;
    grey.pixels.push_back(static_cast<std::uint8_t>((luma + 0x8000u) >> 16));
  }
  return grey;
}

Picture toRgb(const Picture& picture) {
  if (picture.channels == 3) {
    return picture;
  }
  Picture colour{picture.width, picture.height, 3, {}};
  colour.pixels.reserve(picture.pixels.size() * 3);
  for (const std::uint8_t value : picture.pixels) {
    colour.pixels.insert(colour.pixels.end(), 3, value);
  }
  return colour;
}

Picture centreCrop(const Picture& picture, std::int64_t width, std::int64_t height) {
  if (width > picture.width || height > picture.height) {
    throw std::invalid_argument(fmt::format("a crop of {} x {} does not fit a picture of {} x {}", width,
                                            height, picture.width, picture.height));
  }
  const std::int64_t left = (picture.width - width) / 2;
  const std::int64_t top = (picture.height - height) / 2;
  Picture crop{width, height, picture.channels, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    const auto row = picture.pixels.begin() + ((top + y) * picture.width + left) * picture.channels;
    crop.pixels.insert(crop.pixels.end(), row, row + width * picture.channels);
  }
  return crop;
}

std::vector<float> normalise(const Picture& picture, std::span<const double> mean,
                             std::span<const double> std) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  if (mean.size() != channels || std.size() != channels) {
    throw std::invalid_argument(
        fmt::format("{} means and {} deviations for {} channels", mean.size(), std.size(), channels));
  }
  const std::size_t count = picture.pixels.size() / channels;
  std::vector<float> values(picture.pixels.size());
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < count; ++i) {
      values[c * count + i] =
          static_cast<float>((picture.pixels[i * channels + c] / 255.0 - mean[c]) / std[c]);
    }
  }
  return values;
}

}  // namespace saccade::io
