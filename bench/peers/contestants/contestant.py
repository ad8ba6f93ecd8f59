# SPDX-License-Identifier: Apache-2.0
"""What every contestant written in Python does; contestant.hpp describes the protocol.

Needs nothing but Python and numpy, because it runs in the environment of each peer.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I32": "<i4", "U8": "u1"}


class Refused(Exception):
    """The contestant does not take this case; the text says why."""


@dataclass
class Case:
    """A case file: metadata, and tensors by name."""

    metadata: dict[str, str]
    tensors: dict[str, numpy.ndarray]


@dataclass
class Attention:
    """An attention call: q [B,Hq,Tq,D], k and v [B,Hkv,Tk,D], all fp32; lengths are [B] or None."""

    q: numpy.ndarray
    k: numpy.ndarray
    v: numpy.ndarray
    causal: bool
    lengths_k: numpy.ndarray | None

    @property
    def group(self) -> int:
        """Query heads per key/value head."""
        return self.q.shape[1] // self.k.shape[1]

    def visible(self) -> numpy.ndarray | None:
        """Which key a query sees, [B or 1, 1, Tq, Tk]; None if all of them."""
        seqlen_q, seqlen_k = self.q.shape[2], self.k.shape[2]
        if self.lengths_k is not None:
            keys = numpy.arange(seqlen_k) < self.lengths_k[:, None]
            return numpy.broadcast_to(keys[:, None, None, :], (len(keys), 1, seqlen_q, seqlen_k))
        if self.causal:
            return numpy.tri(seqlen_q, seqlen_k, seqlen_k - seqlen_q, dtype=bool)[None, None]
        return None

    def additive_mask(self) -> numpy.ndarray | None:
        """The same as numbers to add to the scores: 0 or -infinity."""
        visible = self.visible()
        return None if visible is None else numpy.where(visible, 0, -numpy.inf).astype(numpy.float32)


@dataclass
class Identity:
    """Who takes part; see contestant.hpp."""

    name: str
    version: str
    device: str = "CPU"
    driver: str = ""
    note: str = ""


class Contestant(Protocol):
    identity: Identity

    def run(self) -> None:
        """Computes the result, and returns when it is there."""

    def result(self) -> dict[str, numpy.ndarray]:
        """Of the last run, under the names and in the shapes of the case's expected tensors."""


@dataclass
class Invitation:
    case: Case
    threads: int
    weights: Path | None
    options: list[str] = field(default_factory=list)

    def attention(self) -> Attention:
        """The case as an attention call. Raises Refused if it is something else."""
        metadata, tensors = self.case.metadata, self.case.tensors
        if metadata["op"] != "attention":
            raise Refused(f"it computes attention, and the case is about {metadata['op']}")
        return Attention(
            *(tensors[name].astype(numpy.float32) for name in ("q", "k", "v")),
            causal=metadata["causal"] != "none",
            lengths_k=tensors.get("seqlens_k"),
        )


def read_safetensors(path: Path) -> Case:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[8 + length + begin : 8 + length + end], _DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return Case(metadata, tensors)


def write_safetensors(path: Path, tensors: dict[str, numpy.ndarray], metadata: dict[str, str]) -> None:
    header: dict[str, object] = {"__metadata__": metadata}
    blobs, offset = [], 0
    for name, tensor in tensors.items():
        blob = numpy.ascontiguousarray(tensor, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def _answer(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


def _times(contestant: Contestant, runs: int) -> list[float]:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        contestant.run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def _obey(contestant: Contestant, result: Path) -> None:
    for line in sys.stdin:
        verb, *rest = line.split()
        if verb == "run":
            _answer({"ms": _times(contestant, int(rest[0]))})
        elif verb == "write":
            write_safetensors(result, contestant.result(), {"p_rounding": "fp32"})
            _answer({"written": True})
        else:
            raise ValueError(f"{line!r} is neither `run N` nor `write`")


def contest(make: Callable[[Invitation], Contestant]) -> None:
    """The main function of a contestant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path)
    arguments, options = parser.parse_known_args()
    try:
        invitation = Invitation(
            read_safetensors(arguments.case), arguments.threads, arguments.weights, options
        )
        contestant = make(invitation)
        contestant.run()
    except Exception as error:  # whatever it is, it is why this contestant does not take part
        _answer({"refused": f"{error}" if isinstance(error, Refused) else f"{type(error).__name__}: {error}"})
        sys.exit(1)
    _answer(contestant.identity.__dict__)
    _obey(contestant, arguments.result)
