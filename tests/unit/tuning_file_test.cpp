// SPDX-License-Identifier: Apache-2.0
// Tuning files as the tuner writes them: merged, replaced or refused, and whole at any moment.
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/file_error.hpp"
#include "temporary_folder.hpp"
#include "tune/tuning_file.hpp"

namespace saccade::tune {
namespace {

using nlohmann::json;

SaccadeDeviceFacts someFacts() {
  SaccadeDeviceFacts facts{};
  std::snprintf(facts.deviceName, sizeof facts.deviceName, "some device");
  std::snprintf(facts.driverName, sizeof facts.driverName, "driver");
  std::snprintf(facts.driverInfo, sizeof facts.driverInfo, "1.2");
  facts.vendorId = 5;
  facts.deviceId = 6;
  facts.driverVersion = 7;
  return facts;
}

Result result(const std::string& problem, const std::string& winner) {
  return {.problem = problem, .builtIn = "scalar_rows keys=8", .winner = winner, .builtInMilliseconds = 2, .winnerMilliseconds = 1,
          .measured = "f32 B1 H2 T3 D4"};
}

std::string merge(const std::filesystem::path& path, const std::vector<Result>& results, const SaccadeDeviceFacts& facts = someFacts()) {
  return mergeIntoFile(path, facts, results);
}

class TuningFile : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::filesystem::path path = folder / "new/tuning.json";
};

TEST_F(TuningFile, IsCreatedWithItsFolder) {
  EXPECT_EQ(merge(path, {result("attention a", "scalar_rows keys=4")}), "");
  const json file = json::parse(contentOf(path));
  EXPECT_EQ(file["format"], "saccade tuning");
  EXPECT_EQ(file["version"], 1);
  EXPECT_EQ(file["device"]["name"], "some device");
  EXPECT_EQ(file["device"]["driver_version"], 7);
  ASSERT_EQ(file["entries"].size(), 1u);
  EXPECT_EQ(file["entries"][0], json({{"problem", "attention a"},
                                      {"kernel", "scalar_rows keys=4"},
                                      {"milliseconds", 1.0},
                                      {"built_in", "scalar_rows keys=8"},
                                      {"built_in_milliseconds", 2.0},
                                      {"measured", "f32 B1 H2 T3 D4"}}));
}

TEST_F(TuningFile, KeepsEntriesOfOtherProblems) {
  merge(path, {result("attention a", "scalar_rows keys=4"), result("attention b", "scalar_rows keys=2")});
  merge(path, {result("attention b", "scalar_rows keys=1"), result("attention c", "scalar_rows keys=8")});
  const json entries = json::parse(contentOf(path))["entries"];
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0]["problem"], "attention a");
  EXPECT_EQ(entries[1]["problem"], "attention b");
  EXPECT_EQ(entries[1]["kernel"], "scalar_rows keys=1");
  // Where the built-in kernel has become the best, nothing need be said.
  merge(path, {result("attention b", "scalar_rows keys=8")});
  EXPECT_EQ(json::parse(contentOf(path))["entries"].size(), 1u);
}

TEST_F(TuningFile, OfAnotherDriverOrWithoutSenseIsReplaced) {
  merge(path, {result("attention a", "scalar_rows keys=4")});
  SaccadeDeviceFacts facts = someFacts();
  facts.driverVersion = 8;
  EXPECT_NE(merge(path, {}, facts).find("had another device and is replaced"), std::string::npos);
  EXPECT_EQ(json::parse(contentOf(path))["entries"].size(), 0u);
  io::writeFileAtomically(path, "{\"format\": \"saccade tun");
  EXPECT_NE(merge(path, {}, facts).find("was not JSON and is replaced"), std::string::npos);
  io::writeFileAtomically(path, "[1, 2]");
  EXPECT_NE(merge(path, {}, facts).find("had another format"), std::string::npos);
  EXPECT_EQ(merge(path, {}, facts), "");
}

TEST_F(TuningFile, OfAnotherDeviceOrANewerVersionIsRefused) {
  merge(path, {result("attention a", "scalar_rows keys=4")});
  const std::string before = contentOf(path);
  SaccadeDeviceFacts facts = someFacts();
  facts.deviceId = 60;
  try {
    merge(path, {}, facts);
    FAIL();
  } catch (const io::FileError& error) {
    EXPECT_EQ(error.field(), "device.device_id");
    EXPECT_EQ(error.value(), "6");
  }
  EXPECT_EQ(contentOf(path), before);
  json newer = json::parse(before);
  newer["version"] = 2;
  io::writeFileAtomically(path, newer.dump());
  try {
    merge(path, {});
    FAIL();
  } catch (const io::FileError& error) {
    EXPECT_EQ(error.field(), "version");
  }
  EXPECT_EQ(json::parse(contentOf(path)), newer);
}

TEST_F(TuningFile, LosesNothingWhenSeveralWriteAtOnce) {
  constexpr size_t kWriters = 4, kEach = 8;
  std::vector<std::thread> writers;
  for (size_t writer = 0; writer < kWriters; writer++) {
    writers.emplace_back([&, writer] {
      for (size_t i = 0; i < kEach; i++) merge(path, {result("attention " + std::to_string(writer * kEach + i), "scalar_rows keys=4")});
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(json::parse(contentOf(path))["entries"].size(), kWriters * kEach);
}

}  // namespace
}  // namespace saccade::tune
