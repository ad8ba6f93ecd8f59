// SPDX-License-Identifier: Apache-2.0
// The embedded SPIR-V modules. The table itself is generated from shaders/variants.cmake.
#pragma once

#include <cstdint>
#include <span>

namespace saccade::core {

struct ShaderModuleCode {
  const char* name;  // <kernel>_<dtype>_<native|portable>
  const std::uint32_t* begin;
  const std::uint32_t* end;
  const char* leftOut;  // why this build lacks it; "" if it is there
};

std::span<const ShaderModuleCode> shaderTable();

}  // namespace saccade::core
