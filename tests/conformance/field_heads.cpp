// SPDX-License-Identifier: Apache-2.0
// Which key/value head a query head reads.
#include "field_cases.hpp"
#include "probes.hpp"

namespace saccade::conformance {

void registerHeadCases(const Device& device) {
  const auto heads = [&](int row, const char* name,
                         const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
    fieldCase(device, {row}, name, {kF32, kF16, kBf16}, [pairs](const Device& d, const Variant& variant) {
      for (const auto& [headsQ, headsKv] : pairs) probeHeads(d, variant, headsQ, headsKv);
    });
  };
  heads(179, "key_heads_are_repeated_and_not_tiled", {{4, 2}});
  heads(181, "groups_that_differ_from_the_number_of_key_heads", {{64, 8}, {32, 8}, {28, 4}, {16, 8}});
  heads(182, "every_key_head_is_used", {{12, 12}, {32, 8}, {28, 4}});
  fieldCase(device, {185}, "one_query_and_40_heads_of_8", {kF16},
            [](const Device& d, const Variant& variant) {
              checkCall(d, randomCall({.headsQ = 40, .headsKv = 8, .seqlenQ = 1, .seqlenK = 100}, variant));
            });
}

}  // namespace saccade::conformance
