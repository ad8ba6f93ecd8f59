// SPDX-License-Identifier: Apache-2.0
// The values that are no ordinary numbers, under one name for everybody. As floats they become doubles wherever these are wanted.
#pragma once

#include <limits>

namespace saccade {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace saccade
