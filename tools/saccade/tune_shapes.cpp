// SPDX-License-Identifier: Apache-2.0
#include "tune_shapes.hpp"

#include <algorithm>
#include <map>

namespace saccade::tool {

namespace {

std::vector<AttentionShape> commonAttention(bool quick) {
  std::vector<AttentionShape> shapes = {
      {.name = "vit-base", .heads = 12, .headsKv = 12, .seqlenQ = 197, .seqlenK = 197},
      {.name = "prefill", .heads = 8, .headsKv = 8, .seqlenQ = 1024, .seqlenK = 1024, .causal = Causal::BottomRight},
      {.name = "decode", .heads = 32, .headsKv = 8, .seqlenQ = 1, .seqlenK = 4096, .headDim = 128, .headDimV = 128},
      {.name = "padded",
       .batch = 8,
       .heads = 12,
       .headsKv = 12,
       .seqlenQ = 197,
       .seqlenK = 197,
       .lengths = {197, 147, 98, 49, 197, 147, 98, 49}},
  };
  if (quick) return shapes;
  const std::vector<AttentionShape> more = {
      {.name = "vit-small", .heads = 6, .headsKv = 6, .seqlenQ = 257, .seqlenK = 257},
      {.name = "vit-tiny", .heads = 3, .headsKv = 3, .seqlenQ = 197, .seqlenK = 197},
      {.name = "long", .heads = 8, .headsKv = 8, .seqlenQ = 2048, .seqlenK = 2048},
      {.name = "prefill-128",
       .heads = 8,
       .headsKv = 8,
       .seqlenQ = 1024,
       .seqlenK = 1024,
       .headDim = 128,
       .headDimV = 128,
       .causal = Causal::BottomRight},
      {.name = "short", .heads = 8, .headsKv = 8, .seqlenQ = 64, .seqlenK = 64},
  };
  shapes.insert(shapes.end(), more.begin(), more.end());
  return shapes;
}

std::vector<MatmulShape> commonMatmul(bool quick) {
  std::vector<MatmulShape> shapes = {{.name = "qkv", .m = 197, .n = 2304, .k = 768}};
  if (quick) return shapes;
  const std::vector<MatmulShape> more = {
      {.name = "fc1", .m = 197, .n = 3072, .k = 768},
      {.name = "fc2", .m = 197, .n = 768, .k = 3072},
      {.name = "one-token", .m = 1, .n = 4096, .k = 4096},
  };
  shapes.insert(shapes.end(), more.begin(), more.end());
  return shapes;
}

bool given(const CLI::App& command, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return command.count(name) > 0; });
}

AttentionShape givenAttention(const CLI::App& command, const TuneShapeOptions& o) {
  AttentionShape shape = o.attention;
  if (!given(command, {"--kv-heads"})) shape.headsKv = shape.heads;
  if (given(command, {"--seqlen"}) && !given(command, {"--seqlen-q"})) shape.seqlenQ = o.seqlen;
  if (!given(command, {"--seqlen-k"})) shape.seqlenK = given(command, {"--seqlen"}) ? o.seqlen : shape.seqlenQ;
  if (!given(command, {"--head-dim-v"})) shape.headDimV = shape.headDim;
  for (std::int64_t b = 0; o.lengths && b < shape.batch; ++b) {
    shape.lengths.push_back(static_cast<std::int32_t>(shape.seqlenK * (4 - b % 4) / 4));
  }
  return shape;
}

template <typename Shape>
void addShapes(std::vector<TuneShape>& all, const std::vector<Shape>& shapes, io::DType dtype) {
  for (const Shape& shape : shapes) {
    all.push_back({shape.name, std::string(io::dtypeName(dtype)),
                   [shape, dtype](const Device& device) { return makeWorkload(device, shape, dtype); }});
  }
}

CLI::Option* addSize(CLI::App& command, const char* name, std::int64_t& value, const char* text) {
  return command.add_option(name, value, text)
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""))
      ->type_name("N")
      ->group("Shape");
}

}  // namespace

void addTuneShapeOptions(CLI::App& command, TuneShapeOptions& o) {
  static const std::map<std::string, io::DType> kDtypes{
      {"f32", io::DType::F32}, {"f16", io::DType::F16}, {"bf16", io::DType::BF16}};
  static const std::map<std::string, Causal> kCausal{
      {"none", Causal::None}, {"bottom_right", Causal::BottomRight}, {"top_left", Causal::TopLeft}};
  command.add_option("--dtype", o.dtypes, "f32, f16 or bf16; may be given several times; without it f32 and f16")
      ->transform(CLI::CheckedTransformer(kDtypes).description(""))
      ->type_name("DTYPE")
      ->group("Shape");
  addSize(command, "--batch", o.attention.batch, "attention: batch entries");
  addSize(command, "--heads", o.attention.heads, "attention: query heads");
  addSize(command, "--kv-heads", o.attention.headsKv, "attention: key/value heads; as many as query heads without it");
  addSize(command, "--seqlen", o.seqlen, "attention: queries and keys");
  addSize(command, "--seqlen-q", o.attention.seqlenQ, "attention: queries");
  addSize(command, "--seqlen-k", o.attention.seqlenK, "attention: keys");
  addSize(command, "--head-dim", o.attention.headDim, "attention: head_dim of queries and keys");
  addSize(command, "--head-dim-v", o.attention.headDimV, "attention: head_dim of values, if another");
  command.add_option("--causal", o.attention.causal, "attention: none, bottom_right or top_left")
      ->transform(CLI::CheckedTransformer(kCausal).description(""))
      ->type_name("ALIGNMENT")
      ->group("Shape");
  command.add_flag("--lengths", o.lengths, "attention: batch entries of 1, 3/4, 1/2 and 1/4 of the keys, and of as many queries")
      ->group("Shape");
  addSize(command, "--m", o.matmul.m, "matmul: rows of the first factor");
  addSize(command, "--n", o.matmul.n, "matmul: rows of the weight");
  addSize(command, "--k", o.matmul.k, "matmul: length of the sums");
}

std::vector<TuneShape> tuneShapes(const CLI::App& command, const TuneShapeOptions& o) {
  const bool attention = given(command, {"--batch", "--heads", "--kv-heads", "--seqlen", "--seqlen-q", "--seqlen-k", "--head-dim",
                                         "--head-dim-v", "--causal", "--lengths"});
  const bool matmul = given(command, {"--m", "--n", "--k"});
  std::vector<io::DType> dtypes = o.dtypes;
  if (dtypes.empty()) dtypes = {io::DType::F32};
  if (o.dtypes.empty() && !o.quick) dtypes.push_back(io::DType::F16);
  std::vector<TuneShape> shapes;
  for (const io::DType dtype : dtypes) {
    if (attention || !matmul) {
      addShapes(shapes, attention ? std::vector{givenAttention(command, o)} : commonAttention(o.quick), dtype);
    }
    if (matmul || !attention) addShapes(shapes, matmul ? std::vector{o.matmul} : commonMatmul(o.quick), dtype);
  }
  return shapes;
}

}  // namespace saccade::tool
