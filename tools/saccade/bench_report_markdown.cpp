// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench_memory.hpp"
#include "bench_report.hpp"
#include "bench_sweep.hpp"

namespace saccade::tool {

namespace {

std::string line(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + "\n";
}

std::string header(const std::vector<std::string>& cells) {
  std::string text = line(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) text += "---|";
  return text + "\n";
}

std::string rowsTable(const BenchReport& report) {
  std::string text = header({"", "shape", "dtype", "kernel", "ms", "GFLOP/s", "GB/s", "of the roof",
                             "memory beyond inputs and outputs", "largest error"});
  for (const BenchRow& row : report.rows) {
    if (!row.skipped.empty()) {
      text += line({row.label(), "not measured: " + row.skipped, "", "", "", "", "", "", "", ""});
      continue;
    }
    text += line({row.label(), row.shape, std::string(io::dtypeName(row.dtype)), row.kernel,
                  fmt::format("{:.4g}", row.times.median(false)), fmt::format("{:.4g}", row.gflops()),
                  fmt::format("{:.3g}", row.gbytesPerSecond()),
                  row.share ? fmt::format("{:.0f} %", 100 * row.share->ofRoof) : "-",
                  row.extraBytes == 0 ? "none" : bytesText(static_cast<double>(row.extraBytes)),
                  fmt::format("{:.1e}", row.accuracy.error)});
  }
  return text;
}

// A row for each sequence length, a column for each series.
template <typename Cell>
std::string sweepTable(const BenchReport& report, const std::vector<Growth>& growths, Cell cell,
                       double Growth::* exponent) {
  std::map<std::pair<std::int64_t, std::string>, std::string> cells;
  std::set<std::int64_t> lengths;
  for (const BenchRow& row : report.rows) {
    lengths.insert(row.seqlen);
    cells[{row.seqlen, row.name}] = row.skipped.empty() ? cell(row) : "-";
  }
  std::vector<std::string> names = {"T"}, powers = {"grows as T to the power of"};
  for (const Growth& growth : growths) {
    names.push_back(growth.series);
    powers.push_back(growth.*exponent > 0 ? fmt::format("{:.2f}", growth.*exponent) : "-");
  }
  std::string text = header(names);
  for (const std::int64_t length : lengths) {
    std::vector<std::string> columns = {fmt::to_string(length)};
    for (const Growth& growth : growths) columns.push_back(cells[{length, growth.series}]);
    text += line(columns);
  }
  return text + line(powers);
}

}  // namespace

std::string markdownText(const BenchReport& report) {
  std::string text = fmt::format("{}, {}.", report.device, report.driver);
  if (report.limits) text += fmt::format(" Its {}.", limitsText(*report.limits));
  text += "\n\n";
  const std::vector<Growth> growths = growthOf(report);
  if (growths.empty()) return text + rowsTable(report);
  text += "Milliseconds:\n\n" + sweepTable(report, growths, [](const BenchRow& row) {
            return fmt::format("{:.4g}", row.times.median(false));
          }, &Growth::time);
  text += "\nDevice memory, inputs and outputs included:\n\n" + sweepTable(report, growths, [](const BenchRow& row) {
            return bytesText(row.bytes + static_cast<double>(row.extraBytes));
          }, &Growth::memory);
  std::string skipped;
  for (const BenchRow& row : report.rows) {
    if (!row.skipped.empty()) skipped += fmt::format("- {}, T {}: {}\n", row.name, row.seqlen, row.skipped);
  }
  return skipped.empty() ? text : text + "\nNot measured, and nothing longer of the same kind:\n\n" + skipped;
}

}  // namespace saccade::tool
