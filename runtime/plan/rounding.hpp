// SPDX-License-Identifier: Apache-2.0
// How many of something it takes: blocks of rows, work-groups of blocks. In 64 bits, so that nothing wraps before it is checked.
#pragma once

#include <cstdint>

namespace saccade::core {

constexpr uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }
constexpr uint64_t roundUp(uint64_t a, uint64_t b) { return divideUp(a, b) * b; }

}  // namespace saccade::core
