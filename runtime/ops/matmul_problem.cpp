// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul_problem.hpp"

#include "ops/common.hpp"

namespace saccade::core {
namespace {

// The kernels step over K in 32-bit integers.
constexpr uint32_t kMaxDepth = (uint32_t{1} << 31) - 1;

}  // namespace

MatmulProblem validateMatmul(const SaccadeMatmulDesc& desc) {
  checkStructSize(desc, "saccadeMatmulDescDefault");
  checkActivation(desc.activation);
  MatmulProblem problem;
  problem.a = checkInput(desc.a, "a", {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16}, Axes::Any);
  const SaccadeDtype dtype = problem.a.dtype;
  problem.b = checkInput(desc.b, "b", {dtype}, Axes::Any);
  problem.batch0 = problem.a.sizes[0];
  problem.batch1 = problem.a.sizes[1];
  problem.rows = problem.a.sizes[2];
  problem.columns = problem.b.sizes[2];
  problem.depth = problem.a.sizes[3];
  if (problem.b.sizes[3] != problem.depth) {
    refuse("b.sizes",
           "b.sizes[3] is {}, but a.sizes[3] is {}: both are K; b is [.., .., N, K], a weight stored as "
           "[K, N] is described by its strides",
           problem.b.sizes[3], problem.depth);
  }
  if (problem.depth > kMaxDepth) {
    refuse("a.sizes", "a.sizes[3] is {}; at most {} are possible", problem.depth, kMaxDepth);
  }
  const int64_t batch0 = problem.batch0, batch1 = problem.batch1;
  const int64_t rows = problem.rows, columns = problem.columns;
  broadcastTo(problem.b, "b", {batch0, batch1, columns, problem.depth});
  problem.out = checkOutput(desc.out, "out", {dtype}, {batch0, batch1, rows, columns});
  if (desc.bias.dtype != SACCADE_DTYPE_NONE) {
    problem.bias = checkInput(desc.bias, "bias", {dtype});
    requireSizes(problem.bias, "bias", {1, 1, 1, columns}, "N comes from b");
  }
  if (desc.residual.dtype != SACCADE_DTYPE_NONE) {
    problem.residual = checkInput(desc.residual, "residual", {dtype});
    if (problem.residual.sizes[3] != problem.columns) {
      refuse("residual.sizes", "residual.sizes[3] is {}; it must be {}, which is N",
             problem.residual.sizes[3], columns);
    }
    broadcastTo(problem.residual, "residual", {batch0, batch1, rows, columns});
  }
  problem.activation = desc.activation;
  problem.kernel = kernelName(desc.kernel);
  return problem;
}

}  // namespace saccade::core
