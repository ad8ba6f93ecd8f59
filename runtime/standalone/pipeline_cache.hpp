// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "standalone/pipeline_cache_file.hpp"
#include "standalone/vulkan.hpp"

namespace saccade::runtime {

// The VkPipelineCache of a device and its file. Whatever is wrong with the file, work goes on without it: the first such
// thing is said through `say`, the rest is kept quiet. Several processes may use one file: each reads what the others have
// written before it replaces it, and the last one wins. Thread-safe.
class PipelineCache {
 public:
  using Clock = std::chrono::steady_clock;

  // `file` empty: pipelines are kept for as long as the process lives. `vk` must outlive the cache, and so must the device.
  PipelineCache(const DeviceFunctions& vk, VkDevice device, const PipelineCacheOwner& owner, std::filesystem::path file,
                std::function<void(const std::string&)> say);
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  VkPipelineCache handle() const { return cache_; }

  // Writes the file if pipelines were created since it was last written. `pipelinesCreated` is how many the device has
  // created so far without finding them in the cache.
  void save(std::uint64_t pipelinesCreated) noexcept;
  // The same, if the oldest of them is a second old: for a process that may be killed before it closes its device. A large file
  // is written less often, so that writing takes a twentieth of the time at most.
  void saveIfDue(std::uint64_t pipelinesCreated, Clock::time_point now = Clock::now()) noexcept;

 private:
  VkPipelineCache create(std::span<const std::byte> data) const;
  void write();
  void sayOnce(const std::string& problem) noexcept;

  const DeviceFunctions& vk_;
  VkDevice device_;
  PipelineCacheOwner owner_;
  std::filesystem::path file_;
  std::function<void(const std::string&)> say_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::uint64_t saved_ = 0;
  std::uint64_t seen_ = 0;
  Clock::time_point firstUnsaved_{};
  Clock::duration patience_ = std::chrono::seconds(1);
  bool said_ = false;
};

}  // namespace saccade::runtime
