// SPDX-License-Identifier: Apache-2.0
// The cache of a device and its file, on a driver whose pipelines are letters.
#include "standalone/pipeline_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "../unit/temporary_folder.hpp"

namespace saccade::runtime {
namespace {

const PipelineCacheOwner kDriver{0x10005, 7, 0x1a0001, {1, 2, 3}};

using Letters = std::set<char>;

Letters& lettersOf(VkPipelineCache cache) { return *reinterpret_cast<Letters*>(cache); }

std::vector<std::byte> dataOf(const Letters& letters) {
  VkPipelineCacheHeaderVersionOne header{sizeof header, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, kDriver.vendorId, kDriver.deviceId, {}};
  std::memcpy(header.pipelineCacheUUID, kDriver.uuid.data(), kDriver.uuid.size());
  std::vector<std::byte> data(sizeof header + letters.size());
  std::memcpy(data.data(), &header, sizeof header);
  std::transform(letters.begin(), letters.end(), data.begin() + sizeof header, [](char c) { return static_cast<std::byte>(c); });
  return data;
}

int cachesAlive = 0;
bool refusesData = false;

VkResult VKAPI_CALL createCache(VkDevice, const VkPipelineCacheCreateInfo* info, const VkAllocationCallbacks*, VkPipelineCache* cache) {
  if (info->initialDataSize > 0 && refusesData) return VK_ERROR_UNKNOWN;
  auto* letters = new Letters;
  const auto* bytes = static_cast<const char*>(info->pInitialData);
  for (std::size_t i = sizeof(VkPipelineCacheHeaderVersionOne); i < info->initialDataSize; i++) letters->insert(bytes[i]);
  *cache = reinterpret_cast<VkPipelineCache>(letters);
  cachesAlive++;
  return VK_SUCCESS;
}

void VKAPI_CALL destroyCache(VkDevice, VkPipelineCache cache, const VkAllocationCallbacks*) {
  delete &lettersOf(cache);
  cachesAlive--;
}

VkResult VKAPI_CALL mergeCaches(VkDevice, VkPipelineCache target, std::uint32_t count, const VkPipelineCache* sources) {
  for (std::uint32_t i = 0; i < count; i++) lettersOf(target).insert(lettersOf(sources[i]).begin(), lettersOf(sources[i]).end());
  return VK_SUCCESS;
}

VkResult VKAPI_CALL getData(VkDevice, VkPipelineCache cache, std::size_t* size, void* target) {
  const std::vector<std::byte> data = dataOf(lettersOf(cache));
  if (target != nullptr) std::memcpy(target, data.data(), data.size());
  *size = data.size();
  return VK_SUCCESS;
}

class PipelineCacheOfADevice : public testing::Test {
 protected:
  PipelineCacheOfADevice() {
    vk.vkCreatePipelineCache = createCache;
    vk.vkDestroyPipelineCache = destroyCache;
    vk.vkMergePipelineCaches = mergeCaches;
    vk.vkGetPipelineCacheData = getData;
  }
  ~PipelineCacheOfADevice() override {
    EXPECT_EQ(cachesAlive, 0);
    refusesData = false;
  }

  // A process: what it finds, what it adds and saves.
  Letters process(const Letters& added) {
    PipelineCache cache(vk, VK_NULL_HANDLE, kDriver, path, [this](const std::string& text) { said.push_back(text); });
    const Letters found = lettersOf(cache.handle());
    lettersOf(cache.handle()).insert(added.begin(), added.end());
    cache.save(added.size());
    return found;
  }

