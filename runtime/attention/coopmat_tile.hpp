// SPDX-License-Identifier: Apache-2.0
// Tiles of the attention kernels on matrix units: what a problem and a device allow, and what is taken unless asked otherwise.
#pragma once

#include <string>
#include <vector>

#include "attention/choice.hpp"

namespace saccade::core {

// Why the kernel cannot compute the problem on a device that has matrix units; "" if it can.
std::string coopmatRefusal(const DeviceFacts& facts, const AttentionProblem& problem);

// The same of coopmat2.
std::string coopmat2Refusal(const DeviceFacts& facts, const AttentionProblem& problem);

// Subgroups, rows and invocations of a work-group from the blocks of a tile; why such a tile cannot run here, or "".
std::string settleCoopmat(const DeviceFacts& facts, const AttentionProblem& problem, AttentionTile& tile);

AttentionTile coopmatTile(const DeviceFacts& facts, const AttentionProblem& problem);
std::vector<AttentionTile> otherCoopmatTiles(const DeviceFacts& facts, const AttentionProblem& problem);

// Scores are scaled one by one before anything else happens to them: something is added to them or caps them, or the scale is so large
// that the kernel's units of 2^x would overflow.
bool needsNaturalScores(const AttentionProblem& problem);

}  // namespace saccade::core
