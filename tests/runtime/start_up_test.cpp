// SPDX-License-Identifier: Apache-2.0
// A second process finds what the first one compiled, and nothing that lies on disk or that cannot be written there stops work.
#include <filesystem>

#include "../unit/temporary_folder.hpp"
#include "test_device.hpp"

namespace saccade {
namespace {

struct Start {
  std::vector<std::byte> result;  // of an attention whose weights are asked for as well: two pipelines
  ContextStatistics statistics;
  std::vector<std::string> messages;
};

// What a process does: opens the device, runs, closes it.
Start start(const std::string& cache) {
  Start done;
  {
    const Device device =
        Device::open({.validation = true, .cache = cache, .onMessage = [&](const std::string& text) { done.messages.push_back(text); }});
    const Tensor q = Tensor::from(device, Dtype::F32, {1, 2, 37, 16}, counting(2 * 37 * 16));
    const Tensor out = Tensor::empty(device, Dtype::F32, {1, 2, 37, 16});
    const Tensor probs = Tensor::empty(device, Dtype::F32, {1, 2, 37, 37});
    Stream stream(device);
    stream.attention(q, q, q, out, {.softmaxScale = 1e-5f, .probs = probs});
    stream.wait();
    done.result = out.downloadBytes();
    const std::vector<std::byte> weights = probs.downloadBytes();
    done.result.insert(done.result.end(), weights.begin(), weights.end());
    done.statistics = device.context().statistics();
    EXPECT_EQ(device.validationMessageCount(), 0u);
  }
  return done;
}

class StartUp : public testing::Test {
 protected:
  std::filesystem::path file() const { return *std::filesystem::directory_iterator(folder.path()); }

  TemporaryFolder folder;
};

TEST_F(StartUp, FindsThePipelinesOfTheProcessBefore) {
  const Start first = start(folder.path().string());
  EXPECT_EQ(first.statistics.pipelinesCreated, 2u);
  EXPECT_GT(first.statistics.pipelineMilliseconds, 0);
  EXPECT_TRUE(first.messages.empty()) << first.messages[0];
  const Start second = start(folder.path().string());
  EXPECT_EQ(second.result, first.result);
  EXPECT_TRUE(second.messages.empty()) << second.messages[0];
  if (folder.countFiles() == 0) GTEST_SKIP() << "this driver keeps nothing";
  EXPECT_EQ(folder.countFiles(), 1u);
  EXPECT_EQ(second.statistics.pipelinesCreated, 2u);
  EXPECT_EQ(second.statistics.pipelineCacheHits, 2u);
}

TEST_F(StartUp, DoesWithoutADamagedCacheAndReplacesIt) {
  const Start first = start(folder.path().string());
  if (folder.countFiles() == 0) GTEST_SKIP() << "this driver keeps nothing";
  for (const std::size_t keep : {std::filesystem::file_size(file()) / 2, std::uintmax_t{20}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(file(), keep);
    const Start damaged = start(folder.path().string());
    EXPECT_EQ(damaged.result, first.result);
    ASSERT_EQ(damaged.messages.size(), 1u);
    EXPECT_TRUE(contains(damaged.messages[0], "is not used")) << damaged.messages[0];
    EXPECT_TRUE(start(folder.path().string()).messages.empty());
  }
}

TEST_F(StartUp, DoesWithoutAFolderThatCannotBeWritten) {
  const Start first = start(folder.path().string());
  const bool keeps = folder.countFiles() > 0;
  for (const std::string& cache : {folder.file("in_the_way", "").string() + "/cache", std::string("/proc/saccade")}) {
    const Start done = start(cache);
    EXPECT_EQ(done.result, first.result);
    EXPECT_EQ(done.messages.size(), keeps ? 1u : 0u);
    for (const std::string& text : done.messages) EXPECT_TRUE(contains(text, "pipelines are not kept on disk")) << text;
  }
}

TEST_F(StartUp, KeepsNothingIfItIsSwitchedOff) {
  const Start first = start(folder.path().string());
  const Start off = start("off");
  EXPECT_EQ(off.result, first.result);
  EXPECT_EQ(off.statistics.pipelineCacheHits, 0u);
}

TEST_F(StartUp, TakesTheFolderFromTheEnvironment) {
  setenv("SACCADE_CACHE", (folder / "named").c_str(), 1);
  const Start first = start("");
  unsetenv("SACCADE_CACHE");
  const Start second = start((folder / "named").string());
  EXPECT_EQ(second.result, first.result);
  EXPECT_EQ(std::filesystem::exists(folder / "named"), second.statistics.pipelineCacheHits > 0);
}

}  // namespace
}  // namespace saccade
