// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace saccade::io {

// A regular file mapped read-only. Pages are read when they are touched, so opening costs the same for any
// size. The file must not be shortened by somebody else while it is mapped: the system would end the process
// with SIGBUS.
class MappedFile {
 public:
  // Throws FileError if the path cannot be opened, is not a regular file or cannot be mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace saccade::io
