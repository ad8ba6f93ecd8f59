// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "bench_options.hpp"

namespace saccade::tool {

// A shape that is to be measured.
struct Job {
  std::string op, name, standsFor = {};
  std::function<std::unique_ptr<Workload>(const Device&)> make = {};
  std::function<void(const Device&)> require = {};  // throws what make would throw, and makes nothing
  std::int64_t seqlen = 0;  // of a sweep; else 0
  bool fused = true;
};

// What the options ask for: those of the preset, or the shapes of the command line. Throws UsageError: nothing
// is left to measure.
std::vector<Job> jobsOf(const BenchOptions& options);

}  // namespace saccade::tool
