// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_workload.hpp"

// What `saccade tune` measures.

namespace saccade::tool {

struct TuneShape {
  std::string name, dtypeName;
  std::function<std::unique_ptr<Workload>(const Device&)> make;
};

struct TuneShapeOptions {
  bool quick = false;
  std::vector<io::DType> dtypes;  // none: f32 and f16, or f32 alone if quick
  AttentionShape attention{.name = "attention"};
  bool lengths = false;  // of the attention: see --lengths
  std::int64_t seqlen = 0;  // both sides
  MatmulShape matmul{.name = "matmul"};
};

void addTuneShapeOptions(CLI::App& command, TuneShapeOptions& options);

// The shape that stands on the command line, else common ones.
std::vector<TuneShape> tuneShapes(const CLI::App& command, const TuneShapeOptions& options);

}  // namespace saccade::tool
