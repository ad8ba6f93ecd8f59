// SPDX-License-Identifier: Apache-2.0
// Compute pipelines of a context: created at first use, shared by all plans, keyed by module, specialisation and subgroup size.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "api/log.hpp"
#include "device/debug_utils.hpp"
#include "device/facts.hpp"
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
  // What is passed by reference must outlive the Pipelines.
  Pipelines(const DeviceFunctions& functions, const DeviceFacts& facts, VkDevice device, VkPipelineCache cache,
            const VkAllocationCallbacks* callbacks, const DebugUtils& debugUtils, const Log& log);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  struct Request {
    const ShaderModuleCode* shader;
    std::span<const uint32_t> specialisation;  // specialisation[i] is the constant with constant_id i
    uint32_t subgroupSize = 0;                 // that the shader relies on; 0: any will do
    Pipeline* pipeline = nullptr;              // the answer: lives as long as the Pipelines
  };

  // Answers all requests. What is missing is created, several at once on several threads; if one fails, the others are kept.
  // Thread-safe; refuses with DRIVER if the driver can't.
  void get(std::span<Request> requests);

  VkPipelineLayout layout() const { return layout_; }
  SaccadeContextStatistics statistics() const;

 private:
  struct Key {
    const ShaderModuleCode* shader;
    std::vector<uint32_t> specialisation;
    uint32_t subgroupSize;
  };
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
  const DeviceFacts& facts_;
  VkDevice device_;
  VkPipelineCache cache_;
  const VkAllocationCallbacks* callbacks_;
  const DebugUtils& debugUtils_;
  const Log& log_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::map<Key, Pipeline, Before> pipelines_;
  std::atomic<uint64_t> created_ = 0, cacheHits_ = 0, nanoseconds_ = 0;
};

}  // namespace saccade::core
