// SPDX-License-Identifier: Apache-2.0
// What a work-group of a plan's main kernel computes in one step: what static rates are relative to.
#pragma once

#include <string>

#include "cases.hpp"
#include "device/facts.hpp"

namespace saccade::compile {

struct StepSize {
  std::string kernel;      // that the plan takes
  std::string tile;        // the kernel with its tile, as a description may ask for it
  bool chosen = false;     // the plan takes it also when no kernel is asked for
  std::uint32_t rows = 0;  // of a work-group; for attention those of all its heads
  std::uint32_t columns = 0;  // attention: keys of a step; matmul: columns of a work-group
  double flop = 0;         // useful ones of a step over keys or depth; 0: neither attention nor matmul
  double bytes = 0;        // of K and V that a step reads; 0: not attention
};

StepSize stepSizeOf(const core::DeviceFacts& facts, const Case& call);

}  // namespace saccade::compile
