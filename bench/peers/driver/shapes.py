# SPDX-License-Identifier: Apache-2.0
"""What is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One attention call, or (`model`) the forward of a whole model."""

    name: str
    stands_for: str
    batch: int = 1
    heads: int = 1
    heads_kv: int = 1
    seqlen_q: int = 1
    seqlen_k: int = 1
    head_dim: int = 64
    causal: bool = False
    lengths: bool = False
    model: bool = False

    @property
    def text(self) -> str:
        if self.model:
            return "224x224"
        heads = f"{self.heads}" if self.heads == self.heads_kv else f"{self.heads}/{self.heads_kv}"
        tokens = f"{self.seqlen_q}" if self.seqlen_q == self.seqlen_k else f"{self.seqlen_q}x{self.seqlen_k}"
        options = [word for word, on in (("causal", self.causal), ("lengths", self.lengths)) if on]
        return " ".join([f"B{self.batch} H{heads} T{tokens} D{self.head_dim}", *options])

    @property
    def flops(self) -> float | None:
        """Both products over all keys, half of that for causal; padding counts. None where time says more."""
        if self.model or self.seqlen_q == 1:
            return None
        full = 4.0 * self.batch * self.heads * self.seqlen_q * self.seqlen_k * self.head_dim
        return full / 2 if self.causal else full

    @property
    def make_arguments(self) -> list[str]:
        """For peer_make_case."""
        sizes = ("batch", "heads", "heads_kv", "seqlen_q", "seqlen_k", "head_dim")
        arguments = []
        for size in sizes:
            arguments += ["--" + size.replace("_", "-"), str(getattr(self, size))]
        return arguments + [f"--{flag}" for flag in ("causal", "lengths") if getattr(self, flag)]


DINOV2 = Shape("DINOv2", "DINOv2 ViT-S/14, one picture", model=True)

SHAPES = (
    Shape("S1", "ViT-Tiny", heads=3, heads_kv=3, seqlen_q=197, seqlen_k=197),
    Shape("S2", "ViT-Base", heads=12, heads_kv=12, seqlen_q=197, seqlen_k=197),
    Shape("S3", "long self-attention", heads=3, heads_kv=3, seqlen_q=1024, seqlen_k=1024),
    Shape("S4", "language model, prefill", heads=8, heads_kv=8, seqlen_q=2048, seqlen_k=2048, causal=True),
    Shape("S5", "large heads", heads=8, heads_kv=8, seqlen_q=1024, seqlen_k=1024, head_dim=128),
    Shape("S6", "decode", heads=32, heads_kv=8, seqlen_q=1, seqlen_k=4096, head_dim=128),
    Shape(
        "S7", "padded text batch", batch=8, heads=12, heads_kv=12, seqlen_q=128, seqlen_k=128, lengths=True
    ),
    DINOV2,
)
