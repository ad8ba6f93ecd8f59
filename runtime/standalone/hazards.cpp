// SPDX-License-Identifier: Apache-2.0
#include "standalone/hazards.hpp"

#include <algorithm>

namespace saccade::runtime {

bool Hazards::conflicts(const Access& access) const {
  if (access.begin == access.end) return false;
  return std::any_of(accesses_.begin(), accesses_.end(), [&](const Access& earlier) {
    return earlier.buffer == access.buffer && (earlier.write || access.write) && earlier.begin < access.end &&
           access.begin < earlier.end;
  });
}

bool Hazards::add(std::span<const Access> accesses) {
  // So many independent operators in a row are rare; the bound keeps the search short.
  constexpr std::size_t kMost = 256;
  const bool barrier =
      accesses_.size() >= kMost || std::any_of(accesses.begin(), accesses.end(),
                                               [this](const Access& access) { return conflicts(access); });
  if (barrier) clear();
  accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
  return barrier;
}

}  // namespace saccade::runtime
