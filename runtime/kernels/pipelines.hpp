// SPDX-License-Identifier: Apache-2.0
// Compute pipelines of a context: created at first use, shared by all plans, keyed by module and specialisation.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "device/functions.hpp"
#include "kernels/shader_table.hpp"

namespace saccade::core {

class Pipelines {
 public:
  Pipelines(const DeviceFunctions& functions, VkDevice device, VkPipelineCache cache,
            const VkAllocationCallbacks* callbacks);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // specialisation[i] is the constant with constant_id i. Thread-safe; refuses with DRIVER if the driver can't.
  VkPipeline get(const ShaderModuleCode& shader, const std::vector<uint32_t>& specialisation);

  VkPipelineLayout layout() const { return layout_; }

 private:
  VkPipeline create(const ShaderModuleCode& shader, const std::vector<uint32_t>& specialisation) const;

  const DeviceFunctions& functions_;
  VkDevice device_;
  VkPipelineCache cache_;
  const VkAllocationCallbacks* callbacks_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::map<std::pair<const ShaderModuleCode*, std::vector<uint32_t>>, VkPipeline> pipelines_;
};

}  // namespace saccade::core
