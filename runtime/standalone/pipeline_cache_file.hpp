// SPDX-License-Identifier: Apache-2.0
// A driver's pipeline cache as a file. The driver's bytes stand behind a header of ours, because drivers have crashed on
// what another driver wrote: nothing reaches a driver unless every field fits and the checksum is right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace saccade::runtime {

// Whose pipelines they are.
struct PipelineCacheOwner {
  std::uint32_t vendorId = 0;
  std::uint32_t deviceId = 0;
  std::uint32_t driverVersion = 0;
  std::array<std::uint8_t, 16> uuid{};  // pipelineCacheUUID
};

// More than this is neither read nor written.
inline constexpr std::uint64_t kMostPipelineCacheBytes = std::uint64_t{64} << 20;

// Where caches lie unless the user says otherwise: $XDG_CACHE_HOME/saccade or ~/.cache/saccade (macOS:
// ~/Library/Caches/saccade). Empty if the environment names no home.
std::filesystem::path defaultCacheFolder();

// One name per device, driver and version of this library.
std::string pipelineCacheFileName(const PipelineCacheOwner& owner);

struct PipelineCacheContent {
  std::vector<std::byte> data;  // for vkCreatePipelineCache; empty: a miss
  std::string problem;          // why a file that exists is a miss: a clause after the file's name; else empty
};

// Never throws for what the file holds or for what the system refuses: anything but a perfect file is a miss.
PipelineCacheContent readPipelineCache(const std::filesystem::path& file, const PipelineCacheOwner& owner);

// Creates the folder if need be and replaces the file in one step. Throws io::FileError if the system refuses, or if there
// is more to write than kMostPipelineCacheBytes.
void writePipelineCache(const std::filesystem::path& file, const PipelineCacheOwner& owner, std::span<const std::byte> data);

}  // namespace saccade::runtime
