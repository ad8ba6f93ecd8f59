// SPDX-License-Identifier: Apache-2.0
// Which kernel computes a matrix product, and with which tiles.
#pragma once

#include "kernels/choose.hpp"
#include "kernels/matrix_shape.hpp"
#include "ops/matmul_problem.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::core {

struct MatmulTile {
  uint32_t localSize;              // invocations per work-group
  uint32_t rows, columns;          // per work-group
  uint32_t rowsEach, columnsEach;  // per invocation
  uint32_t chunk;                  // depth per step
  uint32_t exchanged = 0;          // 1: b takes the part of a: out^T = b a^T
  // Of matmul_coopmat, whose rowsEach and columnsEach are matrices of a subgroup.
  MatrixShape matrix{};
  uint32_t subgroupsDown = 0, subgroupsAcross = 0;  // of a work-group, along its rows and columns
};

struct MatmulChoice {
  const char* kernel;
  MatmulTile tile;
  std::string tileText;  // kernel and tile as a description may ask for them
  std::string reason;
};

// As for attention (attention/choice.hpp).
MatmulChoice chooseMatmul(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& forced,
                          const TuningTable& tuning = {});
std::string tuningKey(const MatmulProblem& problem);
std::vector<std::string> matmulCandidates(const DeviceFacts& facts, const MatmulProblem& problem);
VariantInfo matmulVariantInfo(const DeviceFacts& facts, const MatmulProblem& problem, const std::string& kernel);
std::string matmulRequestRefusal(const DeviceFacts& facts, const KernelRequest& request);

}  // namespace saccade::core
