// SPDX-License-Identifier: Apache-2.0
#include "io/vit_names.hpp"

#include "io/file_error.hpp"

namespace saccade::io {

namespace {

const VitNames kTimm = {
    .prefix = "",
    .classToken = "cls_token",
    .positions = "pos_embed",
    .patch = "patch_embed.proj.",
    .blocks = "blocks.",
    .norm1 = "norm1.",
    .norm2 = "norm2.",
    .qkv = {"attn.qkv."},
    .proj = "attn.proj.",
    .scale1 = "ls1.gamma",
    .scale2 = "ls2.gamma",
    .fc1 = "mlp.fc1.",
    .fc2 = "mlp.fc2.",
    .norm = "norm.",
    .head = "head.",
    .ignored = {},
};

const VitNames kDinov2 = {
    .prefix = "",
    .classToken = "embeddings.cls_token",
    .positions = "embeddings.position_embeddings",
    .patch = "embeddings.patch_embeddings.projection.",
    .blocks = "encoder.layer.",
    .norm1 = "norm1.",
    .norm2 = "norm2.",
    .qkv = {"attention.attention.query.", "attention.attention.key.", "attention.attention.value."},
    .proj = "attention.output.dense.",
    .scale1 = "layer_scale1.lambda1",
    .scale2 = "layer_scale2.lambda1",
    .fc1 = "mlp.fc1.",
    .fc2 = "mlp.fc2.",
    .norm = "layernorm.",
    .head = "",
    .ignored = {"embeddings.mask_token"},
};

}  // namespace

VitNames detectVitNames(const std::filesystem::path& path, const TensorMap& tensors) {
  for (const VitNames& family : {kDinov2, kTimm}) {
    for (const auto& [name, tensor] : tensors) {
      const bool prefixEnds =
          name.size() == family.classToken.size() ||
          (name.size() > family.classToken.size() && name[name.size() - family.classToken.size() - 1] == '.');
      if (name.ends_with(family.classToken) && prefixEnds) {
        VitNames names = family;
        names.prefix = name.substr(0, name.size() - family.classToken.size());
        return names;
      }
    }
  }
  throw FileError(
      path, "class token", "missing",
      "a Vision Transformer has the tensor 'cls_token' (timm) or 'embeddings.cls_token' (DINOv2)");
}

}  // namespace saccade::io
