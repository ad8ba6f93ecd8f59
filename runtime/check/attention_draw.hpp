// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "check/attention_spec.hpp"
#include "check/random.hpp"

namespace saccade::check {

// A random combination of options and sizes: problem `index` of the sweep with that seed. What the rules
// exclude is not drawn. A few consecutive ones share their pipelines, because compiling takes longer than
// running.
AttentionSpec drawSpec(std::uint64_t seed, std::uint64_t index);

// The built-in shapes: every pair of these numbers of query and key tokens, with head dims and groups of
// heads chosen so that all of those appear, and as many pairs of values as the time allows.
inline constexpr std::int64_t kShapeTokens[] = {0,  1,  2,  3,  15,  16,  17,  31,  32,
                                                33, 63, 64, 65, 127, 128, 129, 255, 257};
inline constexpr std::int64_t kShapeHeadDims[] = {1,  3,  4,  8,  15,  20,  33,  40,
                                                  64, 72, 80, 96, 128, 160, 192, 256};
inline constexpr std::int64_t kShapeGroups[] = {1, 2, 3, 5, 8, 12};

// Decides lengths and distances of the built-in shapes, which are the same whatever the sweep's seed.
inline constexpr std::uint64_t kShapeSeed = 1;

// In an order in which neighbours share pipelines. Thorough: every head dim with every pair of token counts.
std::vector<AttentionSpec> shapeSpecs(bool thorough);

// What drawSpec and shapeSpecs are made of: options that need no sizes but those that `spec` has.
void addLengths(AttentionSpec& spec, bool q, bool k, Random& random);
void addPacking(AttentionSpec& spec, Random& random);       // packed sequences: batch and tokens grow
void addPages(AttentionSpec& spec, std::int64_t pageSize);  // seqlenK grows to whole pages, before addLengths

}  // namespace saccade::check
