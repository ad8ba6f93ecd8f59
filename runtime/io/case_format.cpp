// SPDX-License-Identifier: Apache-2.0
#include "io/case_format.hpp"

#include <regex>

namespace saccade::io {

namespace {

const std::vector<DType> kFloats = {DType::F32, DType::F16, DType::BF16};
const std::vector<DType> kKeys = {DType::F32, DType::F16, DType::BF16, DType::F8_E4M3, DType::I8};
const std::vector<DType> kInt32 = {DType::I32};
const std::vector<DType> kBytes = {DType::U8};

OperatorFormat attentionFormat() {
  return {
      .inputs = {{"q", kFloats},
                 {"k", kKeys},
                 {"v", kKeys},
                 {"k_scale", {DType::F32}},
                 {"v_scale", {DType::F32}},
                 {"bias", {DType::F32, DType::F16, DType::BF16}},
                 {"mask", kBytes},
                 {"seqlens_q", kInt32},
                 {"seqlens_k", kInt32},
                 {"alibi_slopes", {DType::F32}},
                 {"sink", {DType::F32}},
                 {"cu_seqlens_q", kInt32},
                 {"cu_seqlens_k", kInt32}},
      .expected = {"out", "lse", "probs"},
      .metadata = {{"causal", {"none", "bottom_right", "top_left"}},
                   {"window_left", {}},
                   {"window_right", {}},
                   {"softmax_scale", {}},
                   {"temperature", {}},
                   {"softcap", {}},
                   {"scale_block", {}},
                   {"normalizer", {"softmax", "sigmoid", "relu"}},
                   {"sigmoid_bias", {}}},
  };
}

OperatorFormat attentionBackwardFormat() {
  OperatorFormat format = attentionFormat();
  format.inputs["dout"] = kFloats;
  format.expected.insert({"dq", "dk", "dv", "dbias", "dsink"});
  return format;
}

OperatorFormat mhaFormat() {
  OperatorFormat format{
      .inputs = {{"x", kFloats}, {"x_kv", kFloats}, {"key_padding_mask", kBytes}},
      .expected = {"out", "probs"},
      .metadata = {{"num_heads", {}}, {"num_kv_heads", {}}, {"causal", {"none", "bottom_right", "top_left"}}},
  };
  for (const std::string projection : {"in_proj", "q_proj", "k_proj", "v_proj", "out_proj"}) {
    format.inputs[projection + "_weight"] = kFloats;
    format.inputs[projection + "_bias"] = kFloats;
  }
  return format;
}

std::map<std::string, OperatorFormat> allFormats() {
  return {
      {"attention", attentionFormat()},
      {"attention_backward", attentionBackwardFormat()},
      {"mha", mhaFormat()},
      {"layer_norm",
       {.inputs = {{"x", kFloats}, {"weight", kFloats}, {"bias", kFloats}},
        .expected = {"out"},
        .metadata = {{"epsilon", {}}}}},
      {"gelu",
       {.inputs = {{"x", kFloats}}, .expected = {"out"}, .metadata = {{"approximate", {"none", "tanh"}}}}},
      {"matmul",
       {.inputs = {{"a", kFloats}, {"weight", kFloats}, {"bias", kFloats}},
        .expected = {"out"},
        .metadata = {{"weight_layout", {"nk", "kn"}}}}},
      {"patch_embed",
       {.inputs = {{"image", kFloats}, {"weight", kFloats}, {"bias", kFloats}},
        .expected = {"out"},
        .metadata = {{"patch_size", {}}}}},
      {"sinusoidal_positions",
       {.inputs = {},
        .expected = {"out"},
        .metadata = {{"positions", {}},
                     {"dim", {}},
                     {"base", {}},
                     {"layout", {"interleaved", "halves"}},
                     {"start", {}}}}},
      {"linear_attention",
       {.inputs = {{"q", kFloats}, {"k", kFloats}, {"v", kFloats}, {"seqlens_k", kInt32}},
        .expected = {"out"},
        .metadata = {{"causal", {"none", "bottom_right", "top_left"}}, {"feature_map", {"elu+1"}}}}},
      {"window_attention",
       {.inputs = {{"x", kFloats},
                   {"qkv_weight", kFloats},
                   {"qkv_bias", kFloats},
                   {"proj_weight", kFloats},
                   {"proj_bias", kFloats},
                   {"relative_position_bias_table", kFloats}},
        .expected = {"out"},
        .metadata = {{"num_heads", {}}, {"window_size", {}}, {"shift_size", {}}}}},
      {"vit",
       {.inputs = {{"images", kFloats}},
        .expected = {"logits", "probs_layer0"},
        .metadata = {{"num_heads", {}},
                     {"patch_size", {}},
                     {"embed_dim", {}},
                     {"depth", {}},
                     {"mlp_ratio", {}},
                     {"num_classes", {}},
                     {"epsilon", {}},
                     {"approximate", {"none", "tanh"}},
                     {"pool", {"token"}}},
        .hasVitWeights = true}},
      // A complete model whose weights are in another file; tests/cases/real/README.md.
      {"model",
       {.inputs = {{"pixel_values", kFloats}},
        .expected = {"class_token", "patch_tokens", "class_attention", "class_states", "block_norms",
                     "embedding_norm"},
        .metadata = {{"model", {"dinov2-s/14"}},
                     {"input", {}},
                     {"weights_package", {}},
                     {"weights_file", {}},
                     {"weights_sha256", {}}}}},
  };
}

}  // namespace

const OperatorFormat* operatorFormat(const std::string& op) {
  static const std::map<std::string, OperatorFormat> formats = allFormats();
  const auto found = formats.find(op);
  return found == formats.end() ? nullptr : &found->second;
}

bool isVitWeightName(const std::string& name) {
  static const std::regex pattern(
      "cls_token|pos_embed|patch_embed\\.proj\\.(weight|bias)|(norm|head)\\.(weight|bias)|blocks\\.[0-9]{1,4}\\."
      "((norm1|norm2|attn\\.qkv|attn\\.proj|mlp\\.fc1|mlp\\.fc2)\\.(weight|bias)|ls[12]\\.gamma)");
  return std::regex_match(name, pattern);
}

}  // namespace saccade::io
