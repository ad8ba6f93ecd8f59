// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "check/check.hpp"

namespace saccade::check {

// Attention problem `index` of the sweep with that seed.
std::unique_ptr<Check> attentionSweepCheck(std::uint64_t seed, std::uint64_t index);

}  // namespace saccade::check
