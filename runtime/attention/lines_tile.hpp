// SPDX-License-Identifier: Apache-2.0
// Tiles of scalar_lines: what a problem and a device allow, and what is taken unless asked otherwise.
#pragma once

#include <string>
#include <vector>

#include "attention/choice.hpp"

namespace saccade::core {

// Why the kernel cannot compute the problem on a device that can rotate over lines; "" if it can.
std::string scalarLinesRefusal(const DeviceFacts& facts, const AttentionProblem& problem);

Estimate estimateScalarLines(const DeviceFacts& facts, const AttentionProblem& problem);

// Rows and invocations of a work-group from its subgroups and their lines; why such a tile cannot run here, or "".
std::string settleLines(const DeviceFacts& facts, const AttentionProblem& problem, AttentionTile& tile);

AttentionTile scalarLinesTile(const DeviceFacts& facts, const AttentionProblem& problem);
std::vector<AttentionTile> otherLineTiles(const DeviceFacts& facts, const AttentionProblem& problem);

}  // namespace saccade::core
