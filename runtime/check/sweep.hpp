// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "check/check.hpp"

// Random problems for every operator, each compared with the scalar path. A problem follows from the seed,
// the operator and its number alone, so that any of them can be repeated without those before it.

namespace saccade::check {

inline constexpr std::uint64_t kDefaultSeed = 1;

// `attentionCount` problems of attention, and a share of that for each of the other operators.
Checks sweepChecks(std::uint64_t seed, std::uint32_t attentionCount);

// The check of that name ("attention/17"); nullptr if a sweep has no such name.
std::unique_ptr<Check> sweepCheck(std::uint64_t seed, const std::string& name);

// One name per operator, for messages.
std::vector<std::string> sweepExamples();

}  // namespace saccade::check
