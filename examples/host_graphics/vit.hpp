// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <saccade/saccade.hpp>
#include "common/weights.hpp"

// A Vision Transformer with timm's names, recorded with Saccade into the host's command buffer: from the patches of a picture
// and the class token, which the host writes, to the class token's attention in the last block and the logits.
class Vit {
 public:
  Vit(example::Gpu& gpu, const saccade::Context& context, const example::Weights& weights)
      : gpu_(gpu), context_(context), weights_(weights) {
    const auto& patch = weights["patch_embed.proj.weight"];
    dim = patch.rows(), channels = patch.dimension(1), patchSize = patch.dimension(2);
    tokenCount = weights["pos_embed"].dimension(1), gridSize = static_cast<std::uint32_t>(std::sqrt(tokenCount - 1.0));
    heads = weights.count("num_heads");
    const bool square = patchSize == patch.dimension(3) && gridSize * gridSize == tokenCount - 1;
    if (!square || (channels != 1 && channels != 3) || weights["cls_token"].size != 4 * dim) {
      throw std::runtime_error("the model is no ViT of square grey or RGB pictures with square patches and a class token");
    }
    patches = gpu.floats(tokenCount - 1, patch.columns()), tokens = gpu.floats(tokenCount, dim);
    probs = gpu.floats(heads, tokenCount), logits = gpu.floats(1, weights["head.weight"].rows());
    const auto normed = gpu.floats(tokenCount, dim), qkv = gpu.floats(tokenCount, 3 * dim), mixed = gpu.floats(tokenCount, dim);
    const auto hidden = gpu.floats(tokenCount, weights["blocks.0.mlp.fc1.weight"].rows());

    const VkDeviceSize row = 4 * dim;  // patches are the tokens after the first
    matmul(range(patches), "patch_embed.proj", range(tokens, row), tokenCount - 1, range(weights["pos_embed"], row));
    for (std::uint32_t i = 0, depth = weights.count("depth"); i < depth; ++i) {
      const std::string block = "blocks." + std::to_string(i) + ".";
      const std::uint32_t rows = i + 1 < depth ? tokenCount : 1;  // the last block is needed for the class token alone
      layerNorm(tokens, block + "norm1", normed, tokenCount);
      matmul(range(normed), block + "attn.qkv", range(qkv), tokenCount);
      attention(qkv, mixed, rows, i + 1 == depth);
      matmul(range(mixed), block + "attn.proj", range(tokens), rows, range(tokens));
      layerNorm(tokens, block + "norm2", normed, rows);
      matmul(range(normed), block + "mlp.fc1", range(hidden), rows, {}, saccade::Activation::Gelu);
      matmul(range(hidden), block + "mlp.fc2", range(tokens), rows, range(tokens));
    }
    layerNorm(tokens, "norm", normed, 1);
    matmul(range(normed), "head", range(logits), 1);
  }

  // Every operator sees what the one before has written, the first one what a compute shader of the host has.
  void record(VkCommandBuffer commands) const {
    for (const auto& step : steps_) {
      example::memoryBarrier(commands, example::kComputeStage, VK_ACCESS_2_SHADER_WRITE_BIT, example::kComputeStage,
                             VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT);
      step(commands);
    }
  }

  std::uint32_t dim, channels, patchSize, tokenCount, gridSize, heads;
  // [tokenCount - 1, channels * patchSize^2], [tokenCount, dim], [heads, tokenCount], [1, classes], all fp32
  example::Buffer patches, tokens, probs, logits;

 private:
  using Range = saccade::BufferRange;
  using Shape = saccade::TensorDesc;
  static Range range(const auto& memory, VkDeviceSize skip = 0) { return {memory.address + skip, memory.size - skip}; }

  template <typename Desc, typename Buffers>
  void add(const Desc& desc, Buffers buffers) {
    const auto plan = std::make_shared<saccade::Plan>(context_.plan(desc));
    if constexpr (requires { buffers.scratch; }) {
      if (const auto bytes = plan->info().scratchBytes; bytes > 0) buffers.scratch = range(gpu_.buffer(bytes));
    }
    steps_.push_back([plan, buffers](VkCommandBuffer commands) { plan->record(commands, buffers); });
  }

  void layerNorm(const example::Buffer& x, const std::string& name, const example::Buffer& out, std::uint32_t rows) {
    const Shape vector{.sizes = {1, 1, 1, dim}};
    const float epsilon = weights_.numbers("epsilon", 1)[0];
    add(saccade::LayerNormDesc{.x = {.sizes = {1, 1, rows, dim}}, .weight = vector, .bias = vector, .epsilon = epsilon},
        saccade::LayerNormBuffers{range(x), range(weights_[name + ".weight"]), range(weights_[name + ".bias"]), range(out)});
  }

  // out = residual + activation(x weight^T + bias)
  void matmul(Range x, const std::string& name, Range out, std::uint32_t rows, Range residual = {},
              saccade::Activation activation = saccade::Activation::None) {
    const auto& weight = weights_[name + ".weight"];
    const std::int64_t outputs = weight.rows(), inputs = weight.columns();
    saccade::MatmulDesc desc{.a = {.sizes = {1, 1, rows, inputs}}, .b = {.sizes = {1, 1, outputs, inputs}},
                             .bias = Shape{.sizes = {1, 1, 1, outputs}}, .activation = activation};
    if (residual.size > 0) desc.residual = Shape{.sizes = {1, 1, rows, outputs}};
    add(desc, saccade::MatmulBuffers{x, range(weight), range(weights_[name + ".bias"]), residual, out});
  }

  // Query, key and value are views of one projection [tokenCount, 3 * dim]; of each, head h owns headDim channels.
  void attention(const example::Buffer& qkv, const example::Buffer& out, std::uint32_t rows, bool withProbs) {
    const std::int64_t headDim = dim / heads, row = 3 * dim;
    const Shape keys{.sizes = {1, heads, tokenCount, headDim}, .strides = {tokenCount * row, headDim, row, 1}};
    saccade::AttentionDesc desc{.q = keys, .k = keys, .v = keys};
    desc.q.sizes[2] = rows;
    desc.out = Shape{.sizes = {1, heads, rows, headDim}, .strides = {rows * dim, headDim, dim, 1}};
    if (withProbs) desc.probs = Shape{.sizes = {1, heads, rows, tokenCount}};
    add(desc, saccade::AttentionBuffers{.q = range(qkv), .k = range(qkv, 4 * dim), .v = range(qkv, 8 * dim),
                                        .out = range(out), .probs = range(probs)});
  }

  example::Gpu& gpu_;
  const saccade::Context& context_;
  const example::Weights& weights_;
  std::vector<std::function<void(VkCommandBuffer)>> steps_;
};
