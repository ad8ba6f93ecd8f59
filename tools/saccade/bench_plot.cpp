// SPDX-License-Identifier: Apache-2.0
#include "bench_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace saccade::tool {

namespace {

constexpr double kPanelWidth = 560, kPanelHeight = 460;
constexpr double kLeft = 76, kRight = 24, kTop = 48, kBottom = 64, kCaption = 36;
constexpr const char* kPlotInk = "#1f2328";
constexpr const char* kGrid = "#e3e6ea";

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') safe += "&amp;";
    else if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '"') safe += "&quot;";
    else safe += c;
  }
  return safe;
}

// A logarithmic axis from one tick to another.
class Axis {
 public:
  Axis(double low, double high, double base, double from, double to) : base_(base), from_(from), to_(to) {
    first_ = std::floor(std::log(low) / std::log(base) + 1e-9);
    last_ = std::max(std::ceil(std::log(high) / std::log(base) - 1e-9), first_ + 1);
  }
  double at(double value) const {
    return from_ + (to_ - from_) * (std::log(value) / std::log(base_) - first_) / (last_ - first_);
  }
  std::vector<double> ticks() const {
    std::vector<double> values;
    for (double exponent = first_; exponent <= last_; ++exponent) values.push_back(std::pow(base_, exponent));
    return values;
  }

 private:
  double base_, from_, to_, first_, last_;
};

// 1000000 as "1M", 0.001 as "0.001"; of powers of two 131072 as "128K".
std::string tickText(double value, bool powersOfTwo) {
  const double kilo = powersOfTwo ? 1024 : 1000;
  const char* suffixes[] = {"", powersOfTwo ? "K" : "k", "M", "G"};
  std::size_t i = 0;
  while (value >= kilo && i < 3) {
    value /= kilo;
    ++i;
  }
  return fmt::format("{:.6g}{}", value, suffixes[i]);
}

std::string textAt(double x, double y, const char* attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, escaped(text));
}

std::string axesSvg(const PlotPanel& panel, const Axis& x, const Axis& y) {
  const double right = kPanelWidth - kRight, bottom = kPanelHeight - kBottom;
  std::string svg;
  for (const double tick : x.ticks()) {
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\"/>\n",
                       x.at(tick), kTop, bottom, kGrid);
    svg += textAt(x.at(tick), bottom + 18, "text-anchor=\"middle\"", tickText(tick, panel.xPowersOfTwo));
  }
  for (const double tick : y.ticks()) {
    svg += fmt::format("<line x1=\"{1:.1f}\" y1=\"{0:.1f}\" x2=\"{2:.1f}\" y2=\"{0:.1f}\" stroke=\"{3}\"/>\n",
                       y.at(tick), kLeft, right, kGrid);
    svg += textAt(kLeft - 8, y.at(tick) + 4, "text-anchor=\"end\"", tickText(tick, false));
  }
  svg += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"{}\"/>\n", kLeft, kTop, bottom,
                     right, kPlotInk);
  svg += textAt((kLeft + right) / 2, bottom + 44, "text-anchor=\"middle\"", panel.xTitle);
  svg += fmt::format("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (kTop + bottom) / 2, escaped(panel.yTitle));
  svg += textAt(kLeft, kTop - 20, "font-size=\"16\" font-weight=\"600\"", panel.title);
  return svg;
}

std::string seriesSvg(const PlotSeries& series, const Axis& x, const Axis& y) {
  std::string svg, path;
  for (const PlotPoint& point : series.points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(point.x), y.at(point.y));
  }
  if (series.line && series.points.size() > 1) {
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, series.colour,
                       series.dashed ? " stroke-dasharray=\"6 4\"" : "");
  }
  for (const PlotPoint& point : series.points) {
    if (series.markers) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" stroke=\"{}\"/>\n", x.at(point.x),
                         y.at(point.y), series.dashed ? "#ffffff" : series.colour, series.colour);
    }
    if (!point.label.empty()) svg += textAt(x.at(point.x) + 7, y.at(point.y) + 14, "font-size=\"12\"", point.label);
  }
  return svg;
}

std::string legendSvg(const PlotPanel& panel) {
  constexpr double kLine = 19;
  const auto named = std::count_if(panel.series.begin(), panel.series.end(),
                                   [](const PlotSeries& series) { return !series.name.empty(); });
  const double x = panel.legendBelow ? kLeft + 30 : kLeft + 12;
  double y = panel.legendBelow ? kPanelHeight - kBottom - kLine * static_cast<double>(named) + 8 : kTop + 16;
  std::string svg;
  for (const PlotSeries& series : panel.series) {
    if (series.name.empty()) continue;
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"{3}\" "
                       "stroke-width=\"2\"{4}/>\n",
                       x, y - 4, x + 28, series.colour,
                       series.dashed ? " stroke-dasharray=\"6 4\"" : "");
    svg += textAt(x + 36, y, "", series.name);
    y += kLine;
  }
  return svg;
}

std::string panelSvg(const PlotPanel& panel) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  double lowX = kLargest, lowY = kLargest, highX = 0, highY = 0;
  for (const PlotSeries& series : panel.series) {
    for (const PlotPoint& point : series.points) {
      lowX = std::min(lowX, point.x);
      highX = std::max(highX, point.x);
      lowY = std::min(lowY, point.y);
      highY = std::max(highY, point.y);
    }
  }
  if (highX == 0) {
    lowX = lowY = 1;
    highX = highY = 10;
  }
  const Axis x(lowX, highX, panel.xPowersOfTwo ? 2 : 10, kLeft, kPanelWidth - kRight);
  if (panel.legendBelow) lowY /= 4;  // room for it
  const Axis y(lowY, highY, 10, kPanelHeight - kBottom, kTop);
  std::string svg = axesSvg(panel, x, y);
  for (const PlotSeries& series : panel.series) svg += seriesSvg(series, x, y);
  return svg + legendSvg(panel);
}

}  // namespace

std::string plotSvg(const std::vector<PlotPanel>& panels, const std::string& caption) {
  const double width = kPanelWidth * static_cast<double>(panels.size()), height = kPanelHeight + kCaption;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"{2}\">\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n",
      width, height, kPlotInk);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    svg += fmt::format("<g transform=\"translate({:.0f} 0)\">\n{}</g>\n", kPanelWidth * static_cast<double>(i),
                       panelSvg(panels[i]));
  }
  return svg + textAt(16, height - 14, "font-size=\"11\" fill=\"#57606a\"", caption) + "</svg>\n";
}

}  // namespace saccade::tool
