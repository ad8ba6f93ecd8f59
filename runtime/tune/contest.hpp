// SPDX-License-Identifier: Apache-2.0
// Which of several kernels is fastest, on a device whose times scatter. Knows nothing of devices: the caller measures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace saccade::tune {

// What a contest asks of its caller.
struct Arena {
  // Runs a kernel once and returns its time in milliseconds. A first run may compile. Throws std::exception if it cannot run.
  std::function<double(const std::string& kernel)> run;
  // Runs a kernel once more and compares its results with the scalar path: "" if they are right, else what is wrong.
  std::function<std::string(const std::string& kernel)> check;
  // The share of the time that is used up, from 0 on; 1 and more: conclude with what there is.
  std::function<double()> timeUsed;
  // Whether to give up, without a result.
  std::function<bool()> interrupted;
  // Called once per candidate that was looked at.
  std::function<void(const std::string& kernel)> looked;
};

struct Rejection {
  std::string kernel, why;
};

struct Verdict {
  std::string builtIn, winner;  // the same unless another kernel is clearly faster
  double builtInMilliseconds = 0, winnerMilliseconds = 0;  // medians of the same interleaved runs
  int candidates = 0, looked = 0;                          // fewer were looked at than there are: the time was up
  std::vector<Rejection> rejected;                         // could not run, or gave wrong results
};

// By how much a kernel must be faster than the built-in one to be worth a line in a file: what lies closer is noise.
inline constexpr double kWorthwhile = 0.95;

// `candidates` begins with the built-in choice. Each is looked at once; those near the fastest run in turns until a few are left;
// the fastest of them then has to win a duel of fresh runs against the built-in one, and its results have to be right. Nothing if
// interrupted. Throws what `run` throws for the built-in kernel.
std::optional<Verdict> holdContest(const std::vector<std::string>& candidates, const Arena& arena);

}  // namespace saccade::tune
