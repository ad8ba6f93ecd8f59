// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench_report.hpp"

namespace saccade::tool {

namespace {

// Quoted as RFC 4180 says where it has to be.
std::string csvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + "\"";
}

// "81 % ops", "40 % mem": which roof it is lies in the last word.
std::string shareText(const BenchRow& row) {
  if (!row.share) return "-";
  return fmt::format("{:.0f} % {}", 100 * row.share->ofRoof, row.share->memoryBound ? "mem" : "ops");
}

std::string errorText(const BenchRow& row) {
  std::string text = fmt::format("{:.1e} on {}", row.accuracy.error, row.accuracy.sample);
  if (!row.accuracy.passed) text += fmt::format(", WRONG: {:.1e} allowed", row.accuracy.allowed);
  // A causal mask counts as half in the one and exactly in the other: less than a hundredth apart.
  if (row.usefulFlops < 0.95 * row.flops) {
    text += fmt::format(", {:.4g} GFLOP/s without the padding", row.usefulGflops());
  }
  return text;
}

}  // namespace

std::string textHeader(const TextColumns& columns) {
  return fmt::format("{:<{}}{:<{}}{:<14}{:>10}{:>10}{:>10}{:>10}{:>9}{:>10}  error\n", "operator", columns.label + 2,
                     "shape", columns.shape + 2, "kernel", "ms", "min", "wall", "GFLOP/s", "GB/s", "of roof");
}

std::string textLine(const BenchRow& row, const TextColumns& columns) {
  const std::string start =
      fmt::format("{:<{}}{:<{}}", row.label(), columns.label + 2, row.shape, columns.shape + 2);
  if (!row.skipped.empty()) {
    return start + "not measured: " + row.skipped + "\n";
  }
  return fmt::format("{}{:<14}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.4g}{:>9.3g}{:>10}  {}\n", start, row.kernel,
                     row.times.median(false), row.times.minimum(false), row.times.median(true), row.gflops(),
                     row.gbytesPerSecond(), shareText(row), errorText(row));
}

std::string csvText(const BenchReport& report) {
  std::string text =
      "operator,name,shape,dtype,kernel,ms_median,ms_min,ms_max,wall_ms_median,gflops,useful_gflops,"
      "gbytes_per_second,extra_memory_bytes,share_of_roof,roof,error,error_allowed,passed,skipped\r\n";
  for (const BenchRow& row : report.rows) {
    text += fmt::format("{},{},{},{},", row.op, csvField(row.name), csvField(row.shape), io::dtypeName(row.dtype));
    text += row.skipped.empty()
                ? fmt::format("{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},{},{},{:.3e},{:.3e},{},\r\n",
                              csvField(row.kernel), row.times.median(false), row.times.minimum(false),
                              row.times.maximum(false), row.times.median(true), row.gflops(), row.usefulGflops(),
                              row.gbytesPerSecond(), row.extraBytes,
                              row.share ? fmt::format("{:.4g}", row.share->ofRoof) : "",
                              !row.share               ? ""
                              : row.share->memoryBound ? "memory"
                                                       : "arithmetic",
                              row.accuracy.error, row.accuracy.allowed,
                              row.accuracy.passed)
                : fmt::format(",,,,,,,,,,,,,,{}\r\n", csvField(row.skipped));
  }
  return text;
}

}  // namespace saccade::tool
