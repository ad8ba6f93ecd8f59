// SPDX-License-Identifier: Apache-2.0
#include "bench_workload.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace saccade::tool {

std::vector<AttentionShape> defaultAttentionShapes() {
  return {
      {.name = "ViT-Tiny", .heads = 3, .headsKv = 3, .seqlenQ = 197, .seqlenK = 197},
      {.name = "ViT-Base", .heads = 12, .headsKv = 12, .seqlenQ = 197, .seqlenK = 197},
      {.name = "long", .heads = 3, .headsKv = 3, .seqlenQ = 1024, .seqlenK = 1024},
      {.name = "prefill",
       .heads = 8,
       .headsKv = 8,
       .seqlenQ = 2048,
       .seqlenK = 2048,
       .causal = Causal::BottomRight},
      {.name = "large-heads",
       .heads = 8,
       .headsKv = 8,
       .seqlenQ = 1024,
       .seqlenK = 1024,
       .headDim = 128,
       .headDimV = 128},
      {.name = "decode",
       .heads = 32,
       .headsKv = 8,
       .seqlenQ = 1,
       .seqlenK = 4096,
       .headDim = 128,
       .headDimV = 128},
      {.name = "padded-batch", .batch = 8, .heads = 12, .headsKv = 12, .lengths = true},
  };
}

std::vector<MatmulShape> defaultMatmulShapes() {
  return {
      {.name = "square"},
      {.name = "ViT-Base-qkv", .m = 197, .n = 2304, .k = 768},
      {.name = "ViT-Base-fc1", .m = 197, .n = 3072, .k = 768},
      {.name = "ViT-Base-fc2", .m = 197, .n = 768, .k = 3072},
      {.name = "one-token", .m = 1, .n = 4096, .k = 4096},
  };
}

std::vector<LayerNormShape> defaultLayerNormShapes() {
  return {{.name = "ViT-Base"}, {.name = "long", .rows = 16384, .channels = 384}};
}

std::vector<VitShape> defaultVitShapes() {
  return {{.name = "tiny"},
          {.name = "small", .embedDim = 384, .heads = 6},
          {.name = "base", .embedDim = 768, .heads = 12}};
}

io::TensorData randomTensor(io::DType dtype, const io::Shape& shape, std::uint64_t seed, double width) {
  std::vector<float> values(static_cast<std::size_t>(io::elementCount(shape)));
  std::uint64_t state = seed + 1;
  for (float& value : values) {
    // SplitMix64 (Steele, Lea and Flood 2014): quick enough for the weights of whole models.
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    value = static_cast<float>((static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1) * width);
  }
  return io::TensorData::fromFloats(dtype, shape, values);
}

std::vector<std::int64_t> sampledIndices(std::int64_t total, std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < std::min(total, count); ++i) {
    indices.push_back(total <= count ? i : i * (total - 1) / (count - 1));
  }
  return indices;
}

std::string sampleText(const std::vector<std::int64_t>& rows) {
  return fmt::format("{} sampled row{}", rows.size(), rows.size() == 1 ? "" : "s");
}

}  // namespace saccade::tool
