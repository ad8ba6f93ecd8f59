// SPDX-License-Identifier: Apache-2.0
// What measurements on a device found: for which problems another kernel or tile than the built-in one is faster. docs/tuning.md
// describes the file that it is read from.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "device/facts.hpp"
#include "kernels/tile.hpp"

namespace saccade::core {

class TuningTable {
 public:
  // What was found for the problems of a key (tuningKey), or null.
  const KernelRequest* find(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  void insert(std::string key, KernelRequest winner) { entries_.emplace(std::move(key), std::move(winner)); }

 private:
  std::map<std::string, KernelRequest> entries_;
};

// Reads a file's content. All or nothing: refuses (Refusal with the field) whatever is not a tuning file of this version of the
// library for this very device and driver, in which every kernel exists and every tile is within the device's limits.
TuningTable readTuning(std::string_view text, const DeviceFacts& facts);

}  // namespace saccade::core
