// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench_limits.hpp"
#include "bench_measure.hpp"

// What a run of `saccade bench` found, and how it is printed.

namespace saccade::tool {

struct BenchRow {
  std::string op, name, standsFor, shape, kernel;
  io::DType dtype = io::DType::F32;
  std::int64_t seqlen = 0;  // of a sweep, where `name` is the series; else 0
  bool fused = true;
  std::string skipped;  // why it was not measured; what follows is empty then
  Measurement times;
  double flops = 0, usefulFlops = 0, bytes = 0;
  std::uint64_t extraBytes = 0;  // device memory beyond inputs and outputs, at its peak
  Accuracy accuracy;
  std::optional<Share> share;  // absent where the limits were not measured

  std::string label() const { return op + " " + name + (standsFor.empty() ? "" : " " + standsFor); }
  double seconds() const { return times.median(false) / 1e3; }
  double gflops() const { return flops / seconds() / 1e9; }
  double usefulGflops() const { return usefulFlops / seconds() / 1e9; }
  double gbytesPerSecond() const { return bytes / seconds() / 1e9; }
  bool passed() const { return !skipped.empty() || accuracy.passed; }
};

struct BenchReport {
  std::string device, driver;
  std::optional<DeviceLimits> limits;
  std::vector<BenchRow> rows;
};

nlohmann::ordered_json toJson(const BenchReport& report);

std::string csvText(const BenchReport& report);  // a header line and a line per row; RFC 4180

// Tables for a document: of a sweep time and memory against the sequence length, of any other the rows.
std::string markdownText(const BenchReport& report);

// Columns for labels and shapes of at most these lengths.
struct TextColumns {
  std::size_t label = 0, shape = 36;
};
std::string textHeader(const TextColumns& columns);
std::string textLine(const BenchRow& row, const TextColumns& columns);

}  // namespace saccade::tool
