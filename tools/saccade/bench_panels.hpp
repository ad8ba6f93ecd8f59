// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_plot.hpp"
#include "bench_report.hpp"

namespace saccade::tool {

// The SVG of a report: of a sweep time and memory against the sequence length, of any other the roofline of the
// device with the rows as points.
std::string reportSvg(const BenchReport& report);

}  // namespace saccade::tool