  DeviceFunctions vk{};
  TemporaryFolder folder;
  std::filesystem::path path = folder / "cache.bin";
  std::vector<std::string> said;
};

TEST_F(PipelineCacheOfADevice, IsFoundByTheNextProcess) {
  EXPECT_EQ(process({'a', 'b'}), Letters());
  EXPECT_EQ(process({'c'}), (Letters{'a', 'b'}));
  EXPECT_EQ(process({}), (Letters{'a', 'b', 'c'}));
  EXPECT_TRUE(said.empty());
}

TEST_F(PipelineCacheOfADevice, IsNotWrittenWithoutANewPipeline) {
  process({});
  EXPECT_FALSE(std::filesystem::exists(path));
  process({'a'});
  const auto written = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, written - std::chrono::hours(1));
  process({});
  EXPECT_EQ(std::filesystem::last_write_time(path), written - std::chrono::hours(1));
}

TEST_F(PipelineCacheOfADevice, KeepsNothingOfADriverThatKeepsNothing) {
  PipelineCache cache(vk, VK_NULL_HANDLE, kDriver, path, [](const std::string&) { FAIL(); });
  cache.save(1);  // a pipeline was created, and the driver's data is its header alone
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(PipelineCacheOfADevice, IsSavedOnceASecondWhileTheDeviceIsOpen) {
  PipelineCache cache(vk, VK_NULL_HANDLE, kDriver, path, [](const std::string&) { FAIL(); });
  const PipelineCache::Clock::time_point start{};
  const auto savedLetters = [&] {
    const PipelineCacheContent content = readPipelineCache(path, kDriver);
    return content.data.empty() ? 0 : content.data.size() - sizeof(VkPipelineCacheHeaderVersionOne);
  };
  cache.saveIfDue(0, start);
  lettersOf(cache.handle()).insert('a');
  cache.saveIfDue(1, start + std::chrono::milliseconds(100));
  lettersOf(cache.handle()).insert('b');
  cache.saveIfDue(2, start + std::chrono::milliseconds(1000));
  EXPECT_EQ(savedLetters(), 0u);
  cache.saveIfDue(2, start + std::chrono::milliseconds(1100));
  EXPECT_EQ(savedLetters(), 2u);
  lettersOf(cache.handle()).insert('c');
  cache.saveIfDue(3, start + std::chrono::milliseconds(1200));
  EXPECT_EQ(savedLetters(), 2u);
  cache.save(3);  // the device closes
  EXPECT_EQ(savedLetters(), 3u);
}

TEST_F(PipelineCacheOfADevice, ReplacesADamagedFileAndSaysSoOnce) {
  process({'a'});
  std::string bytes = contentOf(path);
  bytes.back() = 'b';
  folder.file("cache.bin", bytes);
  EXPECT_EQ(process({'c'}), Letters());
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "the pipeline cache " + path.string() + " is not used: its checksum is wrong; it will be replaced");
  EXPECT_EQ(process({}), Letters{'c'});
  EXPECT_EQ(said.size(), 1u);
}

TEST_F(PipelineCacheOfADevice, WorksWithAFolderThatCannotBeWrittenToAndSaysSoOnce) {
  path = folder.file("in_the_way", "") / "cache.bin";
  {
    PipelineCache cache(vk, VK_NULL_HANDLE, kDriver, path, [this](const std::string& text) { said.push_back(text); });
    lettersOf(cache.handle()).insert('a');
    cache.save(1);
    cache.save(2);
  }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("pipelines are not kept on disk: " + path.string()), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("SACCADE_CACHE"), std::string::npos) << said[0];
}

TEST_F(PipelineCacheOfADevice, WorksForADriverThatRefusesItsOwnData) {
  process({'a'});
  refusesData = true;
  EXPECT_EQ(process({'b'}), Letters());
  refusesData = false;
  EXPECT_EQ(process({}), Letters{'b'});
}

TEST_F(PipelineCacheOfADevice, SurvivesAHostWhoseMessageFunctionThrows) {
  folder.file("cache.bin", "damaged");
  PipelineCache cache(vk, VK_NULL_HANDLE, kDriver, path, [](const std::string&) { throw std::runtime_error("no"); });
  EXPECT_NE(cache.handle(), VK_NULL_HANDLE);
}

TEST_F(PipelineCacheOfADevice, KeepsWhatAnotherProcessWroteMeanwhile) {
  PipelineCache slow(vk, VK_NULL_HANDLE, kDriver, path, [](const std::string&) { FAIL(); });
  lettersOf(slow.handle()).insert('s');
  process({'f'});
  slow.save(1);
  EXPECT_EQ(process({}), (Letters{'f', 's'}));
}

TEST_F(PipelineCacheOfADevice, IsWholeAtAnyTimeWhileProcessesWriteIt) {
  constexpr int kProcesses = 4, kRounds = 50;
  process({'0'});
  for (int i = 0; i < kProcesses; i++) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child > 0) continue;
    bool whole = true;
    for (int round = 0; round < kRounds; round++) {
      whole = whole && process({static_cast<char>('a' + i)}).contains('0');
    }
    ::_exit(whole && said.empty() ? 0 : 1);
  }
  for (int i = 0; i < kProcesses; i++) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0) << "a process found a damaged file";
  }
  EXPECT_TRUE(process({}).contains('0'));
  EXPECT_EQ(folder.countFiles(), 1u) << "something was left beside it";
}

}  // namespace
}  // namespace saccade::runtime
