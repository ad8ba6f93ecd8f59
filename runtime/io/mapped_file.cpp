// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/file_error.hpp"

namespace saccade::io {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) {
      ::close(value_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for somebody to write to it.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.value() < 0) {
    throw FileError::fromErrno(path, "open for reading", errno);
  }
  struct stat status{};
  if (::fstat(descriptor.value(), &status) != 0) {
    throw FileError::fromErrno(path, "ask for the size", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw FileError(path, "type of file", S_ISDIR(status.st_mode) ? "folder" : "special file",
                    "it must be a regular file");
  }
  if (status.st_size == 0) {
    return;  // an empty file cannot be mapped
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.value(), 0);
  if (address == MAP_FAILED) {
    throw FileError::fromErrno(path, "map into memory", errno);
  }
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace saccade::io
