// SPDX-License-Identifier: Apache-2.0
#include "ops/common.hpp"

namespace saccade::core {

void checkActivation(SaccadeActivation activation) {
  if (activation < SACCADE_ACTIVATION_NONE || activation > SACCADE_ACTIVATION_GELU_TANH) {
    refuse("activation", "activation is {}; it must be a SaccadeActivation: none, gelu or gelu_tanh",
           static_cast<int>(activation));
  }
}

const char* activationName(SaccadeActivation activation) {
  switch (activation) {
    case SACCADE_ACTIVATION_NONE: return "none";
    case SACCADE_ACTIVATION_GELU: return "gelu";
    case SACCADE_ACTIVATION_GELU_TANH: return "gelu_tanh";
    case SACCADE_ACTIVATION_MAX_ENUM: break;
  }
  return "unknown";
}

void addSlot(PlanDraft& draft, const char* name, const Tensor& tensor, bool touched) {
  const uint64_t bytes = touched && tensor.present() ? tensor.bytes() : 0;
  draft.slots.push_back({name, bytes, std::max(dtypeBytes(tensor.dtype), 1u)});
  if (bytes > 0) draft.bytes += static_cast<double>(tensor.elements()) * dtypeBytes(tensor.dtype);
}

std::string sizesText(const Tensor& tensor) {
  return sizesText(Sizes{tensor.sizes[0], tensor.sizes[1], tensor.sizes[2], tensor.sizes[3]});
}

uint32_t groupSize(const DeviceFacts& facts, uint32_t wanted) {
  const uint32_t most =
      std::min({wanted, facts.maxComputeWorkGroupInvocations, facts.maxComputeWorkGroupSize[0]});
  // Not below 4, whatever the subgroup: with a single invocation every load would have a uniform address,
  // which devices may execute past the end of a loop.
  return std::max(4u, std::bit_floor(isCpu(facts) ? std::min(most, facts.subgroupSize) : most));
}

}  // namespace saccade::core
