// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace saccade::io {

// A file that appears under its name complete or not at all. Bytes go to a temporary file in the same folder;
// commit() moves it over the name in one step. Without commit() the temporary file is removed and whatever
// had the name before stays as it was. A symbolic link is followed; an existing file keeps its permissions.
// Not for use by several threads at once.
class AtomicFile {
 public:
  // Throws FileError with the system's reason if the folder cannot be written to, or if `path` is something
  // else than a regular file or a name not yet taken.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Both throw FileError naming `path` if the system refuses (a full disk, for one).
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  std::filesystem::path path_;    // as the caller gave it, for messages
  std::filesystem::path target_;  // with symbolic links followed
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

// The whole content at once: open, write, commit.
void writeFileAtomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void writeFileAtomically(const std::filesystem::path& path, std::string_view text);

}  // namespace saccade::io
