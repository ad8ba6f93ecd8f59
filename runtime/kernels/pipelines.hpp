// SPDX-License-Identifier: Apache-2.0
// Compute pipelines of a context: created at first use, shared by all plans, keyed by module and specialisation.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "api/log.hpp"
#include "device/debug_utils.hpp"
#include "device/functions.hpp"
#include "kernels/pace.hpp"
#include "kernels/shader_table.hpp"
#include "saccade/saccade.h"

namespace saccade::core {

struct Pipeline {
  Pipeline(VkPipeline handle_, double unknownPace) : handle(handle_), pace(unknownPace) {}

  VkPipeline handle;
  Pace pace;
};

class Pipelines {
 public:
  // With `feedback` the driver is asked whether it found a pipeline in `cache`: needs Vulkan 1.3 of the device. With `specialiseFirst`
  // it gets modules that have their specialisation constants already, but for those that unroll loops: the code of such a driver
  // would be too long.
  Pipelines(const DeviceFunctions& functions, VkDevice device, VkPipelineCache cache,
            const VkAllocationCallbacks* callbacks, bool feedback, bool specialiseFirst, double unknownPace, const DebugUtils& debugUtils, const Log& log);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  struct Request {
    const ShaderModuleCode* shader;
    std::span<const uint32_t> specialisation;  // specialisation[i] is the constant with constant_id i
    Pipeline* pipeline = nullptr;              // the answer: lives as long as the Pipelines
  };

  // Answers all requests. What is missing is created, several at once on several threads; if one fails, the others are kept.
  // Thread-safe; refuses with DRIVER if the driver can't.
  void get(std::span<Request> requests);

  VkPipelineLayout layout() const { return layout_; }
  SaccadeContextStatistics statistics() const;

 private:
  using Key = std::pair<const ShaderModuleCode*, std::vector<uint32_t>>;
  // Compares a key with a request as well, so that looking one up allocates nothing.
  struct Before {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const;
  };

  bool find(Request& request);
  void createAndKeep(const Request& request);
  VkPipeline create(const Request& request);

  const DeviceFunctions& functions_;
  VkDevice device_;
  VkPipelineCache cache_;
  const VkAllocationCallbacks* callbacks_;
  bool feedback_, specialiseFirst_;
  double unknownPace_;
  const DebugUtils& debugUtils_;
  const Log& log_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::map<Key, Pipeline, Before> pipelines_;
  std::atomic<uint64_t> created_ = 0, cacheHits_ = 0, nanoseconds_ = 0;
};

}  // namespace saccade::core
