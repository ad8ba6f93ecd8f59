// SPDX-License-Identifier: Apache-2.0
#include "bench_report.hpp"
#include "bench_sweep.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

json toJson(const BenchRow& row) {
  json result = {{"operator", row.op},
                 {"name", row.name},
                 {"stands_for", row.standsFor},
                 {"shape", row.shape},
                 {"dtype", io::dtypeName(row.dtype)}};
  if (row.seqlen != 0) {
    result["seqlen"] = row.seqlen;
    result["fused"] = row.fused;
  }
  if (!row.skipped.empty()) {
    result["skipped"] = row.skipped;
    return result;
  }
  json times = json::array();
  for (const Run& run : row.times.runs) {
    times.push_back(run.device ? json(*run.device) : json(nullptr));
  }
  result.update({{"kernel", row.kernel},
                 {"device_clock", row.times.hasDeviceTimes()},
                 {"ms_median", row.times.median(false)},
                 {"ms_min", row.times.minimum(false)},
                 {"ms_max", row.times.maximum(false)},
                 {"wall_ms_median", row.times.median(true)},
                 {"wall_ms_min", row.times.minimum(true)},
                 {"wall_ms_max", row.times.maximum(true)},
                 {"wall_ms_first", row.times.firstWall},
                 {"flops", row.flops},
                 {"useful_flops", row.usefulFlops},
                 {"bytes", row.bytes},
                 {"extra_memory_bytes", row.extraBytes},
                 {"gflops", row.gflops()},
                 {"useful_gflops", row.usefulGflops()},
                 {"gbytes_per_second", row.gbytesPerSecond()},
                 {"error", row.accuracy.error},
                 {"error_allowed", row.accuracy.allowed},
                 {"error_sample", row.accuracy.sample},
                 {"passed", row.accuracy.passed},
                 {"ms", times}});
  if (row.share) {
    result["share_of_roof"] = row.share->ofRoof;
    result["roof"] = row.share->memoryBound ? "memory" : "arithmetic";
  }
  return result;
}

template <typename Value>
json orNull(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

json toJson(const DeviceLimits& limits) {
  json result = {{"fp32_gflops", limits.fp32Gflops},
                 {"fp16_gflops", orNull(limits.fp16Gflops)},
                 {"matrix_gflops", orNull(limits.matrixGflops)}};
  if (limits.matrixGflops) {
    result["matrix_shape"] = {limits.matrixShape.m, limits.matrixShape.n, limits.matrixShape.k};
  }
  result["copy_gbytes_per_second"] = limits.copyGbytesPerSecond;
  result["read_gbytes_per_second"] = limits.readGbytesPerSecond;
  return result;
}

}  // namespace

json toJson(const BenchReport& report) {
  json rows = json::array();
  for (const BenchRow& row : report.rows) {
    rows.push_back(toJson(row));
  }
  json result = {{"format", "saccade bench 1"}, {"device", report.device}, {"driver", report.driver}};
  if (report.limits) result["limits"] = toJson(*report.limits);
  result["results"] = rows;
  for (const Growth& growth : growthOf(report)) {
    const auto known = [](double exponent) { return exponent > 0 ? json(exponent) : json(nullptr); };
    result["growth"].push_back(
        {{"series", growth.series}, {"time", known(growth.time)}, {"memory", known(growth.memory)}});
  }
  return result;
}

}  // namespace saccade::tool
