// SPDX-License-Identifier: Apache-2.0
// Values of tensors between the host's floats and the bytes in device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <saccade/saccade.hpp>

namespace saccade::runtime {

// Floats round once to nearest even; F8E4M3 and I8 saturate. Throws Error InvalidArgument where a value for U8 or I32 is not exact,
// and for a NaN in an integer.
std::vector<std::byte> encode(Dtype dtype, std::span<const float> values);
std::vector<float> decode(Dtype dtype, std::span<const std::byte> bytes);

// Four bytes that repeat to elements of `value`.
std::uint32_t patternWord(Dtype dtype, float value);

}  // namespace saccade::runtime
