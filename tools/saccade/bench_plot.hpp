// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// Line plots on logarithmic axes, as SVG.

namespace saccade::tool {

struct PlotPoint {
  double x = 0, y = 0;    // > 0
  std::string label = {};  // beside the point
};

struct PlotSeries {
  std::string name;  // in the legend; empty: not there
  std::string colour;
  std::vector<PlotPoint> points;  // joined from left to right
  bool line = true, dashed = false, markers = true;
};

struct PlotPanel {
  std::string title, xTitle, yTitle;
  std::vector<PlotSeries> series;
  bool xPowersOfTwo = false;  // ticks at 128, 256, ... in place of 100, 1000, ...
  bool legendBelow = false;   // at the lower right, for lines that rise early
};

// Panels beside each other, above one caption.
std::string plotSvg(const std::vector<PlotPanel>& panels, const std::string& caption);

}  // namespace saccade::tool
