// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/facts.hpp"
#include "kernels/shader_table.hpp"

namespace saccade::test {

inline constexpr size_t kSpirvHeaderWords = 5;

// A module's SPIR-V, decompressed once. Of one thread.
const std::vector<uint32_t>& wordsOf(const core::ShaderModuleCode& shader);

// What a module's SPIR-V declares to need and a device does not have, one capability per line; "" if it runs there. It reads the
// module, so that it does not depend on what the planner believes.
std::string missingFor(const core::ShaderModuleCode& shader, const core::DeviceFacts& facts);

}  // namespace saccade::test
