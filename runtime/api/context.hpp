// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/facts.hpp"
#include "device/functions.hpp"
#include "kernels/parameter_pool.hpp"
#include "kernels/pipelines.hpp"
#include "saccade/saccade.h"
#include "tune/tuning_table.hpp"

namespace saccade::core {

// A host's device as the core sees it. Immutable but for its pipelines and parameter blocks, which lock.
class Context {
 public:
  explicit Context(const SaccadeContextCreateInfo& info);

  const DeviceFacts& facts() const { return facts_; }
  const DeviceFunctions& functions() const { return functions_; }
  Pipelines& pipelines() { return *pipelines_; }
  ParameterPool& parameters() { return *parameters_; }
  // The variant that the host forces; "" if the choice is free.
  const std::string& forcedKernel() const { return forcedKernel_; }
  // What the host's tuning file says; empty without one, or where it was ignored: tuningIgnored then says why.
  const TuningTable& tuning() const { return tuning_; }
  const std::string& tuningIgnored() const { return tuningIgnored_; }
  double dispatchBudget() const { return dispatchBudget_; }  // milliseconds
  // leftOutModules of every entry of the registry, kept because the C API hands out pointers.
  const std::vector<std::string>& leftOut() const { return leftOut_; }

 private:
  InstanceFunctions instanceFunctions_;
  DeviceFunctions functions_;
  DeviceFacts facts_{};
  double dispatchBudget_ = 0;
  std::string forcedKernel_;
  TuningTable tuning_;
  std::string tuningIgnored_;
  std::vector<std::string> leftOut_;
  std::optional<VkAllocationCallbacks> callbacks_;
  std::optional<Pipelines> pipelines_;
  std::optional<ParameterPool> parameters_;
};

}  // namespace saccade::core

struct SaccadeContextT : saccade::core::Context {
  using Context::Context;
};
