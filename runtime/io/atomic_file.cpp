// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "io/file_error.hpp"
#include "text/formatted.hpp"

namespace saccade::io {

namespace {

// Where the bytes end up: rename() would replace a symbolic link instead of the file that it points to.
std::filesystem::path followLinks(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) {
    return path;
  }
  std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target;
}

// A name that no other process and no other AtomicFile of this one uses. It does not contain the target's
// name, which may already be as long as the file system allows.
std::filesystem::path temporaryBeside(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter{0};
  return target.parent_path() / formatted(".saccade-{}-{}.part", ::getpid(), counter.fetch_add(1));
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path), target_(followLinks(path)) {
  constexpr mode_t kReadWriteForAll = 0666;  // less the umask, as any new file
  struct stat existing{};
  const bool exists = ::stat(target_.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode)) {
    throw FileError(path_, "type of file", S_ISDIR(existing.st_mode) ? "folder" : "special file",
                    "only a regular file can be written");
  }
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) {
    throw FileError::fromErrno(path_, "write", errno);  // rename() alone would replace a write-protected file
  }
  do {  // a process that was killed may have left a file of that name
    temporary_ = temporaryBeside(target_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadWriteForAll);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    throw FileError::fromErrno(path_, "write", errno);
  }
  if (exists) {
    // Best effort: the bytes matter more than the permissions of a file that belonged to somebody else.
    static_cast<void>(::fchmod(descriptor_, existing.st_mode & 07777));
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  if (!committed_) {
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw FileError::fromErrno(path_, "write", errno);
    }
  }
}

void AtomicFile::commit() {
  // Without fsync a power failure after the rename could leave an empty file under the final name.
  if (::fsync(descriptor_) != 0) {
    throw FileError::fromErrno(path_, "write", errno);
  }
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) {
    throw FileError::fromErrno(path_, "write", errno);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw FileError::fromErrno(path_, "write", errno);
  }
  committed_ = true;
}

void writeFileAtomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void writeFileAtomically(const std::filesystem::path& path, std::string_view text) {
  writeFileAtomically(path, std::as_bytes(std::span(text)));
}

}  // namespace saccade::io
