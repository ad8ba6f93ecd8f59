// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "common/swapchain.hpp"

namespace example {

// Shows `count` frames, or, if that is 0, frames until the window is closed. Says from time to time, and at the end, how
// long they took on the device and what was counted. Esc ends it; onKey gets the digits 0 to 9 that are pressed.
void showFrames(Gpu& gpu, Swapchain& swapchain, const Recording& recording, std::uint64_t count,
                const std::function<void(int)>& onKey);

// A line "NAME 1: values" and so on for every `columns` values.
void printRows(const char* name, std::span<const float> values, std::size_t columns);

}  // namespace example
