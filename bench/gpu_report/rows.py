# SPDX-License-Identifier: Apache-2.0
"""What is measured: attention of the shapes that other reports of Saccade use, and of lengths that fill a GPU."""

from __future__ import annotations

from dataclasses import dataclass

DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2}


@dataclass(frozen=True)
class Row:
    name: str
    stands_for: str
    batch: int
    heads: int
    heads_kv: int
    seqlen_q: int
    seqlen_k: int
    head_dim: int
    causal: bool = False

    @property
    def decode(self) -> bool:
        """Reading keys and values takes the time, so that GB/s say more than FLOP/s."""
        return self.seqlen_q == 1

    @property
    def text(self) -> str:
        heads = str(self.heads) if self.heads == self.heads_kv else f"{self.heads}/{self.heads_kv}"
        lengths = (
            f"T{self.seqlen_q}" if self.seqlen_q == self.seqlen_k else f"Tq{self.seqlen_q} Tk{self.seqlen_k}"
        )
        return f"B{self.batch} H{heads} {lengths} D{self.head_dim}{' causal' if self.causal else ''}"

    @property
    def flops(self) -> float:
        """By the field's convention: 2 per product, half of them where a mask is causal."""
        full = 4.0 * self.batch * self.heads * self.seqlen_q * self.seqlen_k * self.head_dim
        return full / 2 if self.causal else full

    def bytes(self, dtype: str) -> int:
        """Inputs read and outputs written once."""
        queries, keys = self.batch * self.heads * self.seqlen_q, self.batch * self.heads_kv * self.seqlen_k
        return 2 * (queries + keys) * self.head_dim * DTYPE_BYTES[dtype]

    @property
    def arguments(self) -> list[str]:
        """For `saccade bench attention`."""
        sizes = {
            "--batch": self.batch,
            "--heads": self.heads,
            "--kv-heads": self.heads_kv,
            "--seqlen-q": self.seqlen_q,
            "--seqlen-k": self.seqlen_k,
            "--head-dim": self.head_dim,
        }
        arguments = [text for name, value in sizes.items() for text in (name, str(value))]
        return [*arguments, "--causal", "bottom_right"] if self.causal else arguments


def _long(name: str, head_dim: int, causal: bool) -> Row:
    return Row(name, "long sequences", 2, 16, 16, 4096, 4096, head_dim, causal)


# The most telling first: what time does not suffice for is at the end.
ROWS = (
    _long("L1", 64, False),
    _long("L2", 64, True),
    _long("L3", 128, False),
    _long("L4", 128, True),
    Row("S6", "decode", 1, 32, 8, 1, 4096, 128),
    Row("D1", "decode, 16 users", 16, 32, 8, 1, 8192, 128),
    Row("D2", "decode, long cache", 1, 32, 8, 1, 16384, 128),
    Row("S2", "ViT-Base", 1, 12, 12, 197, 197, 64),
    Row("S3", "long self-attention", 1, 3, 3, 1024, 1024, 64),
    Row("S4", "language model, prefill", 1, 8, 8, 2048, 2048, 64, True),
    Row("S5", "large heads", 1, 8, 8, 1024, 1024, 128),
)
DTYPES = ("f16", "bf16", "f32")

# To see that the report works, on any device.
QUICK_ROWS = (
    Row("Q1", "small", 1, 2, 2, 48, 48, 64),
    Row("Q2", "small, causal", 1, 2, 2, 33, 33, 64, True),
    Row("Q3", "small decode", 1, 4, 2, 1, 200, 64),
)
QUICK_DTYPES = ("f16", "f32")
