// SPDX-License-Identifier: Apache-2.0
// What lies on disk reaches a driver only if every byte of it is what that driver once wrote.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "../unit/temporary_folder.hpp"
#include "io/file_error.hpp"
#include "standalone/pipeline_cache_file.hpp"
#include "standalone/vulkan.hpp"

namespace saccade::runtime {
namespace {

const PipelineCacheOwner kOwner{0x10005, 0, 0x1a0001, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

std::vector<std::byte> driverData(const PipelineCacheOwner& owner = kOwner, std::size_t bytes = 1000) {
  VkPipelineCacheHeaderVersionOne header{sizeof header, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, owner.vendorId, owner.deviceId, {}};
  std::memcpy(header.pipelineCacheUUID, owner.uuid.data(), owner.uuid.size());
  std::vector<std::byte> data(bytes, std::byte{0x5a});
  std::memcpy(data.data(), &header, std::min(bytes, sizeof header));
  return data;
}

class PipelineCacheFile : public testing::Test {
 protected:
  std::string problem() const {
    const PipelineCacheContent content = readPipelineCache(path, kOwner);
    EXPECT_TRUE(content.data.empty()) << "not a miss";
    return content.problem;
  }
  // The file with one byte of it changed.
  std::string problemWith(std::size_t at) {
    writePipelineCache(path, kOwner, driverData());
    std::string bytes = contentOf(path);
    bytes[at] = static_cast<char>(bytes[at] + 1);
    folder.file("cache.bin", bytes);
    return problem();
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder / "cache.bin";
};

TEST_F(PipelineCacheFile, GivesBackWhatWasWritten) {
  const std::vector<std::byte> data = driverData();
  writePipelineCache(path, kOwner, data);
  const PipelineCacheContent content = readPipelineCache(path, kOwner);
  EXPECT_EQ(content.problem, "");
  EXPECT_EQ(content.data, data);
  EXPECT_EQ(folder.countFiles(), 1u) << "something was left beside it";
}

TEST_F(PipelineCacheFile, IsAMissWithoutAWordWhereThereIsNone) {
  EXPECT_EQ(problem(), "");
  path = folder / "no" / "such" / "folder";
  EXPECT_EQ(problem(), "");
}

TEST_F(PipelineCacheFile, IsAMissIfAnyFieldOfItsHeaderIsAnother) {
  EXPECT_EQ(problemWith(0), "it does not begin as one of Saccade's pipeline caches does");
  EXPECT_EQ(problemWith(8), "its format is 2, this version reads 1");
  EXPECT_EQ(problemWith(12), "its header has 73 bytes, not 72");
  EXPECT_EQ(problemWith(16), "it was written by another version of Saccade");
  for (const std::size_t at : {std::size_t{20}, std::size_t{24}, std::size_t{28}, std::size_t{32}, std::size_t{47}}) EXPECT_EQ(problemWith(at), "it is of another device or driver") << at;
  EXPECT_EQ(problemWith(48), "its checksum is wrong");  // reserved
  EXPECT_EQ(problemWith(56), "it holds 1000 bytes of data, its header says 1001");
  EXPECT_EQ(problemWith(64), "its checksum is wrong");
}

TEST_F(PipelineCacheFile, IsAMissIfAnyByteOfTheDataIsAnother) {
  for (std::size_t at = 72; at < 1072; at += 37) EXPECT_EQ(problemWith(at), "its checksum is wrong") << at;
  EXPECT_EQ(problemWith(1071), "its checksum is wrong");
}

TEST_F(PipelineCacheFile, IsAMissIfItEndsEarlyOrLate) {
  writePipelineCache(path, kOwner, driverData());
  const std::string bytes = contentOf(path);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{71}}) {
    folder.file("cache.bin", bytes.substr(0, size));
    EXPECT_EQ(problem(), "it has " + std::to_string(size) + " bytes, fewer than its header");
  }
  folder.file("cache.bin", bytes.substr(0, 1071));
  EXPECT_EQ(problem(), "it holds 999 bytes of data, its header says 1000");
  folder.file("cache.bin", bytes + "x");
  EXPECT_EQ(problem(), "it holds 1001 bytes of data, its header says 1000");
}

TEST_F(PipelineCacheFile, IsAMissIfVulkansOwnHeaderDoesNotFit) {
  PipelineCacheOwner other = kOwner;
  other.uuid[15]++;
  writePipelineCache(path, kOwner, driverData(other));
  EXPECT_EQ(problem(), "the driver's data is of another device or driver");
  other = kOwner;
  other.vendorId++;
  writePipelineCache(path, kOwner, driverData(other));
  EXPECT_EQ(problem(), "the driver's data is of another device or driver");
  writePipelineCache(path, kOwner, driverData(kOwner, 31));
  EXPECT_EQ(problem(), "the driver's data is shorter than Vulkan's own header");
  std::vector<std::byte> data = driverData();
  data[0] = std::byte{31};
  writePipelineCache(path, kOwner, data);
  EXPECT_EQ(problem(), "Vulkan's own header has a wrong size");
  data = driverData();
  data[4] = std::byte{2};
  writePipelineCache(path, kOwner, data);
  EXPECT_EQ(problem(), "Vulkan's own header has a version that is not 1");
}

TEST_F(PipelineCacheFile, OfAnotherDeviceIsAnotherFile) {
  std::vector<std::string> names{pipelineCacheFileName(kOwner)};
  PipelineCacheOwner other = kOwner;
  other.deviceId++;
  names.push_back(pipelineCacheFileName(other));
  other = kOwner;
  other.driverVersion++;
  names.push_back(pipelineCacheFileName(other));
  other = kOwner;
  other.uuid[0]++;
  names.push_back(pipelineCacheFileName(other));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  // Should it be copied over all the same:
  writePipelineCache(path, other, driverData(other));
  EXPECT_EQ(problem(), "it is of another device or driver");
}

TEST_F(PipelineCacheFile, OfMoreThanTheBoundIsNeitherReadNorWritten) {
  std::filesystem::resize_file(folder.file("cache.bin", "SACPIPE\n"), kMostPipelineCacheBytes + 73);  // sparse
  EXPECT_EQ(problem(), "it has 67108937 bytes, at most 67108936 are read");
  const std::string before = contentOf(folder.file("cache.bin", "kept"));
  try {
    writePipelineCache(path, kOwner, driverData(kOwner, kMostPipelineCacheBytes + 1));
    FAIL() << "was written";
  } catch (const io::FileError& error) {
    EXPECT_EQ(error.value(), "67108865 bytes");
  }
  EXPECT_EQ(contentOf(path), before);
}

TEST_F(PipelineCacheFile, IsAMissIfItIsNoFile) {
  std::filesystem::create_directory(path);
  EXPECT_EQ(problem(), "it is not a regular file");
  path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);  // opening it would wait for ever
  EXPECT_EQ(problem(), "it is not a regular file");
}

TEST_F(PipelineCacheFile, GetsAFolderThatOthersCannotLookInto) {
  path = folder / "a" / "b" / "cache.bin";
  writePipelineCache(path, kOwner, driverData());
  EXPECT_EQ(readPipelineCache(path, kOwner).problem, "");
  EXPECT_EQ(std::filesystem::status(folder / "a" / "b").permissions(), std::filesystem::perms::owner_all);
}

TEST_F(PipelineCacheFile, SaysWhyItCannotBeWritten) {
  folder.file("in_the_way", "");
  EXPECT_THROW(writePipelineCache(folder / "in_the_way" / "cache.bin", kOwner, driverData()), io::FileError);
  EXPECT_THROW(writePipelineCache("/proc/saccade/cache.bin", kOwner, driverData()), io::FileError);  // a read-only file system
}

class DefaultCacheFolder : public testing::Test {
 protected:
  DefaultCacheFolder() {
    for (Variable& variable : variables_) {
      if (const char* value = std::getenv(variable.name)) variable.before = value;
    }
  }
  ~DefaultCacheFolder() override {
    for (const Variable& variable : variables_) set(variable.name, variable.before);
  }
  static void set(const char* name, const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name, value->c_str(), 1);
    } else {
      ::unsetenv(name);
    }
  }

 private:
  struct Variable {
    const char* name;
    std::optional<std::string> before;
  };
  Variable variables_[2] = {{"XDG_CACHE_HOME", {}}, {"HOME", {}}};
};

#ifndef __APPLE__
TEST_F(DefaultCacheFolder, FollowsTheXdgSpecification) {
  set("XDG_CACHE_HOME", "/var/cache/of me");
  set("HOME", "/home/me");
  EXPECT_EQ(defaultCacheFolder(), "/var/cache/of me/saccade");
  set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(defaultCacheFolder(), "/home/me/.cache/saccade");
  set("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(defaultCacheFolder(), "/home/me/.cache/saccade");
  set("HOME", std::nullopt);
  EXPECT_EQ(defaultCacheFolder(), "");
}
#endif

}  // namespace
}  // namespace saccade::runtime
