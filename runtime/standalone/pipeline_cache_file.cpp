// SPDX-License-Identifier: Apache-2.0
#include "standalone/pipeline_cache_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <saccade/saccade.h>

#include "io/atomic_file.hpp"
#include "io/file_error.hpp"
#include "standalone/environment.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {
namespace {

constexpr std::uint32_t kLibraryVersion =
    (SACCADE_VERSION_MAJOR << 20) | (SACCADE_VERSION_MINOR << 10) | SACCADE_VERSION_PATCH;
constexpr std::array<char, 8> kMagic = {'S', 'A', 'C', 'P', 'I', 'P', 'E', '\n'};
constexpr std::uint32_t kFormat = 1;

// In the machine's byte order: the file of a machine with another one has a wrong format number.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t headerBytes = sizeof(Header);
  std::uint32_t libraryVersion = kLibraryVersion;
  PipelineCacheOwner owner;
  std::uint32_t reserved = 0;
  std::uint64_t dataBytes = 0;
  std::uint64_t checksum = 0;  // of the header with this field 0, and of the data
};
static_assert(sizeof(Header) == 72);

// Finds what disks and half-written files do; it need not withstand an attacker, who could replace the library as well.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t count = std::min(bytes.size(), sizeof word);
      std::memcpy(&word, bytes.data(), count);
      state_ = (state_ ^ word) * 0x9e3779b97f4a7c15u;
      state_ ^= state_ >> 32;
      bytes = bytes.subspan(count);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

std::uint64_t checksumOf(Header header, std::span<const std::byte> data) {
  header.checksum = 0;
  Checksum checksum;
  checksum.add(std::as_bytes(std::span(&header, 1)));
  checksum.add(data);
  return checksum.value();
}

bool sameOwner(const PipelineCacheOwner& a, const PipelineCacheOwner& b) {
  return a.vendorId == b.vendorId && a.deviceId == b.deviceId && a.driverVersion == b.driverVersion && a.uuid == b.uuid;
}

// What is wrong with the header that every driver's data begins with (VkPipelineCacheHeaderVersionOne); "" if nothing is.
const char* problemOfDriverData(std::span<const std::byte> data, const PipelineCacheOwner& owner) {
  VkPipelineCacheHeaderVersionOne header{};
  if (data.size() < sizeof header) return "the driver's data is shorter than Vulkan's own header";
  std::memcpy(&header, data.data(), sizeof header);
  if (header.headerSize < sizeof header || header.headerSize > data.size()) return "Vulkan's own header has a wrong size";
  if (header.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE) return "Vulkan's own header has a version that is not 1";
  if (header.vendorID != owner.vendorId || header.deviceID != owner.deviceId ||
      std::memcmp(header.pipelineCacheUUID, owner.uuid.data(), owner.uuid.size()) != 0) {
    return "the driver's data is of another device or driver";
  }
  return "";
}

std::string problemOf(const Header& header, const PipelineCacheOwner& owner, std::uint64_t fileBytes) {
  if (header.magic != kMagic) return "it does not begin as one of Saccade's pipeline caches does";
  if (header.format != kFormat) return formatted("its format is {}, this version reads {}", header.format, kFormat);
  if (header.headerBytes != sizeof(Header)) return formatted("its header has {} bytes, not {}", header.headerBytes, sizeof(Header));
  if (header.libraryVersion != kLibraryVersion) return "it was written by another version of Saccade";
  if (!sameOwner(header.owner, owner)) return "it is of another device or driver";
  if (header.dataBytes != fileBytes - sizeof(Header)) {
    return formatted("it holds {} bytes of data, its header says {}", fileBytes - sizeof(Header), header.dataBytes);
  }
  return "";
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

bool readAll(const Descriptor& descriptor, std::span<std::byte> target) {
  while (!target.empty()) {
    const ssize_t count = ::read(descriptor.number, target.data(), target.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    target = target.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::filesystem::path defaultCacheFolder() {
  // A relative path there is to be ignored (XDG Base Directory Specification).
  if (const std::filesystem::path xdg = environmentText("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "saccade";
  const std::filesystem::path home = environmentText("HOME");
  if (!home.is_absolute()) return {};
#ifdef __APPLE__
  return home / "Library" / "Caches" / "saccade";
#else
  return home / ".cache" / "saccade";
#endif
}

std::string pipelineCacheFileName(const PipelineCacheOwner& owner) {
  std::string uuid;
  for (const std::uint8_t byte : owner.uuid) uuid += formatted("{:02x}", byte);
  return formatted("pipelines-{}.{}.{}-{:08x}-{:08x}-{:08x}-{}.bin", SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR,
                   SACCADE_VERSION_PATCH, owner.vendorId, owner.deviceId, owner.driverVersion, uuid);
}

PipelineCacheContent readPipelineCache(const std::filesystem::path& file, const PipelineCacheOwner& owner) {
  // Opened once, so that all that follows is of one file even if another process replaces it meanwhile; without waiting for the
  // other end, should it be a pipe.
  const Descriptor descriptor{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.number < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return {{}, formatted("it cannot be opened ({})", std::generic_category().message(errno))};
  }
  struct stat status{};
  if (::fstat(descriptor.number, &status) != 0 || !S_ISREG(status.st_mode)) return {{}, "it is not a regular file"};
  const auto fileBytes = static_cast<std::uint64_t>(status.st_size);
  if (fileBytes < sizeof(Header)) return {{}, formatted("it has {} bytes, fewer than its header", fileBytes)};
  if (fileBytes > sizeof(Header) + kMostPipelineCacheBytes) {
    return {{}, formatted("it has {} bytes, at most {} are read", fileBytes, sizeof(Header) + kMostPipelineCacheBytes)};
  }
  Header header;
  if (!readAll(descriptor, std::as_writable_bytes(std::span(&header, 1)))) return {{}, "it cannot be read"};
  if (std::string problem = problemOf(header, owner, fileBytes); !problem.empty()) return {{}, std::move(problem)};
  std::vector<std::byte> data(header.dataBytes);
  if (!readAll(descriptor, data)) return {{}, "it cannot be read to its end"};
  if (checksumOf(header, data) != header.checksum) return {{}, "its checksum is wrong"};
  if (const char* problem = problemOfDriverData(data, owner); *problem != '\0') return {{}, problem};
  return {std::move(data), ""};
}

void writePipelineCache(const std::filesystem::path& file, const PipelineCacheOwner& owner, std::span<const std::byte> data) {
  if (data.size() > kMostPipelineCacheBytes) {
    throw io::FileError(file, "size of the driver's data", formatted("{} bytes", data.size()),
                        formatted("at most {} are kept", kMostPipelineCacheBytes));
  }
  std::error_code error;
  if (!std::filesystem::exists(file.parent_path(), error)) {
    std::filesystem::create_directories(file.parent_path(), error);
    if (error) throw io::FileError::fromErrno(file, "create the folder of", error.value());
    // Nobody else has business there, as the XDG specification has it. A refusal is no reason to do without a cache.
    std::filesystem::permissions(file.parent_path(), std::filesystem::perms::owner_all, error);
  }
  Header header;
  header.owner = owner;
  header.dataBytes = data.size();
  header.checksum = checksumOf(header, data);
  io::AtomicFile target(file);
  target.write(std::as_bytes(std::span(&header, 1)));
  target.write(data);
  target.commit();
}

}  // namespace saccade::runtime
