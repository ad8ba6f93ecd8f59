// SPDX-License-Identifier: Apache-2.0
// Specialisation of SPIR-V before the driver sees it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace saccade::core {

// A copy of `module` in which the specialisation constants are ordinary constants, and what is computed of them alone as well.
// values[i] is that of the 32-bit constant with constant_id i. Those whose bit is set in `kept` (bit i: constant_id i, below 32) stay
// as they are, and so do those without a value. The module must be valid.
std::vector<uint32_t> specialise(std::span<const uint32_t> module, std::span<const uint32_t> values, uint32_t kept);

}  // namespace saccade::core
