// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/shader_table.hpp"

namespace saccade::test {

// Bytes of shared memory that a module declares once its specialisation constants are set, read from its
// SPIR-V: an answer that does not depend on what the planner believes. Throws std::runtime_error for an
// instruction that it does not know how to evaluate.
uint64_t sharedMemoryBytes(const core::ShaderModuleCode& shader, const std::vector<uint32_t>& specialisation);

}  // namespace saccade::test
