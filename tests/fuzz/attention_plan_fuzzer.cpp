// SPDX-License-Identifier: Apache-2.0
// Descriptions, buffers and host arrays of attention, legal ones and others: they are planned for a fake device and
// recorded by a driver made of counters. A refusal names its field and leaves nothing recorded; what is accepted stays
// within the limits of the device and of the buffers.
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "api/message.hpp"
#include "attention/plan.hpp"
#include "attention_description.hpp"
#include "mock_driver.hpp"
#include "fuzz.hpp"

namespace saccade::core {
using uint = std::uint32_t;
#include "attention_params.h"
}  // namespace saccade::core

namespace saccade::fuzz {
namespace {

void requireNamed(const core::Refusal& refusal) {
  require(!refusal.field.empty() && refusal.text.size() > refusal.field.size(), "a refusal names its field: " + refusal.text);
  require(refusal.status == SACCADE_ERROR_INVALID_ARGUMENT || refusal.status == SACCADE_ERROR_UNSUPPORTED,
          "a refusal is one of two kinds: " + refusal.text);
}

void requireNamed(SaccadeStatus status, const SaccadeMessage& message) {
  require(status == message.status, "the message has the status that was returned");
  require(strnlen(message.field, sizeof message.field) < sizeof message.field &&
              strnlen(message.text, sizeof message.text) < sizeof message.text,
          "a message ends");
  requireNamed(core::Refusal(status, message.field, message.text));
}

void requireWithinLimits(const core::PlanDraft& draft, const core::AttentionProblem& problem, const core::DeviceFacts& facts) {
  require(std::isfinite(draft.flops) && draft.flops >= 0 && std::isfinite(draft.bytes), "counts are numbers: " + draft.label);
  require(draft.steps.empty() == problem.empty(), "there are steps if there is something to write: " + draft.label);
  for (const core::StepDraft& step : draft.steps) {
    require(step.groups > 0 && step.groups <= UINT32_MAX, "a grid counts in 32 bits: " + draft.label);
    require(step.params.size() <= 256, "parameters fit their block");
    const std::uint32_t invocations = step.specialisation.at(SPEC_LOCAL_SIZE);
    require(invocations > 0 && invocations <= facts.maxComputeWorkGroupInvocations &&
                invocations <= facts.maxComputeWorkGroupSize[0],
            "the device can run the work-group: " + draft.label);
    for (const int slot : step.slots) {
      require(slot >= -1 && slot < static_cast<int>(draft.slots.size()), "a slot exists: " + draft.label);
    }
  }
  for (const core::Slot& slot : draft.slots) {
    require(slot.bytes < (std::uint64_t{1} << 34) && slot.alignment > 0, "a range has at most 2^32 elements: " + draft.label);
  }
}

// True if the description is legal.
bool planFor(const core::DeviceFacts& facts, const SaccadeAttentionDesc& desc) {
  core::AttentionProblem problem;
  try {
    problem = core::validateAttention(desc);
  } catch (const core::Refusal& refusal) {
    requireNamed(refusal);
    return false;
  }
  try {
    requireWithinLimits(core::planAttention(facts, problem, ""), problem, facts);
  } catch (const core::Refusal& refusal) {
    requireNamed(refusal);
  }
  return true;
}

// Exactly as long as the record call may read, so that the address sanitizer sees more.
using HostArray = std::unique_ptr<std::int32_t[]>;

HostArray pickHostArray(FuzzedDataProvider& provider, std::uint64_t count, bool rising) {
  if (count > 4096 || provider.ConsumeBool()) {
    return nullptr;
  }
  HostArray values(new std::int32_t[count]);
  std::int32_t last = 0;
  for (std::uint64_t i = 0; i < count; i++) {
    values[i] = rising ? last : provider.ConsumeIntegralInRange(0, 4);
    last += provider.ConsumeIntegralInRange(0, 3);
    if (provider.ConsumeIntegralInRange(0, 63) == 1) {
      values[i] = static_cast<std::int32_t>(pickInteger(provider));
    }
  }
  return values;
}

// Everything large and aligned enough, but perhaps for one range.
SaccadeAttentionBuffers pickBuffers(FuzzedDataProvider& provider) {
  SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
  SaccadeBuffer* const ranges[] = {&buffers.q, &buffers.k, &buffers.v, &buffers.out, &buffers.lse, &buffers.probs,
                                   &buffers.mask, &buffers.bias, &buffers.alibiSlopes, &buffers.sink, &buffers.blockTable, &buffers.kScale, &buffers.vScale,
                                   &buffers.seqlensQ, &buffers.seqlensK, &buffers.cuSeqlensQ, &buffers.cuSeqlensK, &buffers.scratch};
  for (SaccadeBuffer* range : ranges) {
    *range = {0x10000, VkDeviceSize{1} << 40};
  }
  if (provider.ConsumeBool()) {
    *provider.PickValueInArray(ranges) = {static_cast<VkDeviceAddress>(pickInteger(provider)),
                                          static_cast<VkDeviceSize>(pickInteger(provider))};
  }
  return buffers;
}

// A context on the mock driver, kept over all inputs.
class Recorder {
 public:
  Recorder() {
    const SaccadeContextCreateInfo info = driver_.contextInfo();
    require(saccadeCreateContext(&info, &context_, nullptr) == SACCADE_OK, "the mock driver makes a context");
  }

