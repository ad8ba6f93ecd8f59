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

Measurement measure(const Device& device, Workload& workload, int warmup, int repeat) {
  Measurement measurement;
  measurement.firstWall = runOnce(device, workload).wall;
  for (int i = 1; i < warmup; ++i) {
    runOnce(device, workload);
  }
  for (int i = 0; i < repeat; ++i) {
    measurement.runs.push_back(runOnce(device, workload));
  }
  return measurement;
}

}  // namespace saccade::tool
