// SPDX-License-Identifier: Apache-2.0
// Which kernel computes an attention problem, and with which tiles.
#pragma once

#include "attention/problem.hpp"
#include "kernels/choose.hpp"
#include "kernels/matrix_shape.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::core {

// What the chosen variant needs to know beyond the problem: the tile.
struct AttentionTile {
  uint32_t localSize;     // invocations per work-group
  uint32_t rows;          // query rows per work-group
  uint32_t keys;          // keys per step
  uint32_t channels = 0;  // scalar_tiled, weights: channels at a time
  uint32_t fold = 1;      // query heads per work-group, localSize / fold rows of each
  uint32_t splits = 1;    // work-groups that share the keys of a block of rows
  bool widened = false;   // K and V are first copied as fp32
  uint32_t columns = 0;       // scalar_tiled: invocations that share query rows; scalar_lines: of a line; flash_decode: that share a key
  uint32_t rowsEach = 0;      // query rows of an invocation; flash_decode: of all that share a key
  uint32_t sharers = 1;       // flash_decode: neighbours that share the softmax of a step
  uint32_t partialRows = 0;   // rows of a block of partial results; 0: one per invocation
  uint32_t subgroupSize = 0;  // of work-groups that rely on one; 0: any
  uint32_t subgroups = 0;     // of work-groups that are made of them
  uint32_t team = 1;          // subgroups that share query rows
  bool rolled = false;        // loops over blocks stay loops, where compilers would take seconds for more code or run out of registers
  // On matrix units:
  MatrixShape matrix{};
  uint32_t queryTiles = 0;  // blocks of matrix.n query rows of a subgroup
  uint32_t keyTiles = 0;    // blocks of matrix.m keys per step of the softmax
  uint32_t sharedQ = 0;     // 1: Q stays in shared memory
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

// Rows of one query head and one batch entry, in the mean: how packed sequences divide theirs, only the device may know.
uint64_t rowsPerEntry(const AttentionProblem& problem);

// Work-groups that share the keys of a block of rows: enough to fill the device, whose size Vulkan does not tell; parts long enough to be
// worth their partial results.
uint32_t splitsOf(const DeviceFacts& facts, uint64_t keys, uint64_t blocks, uint64_t shortestPart);

AttentionChoice chooseAttention(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& forced,
                                const TuningTable& tuning = {});

// What a tuning file calls problems such as this one: those for which the same kernel and tile should be best. Sizes are rounded up
// to powers of two.
std::string tuningKey(const AttentionProblem& problem);

// Kernels and tiles worth measuring for a problem, the built-in choice first.
std::vector<std::string> attentionCandidates(const DeviceFacts& facts, const AttentionProblem& problem);

// What may be asked of the tile of an attention kernel that plans choose from, and what it does with a problem by itself.
VariantInfo attentionVariantInfo(const DeviceFacts& facts, const AttentionProblem& problem, const std::string& kernel);

// Why this device can never run an attention kernel with such a tile; "" if it may.
std::string attentionRequestRefusal(const DeviceFacts& facts, const KernelRequest& request);

// scalar_tiled: the invocations that share query rows are neighbours in a subgroup, and the device has the operations for it.
bool sharesRowsInSubgroups(const DeviceFacts& facts, const AttentionTile& tile);

// The tile of the kernel `weights`, which is not chosen but runs whenever probs are asked for.
AttentionTile weightsTile(const DeviceFacts& facts);

}  // namespace saccade::core
