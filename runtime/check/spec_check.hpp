// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/attention_spec.hpp"
#include "check/check.hpp"

namespace saccade::check {

// A check of attention whose problem is a spec. Its kind says what must hold:
//   attention   results agree with the scalar path
//   causality   what a row may not see has no influence on it, bit for bit; a NaN that it sees has
//   padding     NaN in everything that plays no part, gaps and page slack included, equals zeros there
//   heads       query head h reads key/value head floor(h * Hkv / Hq)
//   key_count   with queries of 0: the mean of the visible values, and lse = log(count)
//   one_key     a lone visible key gives its value, whatever its score
//   layout      every layout gives what the contiguous one does, bit for bit
//   repeat      20 runs are bit-identical; repeat1000: 1000 runs
// The problem must suit the kind: specMistakeFor.
std::unique_ptr<Check> makeSpecCheck(const std::string& kind, std::string name, std::string group,
                                     const AttentionSpec& spec, std::uint64_t seed);

const std::vector<std::string>& specKinds();

// Why a check of that kind cannot have this problem, or "": e.g. heads with a sink.
std::string specMistakeFor(const std::string& kind, const AttentionSpec& spec);

// "KIND:SPEC", as Check::only of these checks gives it. nullptr if it does not begin with a kind and a colon;
// throws std::invalid_argument for a mistake behind it.
std::unique_ptr<Check> parseSpecCheck(std::string_view text, std::uint64_t seed);

// The built-in problems of each property: group "properties".
Checks propertyChecks(std::uint64_t seed, bool thorough);

// One property on one problem.
using Probe = Outcome (*)(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                          std::uint64_t seed);
Outcome probeCausality(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);
Outcome probePadding(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);
Outcome probeHeads(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);
Outcome probeKeyCount(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);
Outcome probeOneKey(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);
Outcome probeLayout(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);
Outcome probeRepeat(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);
Outcome probeRepeat1000(const Device&, const std::string& kernel, const AttentionSpec&, std::uint64_t seed);

}  // namespace saccade::check
