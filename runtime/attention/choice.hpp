// SPDX-License-Identifier: Apache-2.0
// Which kernel computes an attention problem, and with which tiles.
#pragma once

#include "attention/problem.hpp"
#include "kernels/registry.hpp"

namespace saccade::core {

// What the chosen variant needs to know beyond the problem: the tile.
struct AttentionTile {
  uint32_t localSize;     // invocations per work-group
  uint32_t rows;          // query rows per work-group
  uint32_t keys;          // keys per step
  uint32_t channels = 0;  // scalar_tiled: channels staged at a time
  uint32_t fold = 1;      // query heads per work-group, localSize / fold rows of each
  uint32_t splits = 1;    // work-groups that share the keys of a block of rows
};

struct AttentionChoice {
  const char* kernel;
  AttentionTile tile;
  std::string reason;
};

AttentionChoice chooseAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forced);

// The tile of the kernel `weights`, which is not chosen but runs whenever probs are asked for.
AttentionTile weightsTile(const DeviceFacts& facts);

}  // namespace saccade::core
