// SPDX-License-Identifier: Apache-2.0
// The embedded SPIR-V modules. The table itself is generated from shaders/variants.cmake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace saccade::core {

struct ShaderModuleCode {
  const char* name;        // <kernel>_<dtype>_<native|portable>
  const std::byte* begin;  // as saccade_finish_shaders (cmake/SaccadeShaders.cmake) stores it; null if left out
  const std::byte* end;
  const char* leftOut;     // why this build lacks it; "" if it is there
};

std::span<const ShaderModuleCode> shaderTable();

// The words of a module of shaderTable.
std::vector<std::uint32_t> spirvOf(const ShaderModuleCode& shader);

}  // namespace saccade::core
