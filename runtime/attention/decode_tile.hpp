// SPDX-License-Identifier: Apache-2.0
// Tiles of flash_decode: what a problem and a device allow, and what is taken unless asked otherwise.
#pragma once

#include <string>
#include <vector>

#include "attention/choice.hpp"

namespace saccade::core {

AttentionTile flashDecodeTile(const DeviceFacts& facts, const AttentionProblem& problem);
std::vector<AttentionTile> otherDecodeTiles(const DeviceFacts& facts, const AttentionProblem& problem);

// Rows and heads of a block from rows_each; why such a tile cannot run here, or "".
std::string settleDecode(const DeviceFacts& facts, const AttentionProblem& problem, AttentionTile& tile);

}  // namespace saccade::core
