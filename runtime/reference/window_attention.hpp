// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/mha.hpp"

namespace saccade::reference {

// Attention inside windows, as in Swin Transformers (Liu et al. 2021).
struct WindowAttention {
  Linear<double> qkv;                        // [3C,C], rows Q, K, V
  Linear<double> proj;                       // [C,C]
  std::vector<double> relativePositionBias;  // [(2w-1)^2, heads]
  std::int64_t numHeads = 0;
  std::int64_t windowSize = 0;
  std::int64_t shiftSize = 0;  // 0: windows are not shifted
};

// x [B,H,W,C] with H and W multiples of the window size; returns the same shape. Rolled by -shift, cut into
// windows, attended inside each, projected, put back and rolled by +shift. With a shift, tokens of different
// regions of the rolled picture ([0,L-w), [L-w,L-shift), [L-shift,L) on each axis) do not see each other.
std::vector<double> windowAttention(const WindowAttention& module, std::span<const double> x,
                                    std::int64_t batch, std::int64_t height, std::int64_t width);

}  // namespace saccade::reference
