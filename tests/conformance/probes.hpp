// SPDX-License-Identifier: Apache-2.0
// Properties of any call whose result can be told without computing it.
#pragma once

#include "attention_call.hpp"

namespace saccade::conformance {

// Changes key `key` of every batch entry and looks at every row: one that may not see it is as before, to the
// bit; one that sees a NaN is NaN. `before` is what the unchanged call gives.
void probeKey(const Device& device, const AttentionCall& call, const AttentionResults& before,
              std::int64_t key, float value);

// With q of 0 all visible keys weigh alike: for values of 1, out is 1 and lse the logarithm of their number.
void probeKeyCount(const Device& device, AttentionCall call);

// V of key/value head g holds g + 1 throughout, so query head h must give floor(h * Hkv / Hq) + 1.
void probeHeads(const Device& device, const Variant& variant, std::int64_t headsQ, std::int64_t headsKv);

}  // namespace saccade::conformance
