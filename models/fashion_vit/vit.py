# SPDX-License-Identifier: Apache-2.0
"""A Vision Transformer in plain PyTorch whose state dict has the tensor names of timm's VisionTransformer.

Pre-norm blocks, fused qkv (rows: queries, keys, values; head h owns channels h*D .. h*D+D-1 of each), exact
GELU, class token in front, learned positions, final norm and a linear head on the class token.
"""
import torch
from torch import nn
from torch.nn import functional


class PatchEmbed(nn.Module):
    """[B,C,H,W] -> [B,(H/P)*(W/P),E], patches row by row."""

    def __init__(self, in_channels, patch_size, embed_dim):
        super().__init__()
        self.proj = nn.Conv2d(in_channels, embed_dim, patch_size, stride=patch_size)

    def forward(self, images):
        return self.proj(images).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        batch, tokens, channels = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.num_heads, channels // self.num_heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        out = functional.scaled_dot_product_attention(query, key, value)
        return self.proj(out.transpose(1, 2).reshape(batch, tokens, channels))


class Mlp(nn.Module):
    def __init__(self, embed_dim, hidden_dim):
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, embed_dim)

    def forward(self, x):
        return self.fc2(functional.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, embed_dim, num_heads, mlp_ratio, epsilon):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim, eps=epsilon)
        self.attn = Attention(embed_dim, num_heads)
        self.norm2 = nn.LayerNorm(embed_dim, eps=epsilon)
        self.mlp = Mlp(embed_dim, embed_dim * mlp_ratio)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """images [B,C,S,S] -> logits [B,num_classes]."""

    def __init__(self, *, image_size, in_channels, patch_size, embed_dim, depth, num_heads, mlp_ratio,
                 num_classes, epsilon):
        super().__init__()
        self.patch_embed = PatchEmbed(in_channels, patch_size, embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (image_size // patch_size) ** 2, embed_dim))
        self.blocks = nn.ModuleList(Block(embed_dim, num_heads, mlp_ratio, epsilon) for _ in range(depth))
        self.norm = nn.LayerNorm(embed_dim, eps=epsilon)
        self.head = nn.Linear(embed_dim, num_classes)
        self.initialise()

    def initialise(self):
        nn.init.normal_(self.cls_token, std=1e-6)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.zeros_(self.head.weight)  # the first logits are all 0: no class is preferred by chance

    def forward(self, images):
        patches = self.patch_embed(images)
        x = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])
