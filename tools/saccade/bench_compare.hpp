// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench_report.hpp"

namespace saccade::tool {

enum class Verdict { Same, Faster, Slower };

// A row of a report beside the row of an older one with the same operator, name, shape and dtype.
struct ComparedRow {
  std::string label, shape;
  double oldMs = 0, newMs = 0;
  double noise = 0;  // how far apart, relative to oldMs, medians of the same speed may lie
  Verdict verdict = Verdict::Same;

  double ratio() const { return newMs / oldMs; }
};

struct BenchComparison {
  std::vector<ComparedRow> rows;
  std::vector<std::string> notes;  // what differs besides, rows that only this run has

  // Whether a row is slower, outside the noise, by more than this share.
  bool slowerThan(double share) const;
};

// An older report.
struct BaseReport {
  std::string path;
  nlohmann::ordered_json json;
};

// Throws UsageError: the file cannot be read or is no report of this program.
BaseReport readBaseReport(const std::string& path);

// Medians are told apart where their notches (McGill, Tukey and Larsen 1978: 1.57 interquartile ranges over the
// square root of the number of runs) do not meet, and never below 2 %. Throws UsageError: a row of the base lacks
// what a row has.
BenchComparison compareReports(const BaseReport& base, const BenchReport& report);

std::string comparisonText(const BenchComparison& comparison);
nlohmann::ordered_json toJson(const BenchComparison& comparison);

}  // namespace saccade::tool
