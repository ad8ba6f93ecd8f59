// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <saccade/nn.hpp>

namespace saccade::nn {

struct ProjectionOptions {
  Tensor residual = {};  // of the shape of out
  Activation activation = Activation::None;
};

// out = residual + activation(x weight^T + bias) with x [B, T, inputs] and out [B, T, outputs], of any
// strides. Batch entries and tokens become the rows of one matrix where the strides allow it.
void project(Stream& stream, const Linear& linear, const Tensor& x, const Tensor& out,
             const ProjectionOptions& options = {});

LayerNormOptions normOptions(const LayerNorm& norm);

// Outputs begin .. end-1 alone; shares the memory.
Linear outputRange(const Linear& linear, std::int64_t begin, std::int64_t end);

}  // namespace saccade::nn
