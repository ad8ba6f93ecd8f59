// SPDX-License-Identifier: Apache-2.0
// The matrix product after validation. Every size and stride is filled in, broadcasting is stride 0.
#pragma once

#include <string>

#include "plan/tensor.hpp"

namespace saccade::core {

struct MatmulProblem {
  uint32_t batch0 = 0, batch1 = 0;
  uint32_t rows = 0, columns = 0, depth = 0;  // M, N, K
  Tensor a, b, out;
  Tensor bias, residual;  // absent: !present()
  SaccadeActivation activation = SACCADE_ACTIVATION_NONE;
  std::string kernel;

  // Nothing to write: a successful no-op.
  bool empty() const { return batch0 == 0 || batch1 == 0 || rows == 0 || columns == 0; }
};

MatmulProblem validateMatmul(const SaccadeMatmulDesc& desc);

}  // namespace saccade::core
