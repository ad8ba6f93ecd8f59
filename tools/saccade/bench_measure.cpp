// SPDX-License-Identifier: Apache-2.0
#include "bench_measure.hpp"

#include <algorithm>
#include <chrono>

namespace saccade::tool {

namespace {

std::optional<Timestamp> timestampOf(Stream& stream) {
  try {
    return stream.timestamp();
  } catch (const Error& error) {
    if (error.status() == Status::Unsupported) {
      return std::nullopt;
    }
    throw;
  }
}

std::vector<double> sortedTimes(const std::vector<Run>& runs, bool wall) {
  std::vector<double> times;
  for (const Run& run : runs) {
    times.push_back(wall ? run.wall : run.device.value_or(run.wall));
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

Run runOnce(const Device& device, Workload& workload) {
  const auto start = std::chrono::steady_clock::now();
  Stream stream(device);
  const std::optional<Timestamp> begin = timestampOf(stream);
  workload.record(stream);
  const std::optional<Timestamp> end = timestampOf(stream);
  stream.wait();
  Run run;
  run.wall = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (begin && end) {
    run.device = stream.milliseconds(*begin, *end);
  }
  return run;
}

double Measurement::median(bool wall) const {
  const std::vector<double> times = sortedTimes(runs, wall);
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

double Measurement::minimum(bool wall) const { return sortedTimes(runs, wall).front(); }

double Measurement::maximum(bool wall) const { return sortedTimes(runs, wall).back(); }

Measurement measure(const Device& device, Workload& workload, const MeasureLimits& limits,
                    const std::function<void()>& ran) {
  const auto start = std::chrono::steady_clock::now();
  const auto late = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return limits.seconds > 0 && passed.count() > limits.seconds;
  };
  Measurement measurement;
  for (int i = 0; i < limits.warmup + limits.repeat; ++i) {
    const bool counts = i >= limits.warmup;
    if (late() && (!counts || !measurement.runs.empty())) continue;
    const Run run = runOnce(device, workload);
    if (i == 0) measurement.firstWall = run.wall;
    if (counts) measurement.runs.push_back(run);
    if (ran) ran();
  }
  return measurement;
}

}  // namespace saccade::tool
