// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench_workload.hpp"
#include "globals.hpp"

namespace saccade::tool {

constexpr const char* kSweep = "sweep";  // the preset that measureSweep runs

// What `saccade bench` was asked for.
struct BenchOptions {
  std::string what;               // an operator; empty: all of the preset
  std::string preset = "common";  // one of presets(), or "sweep"
  std::vector<std::string> only;  // names of shapes; empty: all
  io::DType dtype = io::DType::F32;
  int repeat = 11, warmup = 3;
  double budgetSeconds = 0;  // for the whole run; 0: none
  bool csv = false, markdown = false;
  std::string compare, plot;  // files; empty: none
  double tolerance = 10;      // percent that --compare lets pass
  bool limits = true;  // measure the device's own first

  // Shapes from the command line; each replaces those of the preset where `custom` says so.
  AttentionShape attention{.name = "custom"};
  MatmulShape matmul{.name = "custom"};
  LayerNormShape layerNorm{.name = "custom"};
  bool customAttention = false, customMatmul = false, customLayerNorm = false;
  std::int64_t batch = 0;  // 0: that of the shape
  std::string model;       // empty: all
};

// Declares the options of the sub-command; they hold what was asked for once finishBenchOptions has run.
void addBenchOptions(CLI::App& command, Globals& globals, BenchOptions& options);

// Fills in what depends on several options. Throws UsageError.
void finishBenchOptions(const CLI::App& command, BenchOptions& options);

}  // namespace saccade::tool
