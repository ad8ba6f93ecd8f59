// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <saccade/runtime.hpp>

#include "inspect/pipeline_watch.hpp"

namespace saccade::inspect {

// Which shader modules a context takes: those for all that the device has, or those that need nothing optional.
enum class Access { Native, Portable };

// A VkDevice of the physical device that `opened` chose, whose pipelines are watched, with a context on it.
class LogicalDevice {
 public:
  LogicalDevice(const Device& opened, Access access, Driver driver = Driver::Compiles);
  ~LogicalDevice();
  LogicalDevice(const LogicalDevice&) = delete;
  LogicalDevice& operator=(const LogicalDevice&) = delete;

  bool hasStatistics() const { return statistics_; }
  const Context& context() const { return *context_; }
  PipelineWatch& watch() { return *watch_; }

 private:
  bool statistics_ = false;
  VkDevice device_ = VK_NULL_HANDLE;
  PFN_vkDestroyDevice destroy_ = nullptr;
  std::optional<PipelineWatch> watch_;
  std::optional<Context> context_;
};

}  // namespace saccade::inspect
