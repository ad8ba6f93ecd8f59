// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/tensor_data.hpp"

// What the case format defines for each operator: the tables of tests/cases/README.md as data.

namespace saccade::io {

struct OperatorFormat {
  std::map<std::string, std::vector<DType>> inputs;
  std::set<std::string> expected;
  // The words a key may have as value; no words: any value.
  std::map<std::string, std::vector<std::string>> metadata;
  // A model's weights are inputs under names such as "blocks.3.norm1.weight".
  bool hasVitWeights = false;
};

// nullptr for an operator that the format does not define.
const OperatorFormat* operatorFormat(const std::string& op);

// Whether a VisionTransformer's state dict may have a tensor of that name.
bool isVitWeightName(const std::string& name);

}  // namespace saccade::io
