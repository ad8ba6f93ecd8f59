// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench_workload.hpp"

namespace saccade::tool {

// Milliseconds of one run each.
struct Run {
  std::optional<double>
      device;       // between timestamps before and after it; absent where the queue has no clock
  double wall = 0;  // from recording to the end of the wait
};

// Records the workload once, submits it and waits.
Run runOnce(const Device& device, Workload& workload);

struct Measurement {
  std::vector<Run> runs;  // without those that warmed up
  double firstWall = 0;   // of the very first run: pipelines are compiled in it

  double median(bool wall) const;
  double minimum(bool wall) const;
  double maximum(bool wall) const;
  bool hasDeviceTimes() const { return !runs.empty() && runs.front().device.has_value(); }
};

struct MeasureLimits {
  int warmup = 3, repeat = 11;
  double seconds = 0;  // no further run begins after this time, once one has counted; 0: no limit
};

// `warmup` runs, then `repeat` runs that count. `ran`, if given, is called after each.
Measurement measure(const Device& device, Workload& workload, const MeasureLimits& limits,
                    const std::function<void()>& ran = {});

}  // namespace saccade::tool
