// SPDX-License-Identifier: Apache-2.0
#include "kernels_plans.hpp"

#include "inspect/attention_descriptions.hpp"

namespace saccade::tool {

namespace {

// Of a ViT-Base: 197 tokens, 768 channels.
constexpr std::int64_t kRows = 197, kEmbedding = 768, kHidden = 3072;

TensorDesc matrix(Dtype dtype, std::int64_t rows, std::int64_t columns) { return {dtype, {1, 1, rows, columns}}; }

std::vector<NamedDescription> matmul(const std::string& kernel, Dtype dtype) {
  const MatmulDesc plain{
      .a = matrix(dtype, kRows, kEmbedding), .b = matrix(dtype, kHidden, kEmbedding), .kernel = kernel};
  MatmulDesc everything = plain;
  everything.bias = matrix(dtype, 1, kHidden);
  everything.residual = matrix(dtype, kRows, kHidden);
  everything.activation = Activation::Gelu;
  return {{"plain", plain}, {"everything", everything}};
}

}  // namespace

std::vector<NamedDescription> extremesOf(SaccadeOperator op, const std::string& kernel, Dtype dtype,
                                         std::int64_t headDim) {
  const TensorDesc x = matrix(dtype, kRows, kEmbedding), row = matrix(dtype, 1, kEmbedding);
  switch (op) {
    case SACCADE_OPERATOR_ATTENTION: {
      const AttentionDesc plain = inspect::plainAttention(kernel, dtype, headDim);
      return {{"plain", plain}, {"everything", inspect::everything(plain)}};
    }
    case SACCADE_OPERATOR_MATMUL:
      return matmul(kernel, dtype);
    case SACCADE_OPERATOR_LAYER_NORM:
      return {{"plain", LayerNormDesc{.x = x, .kernel = kernel}},
              {"everything", LayerNormDesc{.x = x, .weight = row, .bias = row, .kernel = kernel}}};
    case SACCADE_OPERATOR_SOFTMAX:
      return {{"plain", SoftmaxDesc{.x = x, .kernel = kernel}}};
    case SACCADE_OPERATOR_ACTIVATION:
      return {{"plain", ActivationDesc{.x = x, .activation = Activation::Gelu, .kernel = kernel}}};
    default:
      return {};
  }
}

}  // namespace saccade::tool
