// SPDX-License-Identifier: Apache-2.0
#include "io/idx_file.hpp"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "io/file_error.hpp"
#include "io/gzip.hpp"
#include "io/mapped_file.hpp"

namespace saccade::io {

namespace {

constexpr std::byte kUnsignedBytes{0x08};  // the code of that type

TensorData parse(const std::filesystem::path& path, std::span<const std::byte> bytes,
                 std::shared_ptr<const void> owner, std::size_t rank) {
  const std::size_t headerSize = 4 + 4 * rank;
  if (bytes.size() < headerSize) {
    throw FileError(path, "file size", fmt::format("{} bytes", bytes.size()),
                    fmt::format("an idx file of {} axes starts with {} bytes of header", rank, headerSize));
  }
  if (bytes[0] != std::byte{0} || bytes[1] != std::byte{0} || bytes[2] != kUnsignedBytes || bytes[3] != std::byte(rank)) {
    throw FileError(path, "its start",
                    fmt::format("{:02x} {:02x} {:02x} {:02x}", bytes[0], bytes[1], bytes[2], bytes[3]),
                    fmt::format("an idx file of bytes with {} axes starts with 00 00 08 {:02x}", rank, rank));
  }
  Shape shape;
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::uint64_t size = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) {
      size = size << 8 | std::to_integer<std::uint64_t>(bytes[4 + 4 * axis + byte]);
    }
    shape.push_back(static_cast<std::int64_t>(size));
    const bool overflows = size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size;
    count = overflows ? bytes.size() : count * size;  // in either case more than the file holds
  }
  const std::span<const std::byte> elements = bytes.subspan(headerSize);
  if (count != elements.size()) {
    throw FileError(path, "number of bytes after the header", fmt::format("{}", elements.size()),
                    fmt::format("the header says {}", shapeText(shape)));
  }
  return TensorData(DType::U8, std::move(shape), elements, std::move(owner));
}

}  // namespace

TensorData readIdx(const std::filesystem::path& path, std::size_t rank) {
  const auto file = std::make_shared<const MappedFile>(path);
  return parseIdx(path, file->bytes(), file, rank);
}

TensorData parseIdx(const std::filesystem::path& path, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner, std::size_t rank) {
  if (!isGzip(bytes)) {
    return parse(path, bytes, std::move(owner), rank);
  }
  const auto unpacked = std::make_shared<const std::vector<std::byte>>(unpackGzip(path, bytes));
  return parse(path, *unpacked, unpacked, rank);
}

}  // namespace saccade::io
