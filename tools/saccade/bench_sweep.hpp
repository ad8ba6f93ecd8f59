// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_options.hpp"
#include "bench_report.hpp"

namespace saccade::tool {

// Attention at sequence lengths that double: full, causal and with a window, fused and not. A point that would not
// end within the budget, by the time of the one before it, or does not fit into memory is a skipped row, and
// longer ones of its series are not tried. `found` is called with each row, `next` before each one.
void measureSweep(const Device& device, const BenchOptions& options, BenchReport& report,
                  const std::function<void(const BenchRow&)>& found,
                  const std::function<void(const std::string&)>& next);

// How many points there are at most.
std::size_t sweepPoints(const BenchOptions& options);

// How a series grows: the exponent of the power of the sequence length that its last points lie on.
struct Growth {
  std::string series;
  double time = 0;    // 2: quadratic; 0: too few points
  double memory = 0;
};
std::vector<Growth> growthOf(const BenchReport& report);

}  // namespace saccade::tool
