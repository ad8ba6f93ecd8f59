// SPDX-License-Identifier: Apache-2.0

#include <mutex>
#include <saccade/nn.hpp>
#include <utility>

#include "io/position_embedding.hpp"
#include "nn/checks.hpp"
#include "nn/projection.hpp"
#include "text/formatted.hpp"

namespace saccade::nn {

namespace {

// Positions for a grid of patches, on the device.
struct Positions {
  Tensor classRow;  // [1, 1, E]: class token plus its position
  Tensor patches;   // [1, N, E]
};

struct Grid {
  std::int64_t rows = 0, columns = 0;
  auto operator<=>(const Grid&) const = default;
};

}  // namespace

struct Vit::State {
  Device device;
  VitConfig config;
  VitWeights weights;

  mutable std::mutex mutex;
  mutable std::map<Grid, Positions> positions;  // of the sizes that have been asked for

  Positions positionsFor(const Grid& grid) const;
};

Positions Vit::State::positionsFor(const Grid& grid) const {
  const std::lock_guard lock(mutex);
  Positions& entry = positions[grid];
  if (!entry.patches) {
    const std::vector<double> stored(weights.positions.begin(), weights.positions.end());
    const std::vector<double> resized = io::resizePositionEmbedding(
        stored, config.imageSize / config.patchSize, config.embedDim, grid.rows, grid.columns);
    std::vector<float> values(resized.begin(), resized.end());
    for (std::size_t channel = 0; channel < weights.classToken.size(); ++channel) {
      values[channel] = static_cast<float>(resized[channel] + weights.classToken[channel]);
    }
    const std::int64_t tokens = 1 + grid.rows * grid.columns;
    const Tensor all = Tensor::from(device, weights.patch.weight.dtype(), {1, tokens, config.embedDim}, values);
    entry = {all.slice(1, 0, 1), all.slice(1, 1, tokens)};
  }
  return entry;
}

Vit::Vit(const Device& device, VitConfig config, VitWeights weights) {
  const std::int64_t dim = config.embedDim;
  requireShape(weights.patch.weight, "patch.weight", {dim, config.channels, config.patchSize, config.patchSize});
  if (config.patchSize < 1 || config.imageSize < config.patchSize || config.imageSize % config.patchSize != 0) {
    refuse("imageSize", std::to_string(config.imageSize),
           formatted("it must be a multiple of the patch size {}", config.patchSize));
  }
  const std::int64_t side = config.imageSize / config.patchSize;
  const auto requireValues = [](const std::vector<float>& values, const std::string& field, std::int64_t count) {
    if (values.size() != static_cast<std::size_t>(count)) {
      refuse(field, formatted("a list of {} values", values.size()), formatted("{} are needed", count));
    }
  };
  requireValues(weights.classToken, "classToken", dim);
  requireValues(weights.positions, "positions", (1 + side * side) * dim);
  requireShape(weights.norm.weight, "norm.weight", {dim});
  if (weights.blocks.size() != static_cast<std::size_t>(config.depth) || config.depth < 1) {
    refuse("blocks", std::to_string(weights.blocks.size()), formatted("the depth is {}, at least 1", config.depth));
  }
  if (config.numClasses > 0) {
    requireLinear(weights.head, "head", config.numClasses, dim);
  }
  state_ = std::shared_ptr<State>(new State{device, std::move(config), std::move(weights), {}, {}});
}

const VitConfig& Vit::config() const noexcept { return state_->config; }

Dtype Vit::dtype() const noexcept { return state_->weights.patch.weight.dtype(); }

void Vit::checkCall(const Tensor& images, const VitOutputs& outputs) const {
  const VitConfig& config = state_->config;
  requireShape(images, "images", {-1, config.channels, -1, -1});
  for (const int axis : {2, 3}) {
    if (images.size(axis) < config.patchSize || images.size(axis) % config.patchSize != 0) {
      refuse("images", shapeText(images.shape()),
             formatted("height and width must be multiples of the patch size {}", config.patchSize));
    }
  }
  const std::int64_t batch = images.size(0);
  const std::int64_t tokens = 1 + (images.size(2) / config.patchSize) * (images.size(3) / config.patchSize);
  const auto check = [](const Tensor& tensor, const std::string& field, const Shape& shape) {
    if (tensor) {
      requireShape(tensor, field, shape);
    }
  };
  if (outputs.logits && config.numClasses == 0) {
    refuse("logits", "asked for", "this model has no head");
  }
  check(outputs.logits, "logits", {batch, config.numClasses});
  check(outputs.features, "features", {batch, config.embedDim});
  check(outputs.tokens, "tokens", {batch, tokens, config.embedDim});
  check(outputs.classAttention, "classAttention", {batch, config.numHeads, tokens});
  check(outputs.states, "states", {config.depth + 1, batch, tokens, config.embedDim});
  for (const auto& [block, probs] : outputs.probs) {
    if (block < 0 || block >= config.depth) {
      refuse("probs", formatted("for block {}", block),
             formatted("the model has blocks 0 .. {}", config.depth - 1));
    }
    check(probs, "probs", {batch, config.numHeads, tokens, tokens});
  }
}

void Vit::forward(Stream& stream, Workspace& workspace, const Tensor& images, const VitOutputs& outputs,
                  const std::string& attentionKernel) const {
  checkCall(images, outputs);
  const VitConfig& config = state_->config;
  const VitWeights& weights = state_->weights;
  const std::int64_t batch = images.size(0);
  const Grid grid{images.size(2) / config.patchSize, images.size(3) / config.patchSize};
  const std::int64_t tokens = 1 + grid.rows * grid.columns;

  const Positions positions = state_->positionsFor(grid);
  const Tensor x = workspace.tensor("vit.tokens", dtype(), {batch, tokens, config.embedDim});
  stream.copy(x.slice(1, 0, 1), positions.classRow.expand({batch, 1, config.embedDim}));
  stream.patchEmbed(images, weights.patch.weight, x.slice(1, 1, tokens).unsqueeze(1),
                    {.bias = weights.patch.bias, .residual = positions.patches.unsqueeze(1)});
  const auto keepState = [&](std::int64_t index) {
    if (outputs.states) {
      stream.copy(outputs.states.select(0, index), x);
    }
  };
  keepState(0);

  const auto probsOf = [&](std::int64_t block) {
    const auto found = outputs.probs.find(block);
    return found == outputs.probs.end() ? Tensor{} : found->second;
  };
  const std::int64_t last = config.depth - 1;
  for (std::int64_t block = 0; block < last; ++block) {
    weights.blocks[block].forward(stream, workspace, x, x, {.probs = probsOf(block), .kernel = attentionKernel});
    keepState(block + 1);
  }

  // The last block's other rows matter to nobody who wants the class token alone.
  if (outputs.logits || outputs.features || outputs.classAttention) {
    const Tensor classToken = workspace.tensor("vit.class", dtype(), {batch, 1, config.embedDim});
    weights.blocks[last].forward(
        stream, workspace, x, classToken,
        {.probs = outputs.classAttention ? outputs.classAttention.unsqueeze(2) : Tensor{}, .queryEnd = 1,
         .kernel = attentionKernel});
    const Tensor features = outputs.features ? outputs.features.unsqueeze(1)
                                             : workspace.tensor("vit.features", dtype(), classToken.shape());
    if (outputs.logits || outputs.features) {
      stream.layerNorm(classToken, features, normOptions(weights.norm));
    }
    if (outputs.logits) {
      project(stream, weights.head, features, outputs.logits.unsqueeze(1));
    }
  }
  if (outputs.tokens || outputs.states || probsOf(last)) {
    weights.blocks[last].forward(stream, workspace, x, x, {.probs = probsOf(last), .kernel = attentionKernel});
    keepState(config.depth);
    if (outputs.tokens) {
      stream.layerNorm(x, outputs.tokens, normOptions(weights.norm));
    }
  }
}

}  // namespace saccade::nn
