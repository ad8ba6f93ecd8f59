// SPDX-License-Identifier: Apache-2.0
// What those who write tuning files and those who read them must agree upon; docs/tuning.md describes the files.
#pragma once

#include <cstddef>

namespace saccade {

inline constexpr const char* kTuningFormat = "saccade tuning";
inline constexpr int kTuningVersion = 1;  // a change of the file's meaning raises it
inline constexpr std::size_t kMostTuningBytes = std::size_t{1} << 20;

}  // namespace saccade
