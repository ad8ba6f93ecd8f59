# SPDX-License-Identifier: Apache-2.0
"""The forward of DINOv2 in PyTorch, from the weights of Hugging Face's Dinov2Model.

It gets the help that Saccade's module gives itself: the three projections of a block are one product, LayerScale is
folded into the weights before it, and position embeddings are resized once per size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

_EPSILON = 1e-6


@dataclass
class _Linear:
    weight: torch.Tensor
    bias: torch.Tensor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias)

    def scaled(self, factors: torch.Tensor) -> _Linear:
        return _Linear(self.weight * factors[:, None], self.bias * factors)


@dataclass
class _Norm:
    weight: torch.Tensor
    bias: torch.Tensor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, _EPSILON)


@dataclass
class _Block:
    norm1: _Norm
    qkv: _Linear
    projection: _Linear
    norm2: _Norm
    fc1: _Linear
    fc2: _Linear

    def __call__(self, x: torch.Tensor, heads: int) -> torch.Tensor:
        batch, seqlen, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, seqlen, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*qkv).transpose(1, 2).reshape(batch, seqlen, width)
        x = x + self.projection(attended)
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Dinov2:
    def __init__(self, weights: dict[str, torch.Tensor], heads: int) -> None:
        self._weights = {name.removeprefix("backbone."): tensor for name, tensor in weights.items()}
        self._heads = heads
        depth = 1 + max(
            int(name.split(".")[2]) for name in self._weights if name.startswith("encoder.layer.")
        )
        self._blocks = [self._block(f"encoder.layer.{n}.") for n in range(depth)]
        self._patches = self._linear("embeddings.patch_embeddings.projection")
        self._norm = _Norm(self._weights["layernorm.weight"], self._weights["layernorm.bias"])
        self._positions: dict[tuple[int, int], torch.Tensor] = {}

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """pictures [B,3,H,W], normalised; the tokens [B,1+patches,E] after the final norm."""
        patches = F.conv2d(
            pictures, self._patches.weight, self._patches.bias, stride=self._patches.weight.shape[2:]
        )
        rows, columns = patches.shape[2:]
        class_token = self._weights["embeddings.cls_token"].expand(len(pictures), -1, -1)
        x = torch.cat([class_token, patches.flatten(2).transpose(1, 2)], 1) + self._positions_for(
            rows, columns
        )
        for block in self._blocks:
            x = block(x, self._heads)
        return self._norm(x)

    def _positions_for(self, rows: int, columns: int) -> torch.Tensor:
        if (rows, columns) not in self._positions:
            stored = self._weights["embeddings.position_embeddings"]
            side = round((stored.shape[1] - 1) ** 0.5)
            grid = stored[:, 1:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
            grid = F.interpolate(grid, size=(rows, columns), mode="bicubic", align_corners=False)
            self._positions[rows, columns] = torch.cat([stored[:, :1], grid.flatten(2).transpose(1, 2)], 1)
        return self._positions[rows, columns]

    def _linear(self, name: str) -> _Linear:
        return _Linear(self._weights[name + ".weight"], self._weights[name + ".bias"])

    def _block(self, name: str) -> _Block:
        def norm(part: str) -> _Norm:
            return _Norm(self._weights[f"{name}{part}.weight"], self._weights[f"{name}{part}.bias"])

        qkv = [self._linear(f"{name}attention.attention.{part}") for part in ("query", "key", "value")]
        return _Block(
            norm1=norm("norm1"),
            qkv=_Linear(torch.cat([part.weight for part in qkv]), torch.cat([part.bias for part in qkv])),
            projection=self._linear(f"{name}attention.output.dense").scaled(
                self._weights[f"{name}layer_scale1.lambda1"]
            ),
            norm2=norm("norm2"),
            fc1=self._linear(f"{name}mlp.fc1"),
            fc2=self._linear(f"{name}mlp.fc2").scaled(self._weights[f"{name}layer_scale2.lambda1"]),
        )