  void run(const SaccadeAttentionDesc& desc, bool legal, FuzzedDataProvider& provider) {
    SaccadePlan plan = nullptr;
    SaccadeMessage message{};
    const SaccadeStatus created = saccadeCreateAttentionPlan(context_, &desc, &plan, &message);
    require((plan != nullptr) == (created == SACCADE_OK), "there is a plan if creating it succeeded");
    if (created != SACCADE_OK) {
      requireNamed(created, message);
      return;
    }
    require(legal, "the C API accepts what the validator accepts");
    const std::uint64_t entries = desc.hasCuSeqlens ? desc.numSequences : static_cast<std::uint64_t>(desc.q.sizes[0]);
    const std::uint64_t pages = desc.blockTable.dtype == SACCADE_DTYPE_NONE ? 0 : static_cast<std::uint64_t>(desc.blockTable.sizes[3]);
    const bool manyPages = pages > 4096;
    const HostArray seqlensQ = pickHostArray(provider, entries, false), seqlensK = pickHostArray(provider, entries, false);
    const HostArray cuSeqlensQ = pickHostArray(provider, entries + 1, true), cuSeqlensK = pickHostArray(provider, entries + 1, true);
    const HostArray blockTable = manyPages ? nullptr : pickHostArray(provider, entries * pages, false);
    SaccadeAttentionBuffers buffers = pickBuffers(provider);
    buffers.hostSeqlensQ = seqlensQ.get();
    buffers.hostSeqlensK = seqlensK.get();
    buffers.hostCuSeqlensQ = cuSeqlensQ.get();
    buffers.hostCuSeqlensK = cuSeqlensK.get();
    buffers.hostBlockTable = blockTable.get();
    record(plan, buffers);
    saccadeDestroyPlan(plan);
  }

 private:
  void record(SaccadePlan plan, const SaccadeAttentionBuffers& buffers) {
    SaccadePlanInfo info{};
    saccadeGetPlanInfo(plan, &info);
    if (info.dispatchCount > 1000) {
      return;  // grids of billions of work-groups: the limit of this device is in the unit tests
    }
    driver_.commands.clear();
    SaccadeMessage message{};
    const SaccadeStatus recorded = saccadeCmdAttention(test::MockDriver::commandBuffer(), plan, &buffers, &message);
    std::uint32_t dispatches = 0;
    for (const test::Command& command : driver_.commands) {
      dispatches += command.kind == test::CommandKind::Dispatch;
    }
    require(dispatches == (recorded == SACCADE_OK ? info.dispatchCount : 0), "all is recorded or nothing");
    if (recorded != SACCADE_OK) {
      requireNamed(recorded, message);
    }
  }

  test::MockDriver driver_;
  SaccadeContext context_ = nullptr;
};

}  // namespace
}  // namespace saccade::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace saccade::fuzz;
  static Recorder* const recorder = new Recorder;  // never destroyed: libFuzzer leaves without a goodbye
  FuzzedDataProvider provider(data, size);
  const auto& devices = saccade::test::fakeDevices();
  const auto& device = devices[provider.ConsumeIntegralInRange<std::size_t>(0, devices.size() - 1)];
  SaccadeAttentionDesc desc = describeLegalAttention(provider);
  for (int count = provider.ConsumeIntegralInRange(0, 3); count > 0; count--) {
    disturb(desc, provider);
  }
  const bool legal = planFor(device.facts, desc);
  recorder->run(desc, legal, provider);
  return 0;
}
