// SPDX-License-Identifier: Apache-2.0
// Which kernel computes a matrix product, and with which tiles.
#pragma once

#include "kernels/registry.hpp"
#include "ops/matmul_problem.hpp"

namespace saccade::core {

struct MatmulTile {
  uint32_t localSize;              // invocations per work-group
  uint32_t rows, columns;          // per work-group
  uint32_t rowsEach, columnsEach;  // per invocation
  uint32_t chunk;                  // depth per step
  bool exchanged = false;          // b takes the part of a: out^T = b a^T
};

struct MatmulChoice {
  const char* kernel;
  MatmulTile tile;
  std::string reason;
};

MatmulChoice chooseMatmul(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& forced);

}  // namespace saccade::core
