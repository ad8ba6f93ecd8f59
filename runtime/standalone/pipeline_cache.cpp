// SPDX-License-Identifier: Apache-2.0
#include "standalone/pipeline_cache.hpp"
#include "text/formatted.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace saccade::runtime {

PipelineCache::PipelineCache(const DeviceFunctions& vk, VkDevice device, const PipelineCacheOwner& owner,
                             std::filesystem::path file, std::function<void(const std::string&)> say)
    : vk_(vk), device_(device), owner_(owner), file_(std::move(file)), say_(std::move(say)) {
  PipelineCacheContent content;
  if (!file_.empty()) content = readPipelineCache(file_, owner_);
  if (!content.problem.empty()) {
    sayOnce(formatted("the pipeline cache {} is not used: {}; it will be replaced", file_.string(), content.problem));
  }
  cache_ = create(content.data);
  // A driver may still refuse what looks right to us.
  if (cache_ == VK_NULL_HANDLE) cache_ = create({});
}

PipelineCache::~PipelineCache() { vk_.vkDestroyPipelineCache(device_, cache_, nullptr); }

VkPipelineCache PipelineCache::create(std::span<const std::byte> data) const {
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  return vk_.vkCreatePipelineCache(device_, &info, nullptr, &cache) == VK_SUCCESS ? cache : VK_NULL_HANDLE;
}

void PipelineCache::save(std::uint64_t pipelinesCreated) noexcept {
  const std::lock_guard lock(mutex_);
  if (file_.empty() || cache_ == VK_NULL_HANDLE || pipelinesCreated == saved_) return;
  saved_ = seen_ = pipelinesCreated;  // also if it fails: the next attempt is for the next pipeline
  const Clock::time_point begin = Clock::now();
  try {
    write();
  } catch (const std::exception& error) {
    sayOnce(formatted("pipelines are not kept on disk: {}; SACCADE_CACHE names another folder or switches this off", error.what()));
  }
  patience_ = std::max<Clock::duration>(std::chrono::seconds(1), 20 * (Clock::now() - begin));
}

void PipelineCache::saveIfDue(std::uint64_t pipelinesCreated, Clock::time_point now) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (pipelinesCreated == saved_) return;
    if (seen_ == saved_) firstUnsaved_ = now;
    seen_ = pipelinesCreated;
    if (now - firstUnsaved_ < patience_) return;
  }
  save(pipelinesCreated);
}

void PipelineCache::write() {
  // What other processes have found out meanwhile is kept.
  const PipelineCacheContent others = readPipelineCache(file_, owner_);
  if (!others.data.empty()) {
    if (const VkPipelineCache theirs = create(others.data); theirs != VK_NULL_HANDLE) {
      static_cast<void>(vk_.vkMergePipelineCaches(device_, cache_, 1, &theirs));  // else theirs is lost, no more
      vk_.vkDestroyPipelineCache(device_, theirs, nullptr);
    }
  }
  std::size_t size = 0;
  check(vk_.vkGetPipelineCacheData(device_, cache_, &size, nullptr), "ask for the size of the pipeline cache");
  std::vector<std::byte> data(size);
  // VK_INCOMPLETE if a pipeline was added in between: what is there is usable all the same.
  check(vk_.vkGetPipelineCacheData(device_, cache_, &size, data.data()), "read the pipeline cache");
  data.resize(size);
  // Some drivers keep nothing here (Mesa's lavapipe, which has a cache of its own).
  if (size <= sizeof(VkPipelineCacheHeaderVersionOne)) return;
  writePipelineCache(file_, owner_, data);
}

void PipelineCache::sayOnce(const std::string& problem) noexcept {
  if (said_) return;
  said_ = true;
  try {
    say_(problem);
  } catch (...) {  // the host's function has no way to stop work that needs no cache
  }
}

}  // namespace saccade::runtime
