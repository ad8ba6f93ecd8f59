// SPDX-License-Identifier: Apache-2.0
#include "bench_presets.hpp"

#include <algorithm>
#include <stdexcept>

namespace saccade::tool {

namespace {

AttentionShape square(std::string name, std::string standsFor, std::int64_t batch, std::int64_t heads,
                      std::int64_t seqlen, std::int64_t headDim = 64) {
  return {.name = std::move(name),
          .standsFor = std::move(standsFor),
          .batch = batch,
          .heads = heads,
          .headsKv = heads,
          .seqlenQ = seqlen,
          .seqlenK = seqlen,
          .headDim = headDim,
          .headDimV = headDim};
}

// 32 query heads on 8 of keys and values, as language models of 7 to 8 billion parameters have them.
AttentionShape grouped(std::string name, std::string standsFor, std::int64_t batch, std::int64_t seqlenQ,
                       std::int64_t seqlenK) {
  AttentionShape shape = square(std::move(name), std::move(standsFor), batch, 32, seqlenQ, 128);
  shape.headsKv = 8;
  shape.seqlenK = seqlenK;
  shape.causal = seqlenQ > 1 ? Causal::BottomRight : Causal::None;
  return shape;
}

AttentionShape causal(AttentionShape shape) {
  shape.causal = Causal::BottomRight;
  return shape;
}

AttentionShape padded(AttentionShape shape, std::vector<std::int32_t> lengths) {
  shape.lengths = std::move(lengths);
  return shape;
}

AttentionShape windowed(AttentionShape shape, std::int64_t left) {
  shape.windowLeft = left;
  return shape;
}

const AttentionShape kS1 = square("S1", "ViT-Tiny", 1, 3, 197);
const AttentionShape kS2 = square("S2", "ViT-Base", 1, 12, 197);
const AttentionShape kS3 = square("S3", "long", 1, 3, 1024);
const AttentionShape kS4 = causal(square("S4", "prefill", 1, 8, 2048));
const AttentionShape kS5 = square("S5", "large-heads", 1, 8, 1024, 128);
const AttentionShape kS6 = grouped("S6", "decode", 1, 1, 4096);
const AttentionShape kS7 =
    padded(square("S7", "padded-batch", 8, 12, 128), {128, 96, 64, 32, 128, 96, 64, 32});

const std::vector<MatmulShape> kVitProducts = {
    {.name = "ViT-Base-qkv", .m = 197, .n = 2304, .k = 768},
    {.name = "ViT-Base-fc1", .m = 197, .n = 3072, .k = 768},
    {.name = "ViT-Base-fc2", .m = 197, .n = 768, .k = 3072},
};
const std::vector<VitShape> kVits = {{.name = "tiny"},
                                     {.name = "small", .embedDim = 384, .heads = 6},
                                     {.name = "base", .embedDim = 768, .heads = 12}};

std::vector<MatmulShape> commonProducts() {
  std::vector<MatmulShape> products = {{.name = "square"}};
  products.insert(products.end(), kVitProducts.begin(), kVitProducts.end());
  products.push_back({.name = "one-token", .m = 1, .n = 4096, .k = 4096});
  return products;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      {.name = "common",
       .about = "S1 to S7, the layers around attention and whole Vision Transformers",
       .attention = {kS1, kS2, kS3, kS4, kS5, kS6, kS7},
       .matmul = commonProducts(),
       .layerNorm = {{.name = "ViT-Base"}, {.name = "long", .rows = 16384, .channels = 384}},
       .vit = kVits},
      {.name = "peers",
       .about = "S1 to S7: attention as other runtimes are compared on it",
       .attention = {kS1, kS2, kS3, kS4, kS5, kS6, kS7}},
      {.name = "vit",
       .about = "Vision Transformers: attention, its layers, whole models",
       .attention = {kS1, square("V1", "ViT-Small", 1, 6, 197), kS2, square("V2", "ViT-Large", 1, 16, 197),
                     square("V3", "DINOv2 ViT-S/14", 1, 6, 257), square("V4", "ViT-Base, 8 pictures", 8, 12, 197)},
       .matmul = kVitProducts,
       .layerNorm = {{.name = "ViT-Base"}},
       .vit = kVits},
      {.name = "llm-prefill",
       .about = "causal attention over prompts, grouped heads, a window, a chunk after a long prompt",
       .attention = {kS4, grouped("P1", "prompt of 512", 1, 512, 512), grouped("P2", "prompt of 2048", 1, 2048, 2048),
                     windowed(grouped("P3", "window of 1024", 1, 4096, 4096), 1023),
                     grouped("P4", "chunk after a prompt", 1, 256, 4096)}},
      {.name = "llm-decode",
       .about = "one query per head over a cache of keys and values",
       .attention = {kS6, grouped("D1", "short cache", 1, 1, 1024), grouped("D2", "long cache", 1, 1, 16384),
                     grouped("D3", "4 guessed tokens", 1, 4, 4096),
                     padded(grouped("D4", "8 users", 8, 1, 2048), {2048, 1536, 1024, 512, 2048, 1536, 1024, 512})}},
      {.name = "padded",
       .about = "batches of unequal lengths, and the same batch without padding for comparison",
       .attention = {kS7, square("B1", "S7, all full", 8, 12, 128),
                     padded(square("B2", "one long text", 8, 12, 512), {512, 64, 64, 64, 64, 64, 64, 64}),
                     padded(causal(square("B3", "prompts", 4, 8, 1024)), {1024, 768, 512, 256})}},
  };
  return all;
}

const Preset& presetNamed(const std::string& name) {
  const auto found = std::find_if(presets().begin(), presets().end(),
                                  [&](const Preset& preset) { return preset.name == name; });
  if (found == presets().end()) {
    throw std::out_of_range("no preset is called " + name);
  }
  return *found;
}

}  // namespace saccade::tool
