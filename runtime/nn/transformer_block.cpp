// SPDX-License-Identifier: Apache-2.0
#include <saccade/nn.hpp>

#include "nn/checks.hpp"
#include "nn/projection.hpp"

namespace saccade::nn {

void TransformerBlock::forward(Stream& stream, Workspace& workspace, const Tensor& x, const Tensor& out,
                               const MultiheadAttentionOptions& options) const {
  requireShape(x, "x", {-1, -1, norm1.weight.size(0)});
  if (options.residual) {
    refuse("residual", "given", "a block adds its own input");
  }
  const std::int64_t batch = x.size(0);
  const std::int64_t dim = x.size(2);

  const Tensor normed = workspace.tensor("block.norm", x.dtype(), x.shape());
  stream.layerNorm(x, normed, normOptions(norm1));

  MultiheadAttentionOptions attentionOptions = options;
  attentionOptions.residual = x.slice(1, options.queryBegin, options.queryEnd == -1 ? x.size(1) : options.queryEnd);
  const std::int64_t tokens = attentionOptions.residual.size(1);
  const Tensor middle = workspace.tensor("block.middle", x.dtype(), {batch, tokens, dim});
  attention.forward(stream, workspace, normed, middle, attentionOptions);

  const Tensor normedMiddle = workspace.tensor("block.norm", x.dtype(), middle.shape());
  stream.layerNorm(middle, normedMiddle, normOptions(norm2));
  const Tensor hidden = workspace.tensor("block.hidden", x.dtype(), {batch, tokens, fc1.weight.size(0)});
  project(stream, fc1, normedMiddle, hidden, {.activation = activation});
  project(stream, fc2, hidden, out, {.residual = middle});
}

}  // namespace saccade::nn
