// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "api/live_plans.hpp"
#include "api/log.hpp"
#include "device/debug_utils.hpp"
#include "device/facts.hpp"
#include "device/functions.hpp"
#include "kernels/parameter_pool.hpp"
#include "kernels/pipelines.hpp"
#include "saccade/saccade.h"
#include "tune/tuning_table.hpp"

namespace saccade::core {

// A host's device as the core sees it. Immutable but for its pipelines and parameter blocks, which lock, and a count.
class Context {
 public:
  explicit Context(const SaccadeContextCreateInfo& info);

  const DeviceFacts& facts() const { return facts_; }
  const DeviceFunctions& functions() const { return functions_; }
  const DebugUtils& debugUtils() const { return debugUtils_; }
  const Log& log() const { return log_; }
  Pipelines& pipelines() { return *pipelines_; }
  ParameterPool& parameters() { return *parameters_; }
  // The variant that the host forces; "" if the choice is free.
  const std::string& forcedKernel() const { return forcedKernel_; }
  // What the host's tuning file says; empty without one, or where it was ignored: tuningIgnored then says why.
  const TuningTable& tuning() const { return tuning_; }
  const std::string& tuningIgnored() const { return tuningIgnored_; }
  double dispatchBudget() const { return dispatchBudget_; }  // milliseconds
  // What the device has and the host did not enable.
  const std::vector<SaccadeRequirement>& gains() const { return gains_; }
  bool checksUse() const { return checkedUse_.on(); }
  // Refuses a command buffer of another device, where that can be seen.
  void checkDevice(VkCommandBuffer commandBuffer) const;
  std::atomic<uint32_t>& planCount() { return planCount_; }
  // leftOutModules of every entry of the registry, kept because the C API hands out pointers.
  const std::vector<std::string>& leftOut() const { return leftOut_; }

 private:
  Log log_;
  VkDevice device_ = VK_NULL_HANDLE;
  InstanceFunctions instanceFunctions_;
  DeviceFunctions functions_;
  DebugUtils debugUtils_;
  DeviceFacts facts_{};
  double dispatchBudget_ = 0;
  std::string forcedKernel_;
  TuningTable tuning_;
  std::string tuningIgnored_;
  std::vector<std::string> leftOut_;
  std::vector<SaccadeRequirement> gains_;
  std::atomic<uint32_t> planCount_ = 0;
  std::optional<VkAllocationCallbacks> callbacks_;
  std::optional<Pipelines> pipelines_;
  std::optional<ParameterPool> parameters_;
  CheckedUse checkedUse_;
};

}  // namespace saccade::core

struct SaccadeContextT : saccade::core::Context {
  using Context::Context;
};
