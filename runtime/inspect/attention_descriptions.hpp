// SPDX-License-Identifier: Apache-2.0
// The two extremes of what an attention kernel may be asked to do, and so of the code that its pipeline has.
#pragma once

#include <string>

#include <saccade/saccade.hpp>

namespace saccade::inspect {

// Sizes are no part of a pipeline, unless a kernel has one for whole tiles alone: kSeqlen is a multiple of every tile.
inline constexpr std::int64_t kBatch = 2, kHeadsQ = 4, kHeadsKv = 2, kSeqlen = 1024;

// out alone: nothing hides keys or changes scores. `kernel` may be empty, and may have fields of a tile behind its name.
AttentionDesc plainAttention(const std::string& kernel, Dtype dtype, std::int64_t headDim, std::int64_t rows = kSeqlen,
                             std::int64_t keys = kSeqlen);

// Everything that hides keys, changes scores or is written; but for packed sequences and pages.
AttentionDesc everything(const AttentionDesc& plain);

}  // namespace saccade::inspect
