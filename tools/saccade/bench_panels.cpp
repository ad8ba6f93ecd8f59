// SPDX-License-Identifier: Apache-2.0
#include "bench_panels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace saccade::tool {

namespace {

constexpr const char* kColours[] = {"#0969da", "#bc4c00", "#1a7f37", "#8250df", "#9a6700", "#cf222e"};
constexpr const char* kPanelInk = "#57606a";

PlotPanel rooflinePanel(const BenchReport& report) {
  PlotPanel panel{.title = "Roofline",
                  .xTitle = "arithmetic intensity, floating-point operations per byte",
                  .yTitle = "GFLOP/s",
                  .series = {},
                  .legendBelow = true};
  double low = 1e300, high = 0;
  std::vector<PlotSeries> rows;
  for (const BenchRow& row : report.rows) {
    if (!row.skipped.empty()) continue;
    const double intensity = row.usefulFlops / row.bytes;
    low = std::min(low, intensity);
    high = std::max(high, intensity);
    auto series = std::find_if(rows.begin(), rows.end(), [&](const PlotSeries& s) { return s.name == row.op; });
    if (series == rows.end()) {
      series = rows.insert(rows.end(), {.name = row.op,
                                        .colour = kColours[rows.size() % std::size(kColours)],
                                        .points = {},
                                        .line = false});
    }
    series->points.push_back({intensity, row.usefulGflops(), row.name});
  }
  if (report.limits && !rows.empty()) {
    const io::DType dtype = report.rows.front().dtype;
    const double flops = report.limits->gflops(dtype), bandwidth = report.limits->gbytesPerSecond();
    const double ridge = flops / bandwidth;
    low = std::min(low, ridge / 4);
    high = std::max(high, ridge * 4);
    panel.series.push_back({.name = fmt::format("{:.3g} GB/s of memory, {:.4g} GFLOP/s of {}", bandwidth, flops,
                                                report.limits->unitOf(dtype)),
                            .colour = kPanelInk,
                            .points = {{low, low * bandwidth}, {ridge, flops}, {high, flops}},
                            .markers = false});
  }
  panel.series.insert(panel.series.end(), rows.begin(), rows.end());
  return panel;
}

// One value of every row against its sequence length, a line for each series: a colour for each mask, dashes where
// scores are in memory.
template <typename Value>
std::vector<PlotSeries> sweepSeries(const BenchReport& report, Value value) {
  std::vector<PlotSeries> all;
  std::vector<std::string> masks;
  for (const BenchRow& row : report.rows) {
    if (row.seqlen == 0 || !row.skipped.empty() || value(row) <= 0) continue;
    auto series = std::find_if(all.begin(), all.end(), [&](const PlotSeries& s) { return s.name == row.name; });
    if (series == all.end()) {
      const std::string mask = row.name.substr(0, row.name.find(','));
      const auto known = std::find(masks.begin(), masks.end(), mask);
      const auto colour = static_cast<std::size_t>(known - masks.begin());
      if (known == masks.end()) masks.push_back(mask);
      series = all.insert(all.end(), {.name = row.name,
                                      .colour = kColours[colour % std::size(kColours)],
                                      .points = {},
                                      .dashed = !row.fused});
    }
    series->points.push_back({static_cast<double>(row.seqlen), value(row)});
  }
  return all;
}

}  // namespace

std::string reportSvg(const BenchReport& report) {
  const std::string caption = report.device + "; " + report.driver;
  const bool sweep = std::any_of(report.rows.begin(), report.rows.end(),
                                 [](const BenchRow& row) { return row.seqlen != 0; });
  if (!sweep) return plotSvg({rooflinePanel(report)}, caption);
  constexpr const char* kTokens = "sequence length, tokens";
  return plotSvg(
      {{.title = "Time",
        .xTitle = kTokens,
        .yTitle = "milliseconds",
        .series = sweepSeries(report, [](const BenchRow& row) { return row.times.median(false); }),
        .xPowersOfTwo = true},
       {.title = "Device memory, inputs and outputs included",
        .xTitle = kTokens,
        .yTitle = "MiB",
        .series = sweepSeries(report,
                              [](const BenchRow& row) {
                                return (row.bytes + static_cast<double>(row.extraBytes)) / 1048576.0;
                              }),
        .xPowersOfTwo = true}},
      caption);
}

}  // namespace saccade::tool
