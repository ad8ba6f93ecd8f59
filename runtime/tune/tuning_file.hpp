// SPDX-License-Identifier: Apache-2.0
// Writing tuning files; docs/tuning.md describes them.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <saccade/saccade.h>

namespace saccade::tune {

// What measuring found for the problems of a key.
struct Result {
  std::string problem;  // SaccadeCandidate::problem
  std::string builtIn, winner;
  double builtInMilliseconds = 0, winnerMilliseconds = 0;
  std::string measured;  // the shape, for people
};

// Puts results into a file. Entries of other problems stay; a result whose winner is the built-in kernel removes the entry of its
// problem. Several processes may do so at once: each reads, merges and replaces under a lock (the file of that name with .lock behind
// it), and a reader sees the old content or the new. Creates the folder.
//
// What is there but is no tuning file of this library, or of another driver, is replaced; the return value says so, and is else empty.
// Throws io::FileError: a file of another device or of a newer version, which may be of value to somebody; no permission, no space.
std::string mergeIntoFile(const std::filesystem::path& path, const SaccadeDeviceFacts& facts, std::span<const Result> results);

}  // namespace saccade::tune
