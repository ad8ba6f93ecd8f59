// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_workload.hpp"

namespace saccade::tool {

// Shapes that are measured together.
struct Preset {
  std::string name;
  std::string about;  // for --help
  std::vector<AttentionShape> attention = {};
  std::vector<MatmulShape> matmul = {};
  std::vector<LayerNormShape> layerNorm = {};
  std::vector<VitShape> vit = {};
};

// "common", what is measured when nothing is asked for, comes first. The sweep is in bench_sweep.hpp.
const std::vector<Preset>& presets();

// Throws std::out_of_range for a name that presets() lacks.
const Preset& presetNamed(const std::string& name);

}  // namespace saccade::tool
