// SPDX-License-Identifier: Apache-2.0
// What the operators around attention share in validation and planning.
#pragma once

#include <algorithm>
#include <bit>

#include "api/message.hpp"
#include "device/facts.hpp"
#include "plan/plan.hpp"
#include "plan/tensor.hpp"

namespace saccade::core {

template <class Desc>
void checkStructSize(const Desc& desc, const char* start) {
  if (desc.structSize != sizeof(Desc)) {
    refuse("structSize", "structSize is {}, this library expects {}; start from {}()", desc.structSize,
           sizeof(Desc), start);
  }
}

inline std::string kernelName(const char* kernel) { return kernel == nullptr ? "" : kernel; }

// Refuses a value outside the enumeration.
void checkActivation(SaccadeActivation activation);
const char* activationName(SaccadeActivation activation);

// Appends the slot of a tensor to the draft and counts its bytes. A tensor that is absent, or that no step
// touches, takes no range.
void addSlot(PlanDraft& draft, const char* name, const Tensor& tensor, bool touched);

std::string sizesText(const Tensor& tensor);  // "[1, 2, 3, 4]"

// The largest power of two that is at most `wanted` and fits a work-group; on a CPU device at most a
// subgroup.
uint32_t groupSize(const DeviceFacts& facts, uint32_t wanted);

}  // namespace saccade::core
