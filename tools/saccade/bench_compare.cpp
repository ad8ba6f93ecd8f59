// SPDX-License-Identifier: Apache-2.0
#include "bench_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "exit_code.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

constexpr double kLeastNoise = 0.02;

// The device's times of a row; where it has no clock, what the caller waited is in the median alone.
std::vector<double> timesOf(const json& row) {
  std::vector<double> times;
  for (const json& time : row.value("ms", json::array())) {
    if (time.is_number()) times.push_back(time.get<double>());
  }
  if (times.empty()) times = {row.at("ms_median").get<double>()};
  std::sort(times.begin(), times.end());
  return times;
}

double quantile(const std::vector<double>& sorted, double part) {
  const double position = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Half the notch of a median.
double notch(const std::vector<double>& sorted) {
  return 1.57 * (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / std::sqrt(static_cast<double>(sorted.size()));
}

bool sameRow(const json& a, const json& b) {
  return a.at("operator") == b.at("operator") && a.at("name") == b.at("name") && a.at("shape") == b.at("shape") &&
         a.at("dtype") == b.at("dtype");
}

const json* rowLike(const json& rows, const json& row) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const json& other) { return !other.contains("skipped") && sameRow(other, row); });
  return found == rows.end() ? nullptr : &*found;
}

std::string labelOf(const json& row) {
  return row.at("operator").get<std::string>() + " " + row.at("name").get<std::string>();
}

ComparedRow compareRow(const json& older, const json& newer) {
  const std::vector<double> before = timesOf(older), now = timesOf(newer);
  ComparedRow row{.label = labelOf(newer), .shape = newer.at("shape"), .oldMs = quantile(before, 0.5),
                  .newMs = quantile(now, 0.5)};
  row.noise = std::max(kLeastNoise, (notch(before) + notch(now)) / row.oldMs);
  if (row.ratio() > 1 + row.noise) row.verdict = Verdict::Slower;
  if (row.ratio() < 1 - row.noise) row.verdict = Verdict::Faster;
  return row;
}

const char* wordOf(Verdict verdict) {
  return verdict == Verdict::Faster ? "faster" : verdict == Verdict::Slower ? "SLOWER" : "same";
}

}  // namespace

BaseReport readBaseReport(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw UsageError("--compare", fmt::format("{} cannot be read", path));
  }
  json report = json::parse(file, nullptr, false);
  if (!report.is_object() || !report.contains("format") || report["format"] != "saccade bench 1" ||
      !report.contains("results") || !report["results"].is_array()) {
    throw UsageError("--compare", fmt::format("{} is no report that saccade bench --json has written", path));
  }
  return {path, std::move(report)};
}

bool BenchComparison::slowerThan(double share) const {
  return std::any_of(rows.begin(), rows.end(), [&](const ComparedRow& row) {
    return row.verdict == Verdict::Slower && row.ratio() > 1 + share;
  });
}

BenchComparison compareReports(const BaseReport& base, const BenchReport& report) {
  const json &older = base.json, newer = toJson(report);
  BenchComparison comparison;
  try {
    for (const char* key : {"device", "driver"}) {
      if (older.at(key) != newer.at(key)) {
        comparison.notes.push_back(fmt::format("another {}: {} was {}", key, newer.at(key).get<std::string>(),
                                               older.at(key).get<std::string>()));
      }
    }
    for (const json& row : newer.at("results")) {
      if (row.contains("skipped")) continue;
      if (const json* before = rowLike(older.at("results"), row)) {
        comparison.rows.push_back(compareRow(*before, row));
      } else {
        comparison.notes.push_back(fmt::format("{} ({}) is new", labelOf(row), row.at("shape").get<std::string>()));
      }
    }
  } catch (const json::exception& error) {
    throw UsageError("--compare", fmt::format("{} is incomplete: {}", base.path, error.what()));
  }
  return comparison;
}

std::string comparisonText(const BenchComparison& comparison) {
  std::string text = "\nmilliseconds, before and now:\n";
  std::size_t width = 0;
  for (const ComparedRow& row : comparison.rows) width = std::max(width, (row.label + row.shape).size());
  for (const ComparedRow& row : comparison.rows) {
    text += fmt::format("{:<{}}{:>10.3f}{:>10.3f}   x {:.3f}   {} (noise {:.1f} %)\n", row.label + "  " + row.shape,
                        width + 4, row.oldMs, row.newMs, row.ratio(), wordOf(row.verdict), 100 * row.noise);
  }
  for (const std::string& note : comparison.notes) text += note + "\n";
  return text;
}

json toJson(const BenchComparison& comparison) {
  json rows = json::array();
  for (const ComparedRow& row : comparison.rows) {
    rows.push_back({{"label", row.label},
                    {"shape", row.shape},
                    {"old_ms", row.oldMs},
                    {"new_ms", row.newMs},
                    {"ratio", row.ratio()},
                    {"noise", row.noise},
                    {"verdict", wordOf(row.verdict)}});
  }
  return {{"rows", rows}, {"notes", comparison.notes}};
}

}  // namespace saccade::tool
