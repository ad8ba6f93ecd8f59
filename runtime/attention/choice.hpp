// SPDX-License-Identifier: Apache-2.0
// Which kernel computes an attention problem, and with which tiles.
#pragma once

#include "attention/problem.hpp"
#include "kernels/choose.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::core {

// What the chosen variant needs to know beyond the problem: the tile.
struct AttentionTile {
  uint32_t localSize;     // invocations per work-group
  uint32_t rows;          // query rows per work-group
  uint32_t keys;          // keys per step
  uint32_t channels = 0;  // scalar_tiled: channels staged at a time
  uint32_t fold = 1;      // query heads per work-group, localSize / fold rows of each
  uint32_t splits = 1;    // work-groups that share the keys of a block of rows
  bool widened = false;   // K and V are first copied as fp32
};

struct AttentionChoice {
  const char* kernel;
  AttentionTile tile;
  std::string tileText;  // kernel and tile as a description may ask for them
  std::string reason;
};

// Elements of the copies of K and of V that widened_rows makes in scratch memory.
struct WidenedSizes {
  uint64_t strideT, strideH, strideB;  // of a copy
  uint64_t elements;
};
WidenedSizes widenedSizes(const AttentionProblem& problem, uint32_t headDim);

AttentionChoice chooseAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forced,
                                const TuningTable& tuning = {});

// What a tuning file calls problems such as this one: those for which the same kernel and tile should be best. Sizes are rounded up
// to powers of two.
std::string tuningKey(const AttentionProblem& problem);

// Kernels and tiles worth measuring for a problem, the built-in choice first.
std::vector<std::string> attentionCandidates(const DeviceFacts& facts, const AttentionProblem& problem);

// Why this device can never run an attention kernel with such a tile; "" if it may.
std::string attentionRequestRefusal(const DeviceFacts& facts, const KernelRequest& request);

// The tile of the kernel `weights`, which is not chosen but runs whenever probs are asked for.
AttentionTile weightsTile(const DeviceFacts& facts);

}  // namespace saccade::core
