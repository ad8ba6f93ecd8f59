// SPDX-License-Identifier: Apache-2.0
// Which matrices a kernel on matrix units (VK_KHR_cooperative_matrix) multiplies on a device, and in which subgroups.
#pragma once

#include <cstdint>
#include <optional>

#include "device/facts.hpp"

namespace saccade::core {

struct MatrixShape {
  uint32_t m = 0, n = 0, k = 0;
  uint32_t subgroupSize = 0;  // for StepDraft::subgroupSize; work-groups are multiples of it
};

// The largest shape (m * n * k) of those that the device lists for subgroups, with a and b of `aType`, sums and results of
// `resultType` (VkComponentTypeKHR); of equals the first. None where cooperative matrices are not enabled or no shape fits.
std::optional<MatrixShape> pickMatrixShape(const DeviceFacts& facts, uint32_t aType, uint32_t resultType);

// The subgroups that pickMatrixShape asks for.
uint32_t matrixSubgroupSize(const DeviceFacts& facts);

// Why a kernel on matrix units with operands of fp16 and sums of fp32 cannot run here; "" if it can.
// Static storage.
const char* matrixUnitsRefusal(const DeviceFacts& facts);

}  // namespace saccade::core
