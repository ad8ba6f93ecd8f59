// SPDX-License-Identifier: Apache-2.0
#include "nn/projection.hpp"

namespace saccade::nn {

namespace {

// Whether the first two axes of [B, T, N] lie at one common distance, so that they are rows of a matrix.
bool areRows(const Tensor& tensor) {
  return tensor.size(0) == 1 || tensor.size(1) == 1 ||
         tensor.strides()[0] == tensor.size(1) * tensor.strides()[1];
}

Tensor asRows(const Tensor& tensor) {
  const std::int64_t distance = tensor.strides()[tensor.size(1) == 1 ? 0 : 1];
  return tensor.asStrided({tensor.size(0) * tensor.size(1), tensor.size(2)}, {distance, tensor.strides()[2]});
}

}  // namespace

void project(Stream& stream, const Linear& linear, const Tensor& x, const Tensor& out,
             const ProjectionOptions& options) {
  MatmulOptions matmul{.bias = linear.bias, .residual = options.residual, .activation = options.activation};
  if (areRows(x) && areRows(out) && (!options.residual || areRows(options.residual))) {
    if (matmul.residual) {
      matmul.residual = asRows(matmul.residual);
    }
    stream.matmul(asRows(x), linear.weight, asRows(out), matmul);
  } else {
    stream.matmul(x, linear.weight, out, matmul);
  }
}

LayerNormOptions normOptions(const LayerNorm& norm) {
  return {.weight = norm.weight, .bias = norm.bias, .epsilon = norm.epsilon};
}

Linear outputRange(const Linear& linear, std::int64_t begin, std::int64_t end) {
  return {linear.weight.slice(0, begin, end), linear.bias ? linear.bias.slice(0, begin, end) : Tensor{}};
}

}  // namespace saccade::nn
