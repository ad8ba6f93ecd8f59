// SPDX-License-Identifier: Apache-2.0
// Tensor descriptions, checked: what validation turns a SaccadeTensorDesc into. Nothing implicit is left.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "saccade/saccade.h"

namespace saccade::core {

using Sizes = std::array<int64_t, 4>;

struct Tensor {
  SaccadeDtype dtype = SACCADE_DTYPE_NONE;
  std::array<uint32_t, 4> sizes{};
  std::array<uint32_t, 4> strides{};  // in elements; 0 on axes of size 1 that broadcast

  bool present() const { return dtype != SACCADE_DTYPE_NONE; }
  uint64_t elements() const;
  // Bytes from the first to the end of the last element; 0 without elements.
  uint64_t bytes() const;
};

uint32_t dtypeBytes(SaccadeDtype dtype);  // 0 for NONE and unknown values
const char* dtypeName(SaccadeDtype dtype);  // "f32"; "unknown" for values outside the enumeration
std::string sizesText(const Sizes& sizes);  // "[1, 2, 3, 4]"

enum class Axes { LastContiguous, Any };

// Checks dtype, sizes, strides and extent. `field` names the tensor in refusals. The result has strides filled in.
Tensor checkInput(const SaccadeTensorDesc& desc, const std::string& field, std::initializer_list<SaccadeDtype> dtypes,
                  Axes axes = Axes::LastContiguous);

// The same for an output: sizes of all 0 become `expected`, other sizes must equal it, and no two elements may
// share an address.
Tensor checkOutput(const SaccadeTensorDesc& desc, const std::string& field, std::initializer_list<SaccadeDtype> dtypes,
                   const Sizes& expected);

// Refuses unless sizes equal `expected`; `meaning` says where the expectation comes from.
void requireSizes(const Tensor& tensor, const std::string& field, const Sizes& expected, const std::string& meaning);

// Broadcasts axes of size 1 to `full`: their strides become 0. Other sizes must be full.
void broadcastTo(Tensor& tensor, const std::string& field, const Sizes& full);

}  // namespace saccade::core
