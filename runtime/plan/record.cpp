// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/context.hpp"
#include "api/message.hpp"
#include "plan/plan.hpp"

namespace saccade::core {
namespace {

void checkBuffers(const PlanDraft& draft, std::span<const SaccadeBuffer> buffers) {
  for (size_t i = 0; i < draft.slots.size(); i++) {
    const Slot& slot = draft.slots[i];
    if (slot.bytes == 0) continue;
    const SaccadeBuffer& buffer = buffers[i];
    if (buffer.address == 0) {
      refuse(slot.name, "{}.address is 0, but the plan needs {} bytes there; pass the address of vkGetBufferDeviceAddress",
             slot.name, slot.bytes);
    }
    if (buffer.address % slot.alignment != 0) {
      refuse(slot.name, "{}.address is {:#x}; it must be a multiple of {}", slot.name, buffer.address, slot.alignment);
    }
    if (buffer.size < slot.bytes) {
      refuse(slot.name, "{}.size is {} bytes, but the sizes and strides of the plan reach {} bytes from its address",
             slot.name, buffer.size, slot.bytes);
    }
  }
}

// Counts a thread that records a plan, where use is checked.
class Recording {
 public:
  Recording(VkCommandBuffer commandBuffer, SaccadePlanT& plan) : plan_(plan), counted_(plan.context->checksUse()) {
    if (!counted_) return;
    plan_.context->checkDevice(commandBuffer);
    plan_.recorders++;
  }
  ~Recording() { plan_.recorders -= counted_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  SaccadePlanT& plan_;
  bool counted_;
};

}  // namespace

void record(VkCommandBuffer commandBuffer, SaccadePlanT& plan, std::span<const SaccadeBuffer> buffers) {
  checkBuffers(plan.draft, buffers);
  const Recording recording(commandBuffer, plan);
  const DeviceFunctions& vk = plan.context->functions();
  const VkPipelineLayout layout = plan.context->pipelines().layout();
  const uint32_t maxGroups = plan.context->facts().maxComputeWorkGroupCount[0];
  const double budget = plan.context->dispatchBudget();
  const DebugUtils::Region region(plan.context->debugUtils(), commandBuffer, plan.commandLabel.c_str());
  for (const Step& step : plan.steps) {
    if (step.barrierBefore) {
      const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                    VK_ACCESS_SHADER_READ_BIT};
      vk.vkCmdPipelineBarrier(commandBuffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    }
    vk.vkCmdBindPipeline(commandBuffer, VK_PIPELINE_BIND_POINT_COMPUTE, step.pipeline->handle);
    PushConstants push{};
    push.params = step.params;
    for (size_t i = 0; i < kMaxBuffersPerDispatch; i++) {
      if (step.slots[i] >= 0) push.buffers[i] = buffers[static_cast<size_t>(step.slots[i])].address;
    }
    const uint32_t most = groupsPerDispatch(step, budget, maxGroups);
    for (uint32_t done = 0; done < step.groups;) {
      const uint32_t count = std::min(step.groups - done, most);
      push.groupBase = done;
      vk.vkCmdPushConstants(commandBuffer, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
      vk.vkCmdDispatch(commandBuffer, count, 1, 1);
      done += count;
    }
  }
}

}  // namespace saccade::core
