// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "check/check.hpp"

// Problems for every operator, each compared with the scalar path: random ones, which follow from the seed,
// the operator and their number alone, so that any of them can be repeated without those before it, and
// built-in shapes.

namespace saccade::check {

inline constexpr std::uint64_t kDefaultSeed = 1;

// `attentionCount` problems of attention, and a share of that for each of the other operators.
Checks sweepChecks(std::uint64_t seed, std::uint32_t attentionCount);

// Attention at and around the edges of tiles, with every head dim and group of heads: "shapes/0", ...
// Thorough: every head dim with every pair of token counts.
Checks shapeChecks(std::uint64_t seed, bool thorough);

// The random check of that name ("attention/17"; of the other operators also "matmul/17@8", without sizes
// above 8); nullptr if a sweep has no such name.
std::unique_ptr<Check> sweepCheck(std::uint64_t seed, const std::string& name);

// One name per operator, for messages.
std::vector<std::string> sweepExamples();

}  // namespace saccade::check
