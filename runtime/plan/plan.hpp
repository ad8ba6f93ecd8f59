// SPDX-License-Identifier: Apache-2.0
// Plans. Each operator turns its description into a PlanDraft without touching a device, so that planning can be
// tested with recorded facts; realisePlan gives a draft its pipelines and parameters; record writes it into a command buffer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attention/host_values.hpp"
#include "kernels/pipelines.hpp"
#include "kernels/shader_table.hpp"
#include "plan/tensor.hpp"
#include "saccade/saccade.h"

namespace saccade::core {

class Context;

constexpr size_t kMaxBuffersPerDispatch = 14;

// The layout of shaders/include/push.glsl.
struct PushConstants {
  uint64_t params;
  uint32_t groupBase;
  uint32_t reserved;
  uint64_t buffers[kMaxBuffersPerDispatch];
};
static_assert(sizeof(PushConstants) == 128, "every device has 128 bytes of push constants");

// One range that the record call takes.
struct Slot {
  const char* name;     // as in the record call's structure
  uint64_t bytes;       // 0: the range is ignored
  uint32_t alignment;
};

// One shader over a linear grid.
struct StepDraft {
  const ShaderModuleCode* shader = nullptr;
  std::vector<uint32_t> specialisation;  // by constant_id
  // Of whatever size the shader relies on; 0: any will do. The device gives it (subgroupSizeRefusal), and work-groups are a multiple of it.
  uint32_t subgroupSize = 0;
  std::vector<std::byte> params;
  uint64_t groups = 0;                   // below 2^32
  // For cutting long work by time. 0: an equal share of what the plan computes or moves, whichever is more.
  double work = 0;
  double costliestGroup = 1;   // what the work-group with the most work has, relative to their mean
  bool workIsAtMost = false;   // only the device knows how much there is to do
  std::vector<int> slots;                // slots[i] is the slot that push.buffers[i] takes; -1: none
  bool barrierBefore = false;            // reads what an earlier step wrote

  // The parameters are a trivially copyable struct that shaders/include shares with GLSL.
  template <class Params>
  void setParams(const Params& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    params.assign(bytes.begin(), bytes.end());
  }
};

struct PlanDraft {
  SaccadeOperator op{};
  std::string kernel, label, reason;
  std::string tile;  // the kernel with its tile, as descriptions may ask for them; "" where there is nothing to choose
  double flops = 0;
  double bytes = 0;
  HostValueLimits hostValues;  // attention
  std::vector<Slot> slots;
  std::vector<StepDraft> steps;  // none: there is nothing to compute

  uint64_t scratchBytes() const;  // of the slot named "scratch"
};

// Numbers of vkCmdDispatch calls that a grid needs.
uint64_t dispatchesFor(uint64_t groups, uint32_t maxGroups);

struct Step {
  Pipeline* pipeline;
  VkDeviceAddress params;
  uint32_t groups;
  std::array<int8_t, kMaxBuffersPerDispatch> slots;
  bool barrierBefore;
  double work;
  double workOfGroup;  // of the costliest
};

}  // namespace saccade::core

struct SaccadePlanT {
  saccade::core::Context* context;
  saccade::core::PlanDraft draft;
  std::vector<saccade::core::Step> steps{};
  uint32_t barrierCount = 0;
  std::string commandLabel{};  // "" unless commands are labelled
  std::atomic<uint32_t> recorders = 0;  // threads that record it now; counted only where use is checked
};

namespace saccade::core {

SaccadePlan realisePlan(Context& context, PlanDraft draft);
// Refuses, by logging an error, a handle that is no plan and a plan that a thread is recording, as far as use is checked.
void destroyPlan(SaccadePlan plan) noexcept;

// Work-groups of one dispatch of a step: all of them, unless the device allows fewer or they would take longer than `budget`
// milliseconds. At least one.
uint32_t groupsPerDispatch(const Step& step, double budget, uint32_t maxGroups);
uint32_t dispatchCount(const SaccadePlanT& plan);
double estimatedMilliseconds(const SaccadePlanT& plan);
// See saccadeReportTime.
void reportTime(const SaccadePlanT& plan, double milliseconds);

// Checks every range, then records. `buffers` is in the order of the draft's slots.
void record(VkCommandBuffer commandBuffer, SaccadePlanT& plan, std::span<const SaccadeBuffer> buffers);

}  // namespace saccade::core
