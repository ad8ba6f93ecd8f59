// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/case_file.hpp"
#include "reference/attention_problem.hpp"

namespace saccade::reference {

// For each tensor name, one entry per element: 1 where the result must be exactly 0 because nothing is
// visible there.
using ZeroMasks = std::map<std::string, std::vector<std::uint8_t>>;

// `out` and `dq` of rows that see no key, `probs` of hidden keys, `dk` and `dv` of keys that no row sees.
ZeroMasks exactZeros(const AttentionProblem& problem);

// The same for a case; for `mha`, `probs` of hidden keys; empty for operators that hide nothing.
ZeroMasks exactZeros(const io::CaseFile& file);

}  // namespace saccade::reference
