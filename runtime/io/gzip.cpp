// SPDX-License-Identifier: Apache-2.0
#include "io/gzip.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>

#include "io/file_error.hpp"
#include "io/stb.hpp"

namespace saccade::io {

namespace {

constexpr std::size_t kHeaderBytes = 10;
constexpr std::size_t kTrailerBytes = 8;
constexpr std::uint32_t kMaxContentBytes = 1u << 30;

enum Flag : unsigned { kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16 };

unsigned byteAt(std::span<const std::byte> bytes, std::size_t index) { return std::to_integer<unsigned>(bytes[index]); }

std::uint32_t littleEndian(std::span<const std::byte> bytes) {
  return byteAt(bytes, 0) | byteAt(bytes, 1) << 8 | byteAt(bytes, 2) << 16 | byteAt(bytes, 3) << 24;
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t index = 0; index < 256; ++index) {
      std::uint32_t value = index;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320u : value >> 1;
      }
      entries[index] = value;
    }
    return entries;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (const std::byte byte : bytes) {
    crc = table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff] ^ crc >> 8;
  }
  return ~crc;
}

// Where the compressed data starts; past the end if the header is cut off.
std::size_t headerSize(std::span<const std::byte> bytes) {
  std::size_t at = kHeaderBytes;
  const unsigned flags = byteAt(bytes, 3);
  if ((flags & kExtra) != 0) {
    at += at + 2 <= bytes.size() ? 2 + (byteAt(bytes, at) | byteAt(bytes, at + 1) << 8) : 2;
  }
  for (const unsigned text : {kName, kComment}) {
    if ((flags & text) != 0) {
      while (at < bytes.size() && byteAt(bytes, at) != 0) {
        ++at;
      }
      ++at;
    }
  }
  return at + ((flags & kHeaderCrc) != 0 ? 2 : 0);
}

}  // namespace

bool isGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && byteAt(bytes, 0) == 0x1f && byteAt(bytes, 1) == 0x8b;
}

std::vector<std::byte> unpackGzip(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const auto damaged = [&](const std::string& how) {
    return FileError(path, "content", how, "it must be a complete gzip file");
  };
  if (bytes.size() < kHeaderBytes + kTrailerBytes || headerSize(bytes) + kTrailerBytes > bytes.size() ||
      bytes.size() > std::numeric_limits<int>::max()) {
    throw damaged(fmt::format("a gzip header with {} bytes in all", bytes.size()));
  }
  const std::size_t begin = headerSize(bytes);
  const std::span<const std::byte> packed = bytes.subspan(begin, bytes.size() - kTrailerBytes - begin);
  const std::span<const std::byte> trailer = bytes.last(kTrailerBytes);
  const std::uint32_t size = littleEndian(trailer.subspan(4));
  // Deflate shrinks by a factor of 1032 at most, so a small file that claims much is not believed.
  if (size > kMaxContentBytes || size / 1032 > packed.size()) {
    throw damaged(fmt::format("{} bytes that claim to unpack to {}", packed.size(), size));
  }
  std::vector<std::byte> content;
  content.reserve(size + std::size_t{1});  // even where there is nothing to unpack, stb is given an address
  content.resize(size);
  const int unpacked = stbi_zlib_decode_noheader_buffer(reinterpret_cast<char*>(content.data()), static_cast<int>(size),
                                                        reinterpret_cast<const char*>(packed.data()),
                                                        static_cast<int>(packed.size()));
  if (unpacked != static_cast<int>(size)) {
    throw damaged("damaged: it does not unpack to the length that it claims");
  }
  if (crc32(content) != littleEndian(trailer)) {
    throw damaged("damaged: its CRC-32 is wrong");
  }
  return content;
}

}  // namespace saccade::io
