# SPDX-License-Identifier: Apache-2.0
"""ncnn's SDPA layer, on the CPU or with --vulkan on the first Vulkan device; everything in fp32.

ncnn has no batches: batch entries become heads. A run on Vulkan includes bringing the inputs to the device and the
result back, because ncnn's Python interface has no tensors that stay there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import ncnn
import numpy

from contestant import Contestant, Identity, Invitation, Refused, contest


class NcnnAttention:
    def __init__(self, invitation: Invitation, vulkan: bool) -> None:
        if vulkan and ncnn.get_gpu_count() == 0:
            raise Refused("ncnn finds no Vulkan device")
        attention = invitation.attention()
        self._shape = attention.q.shape
        inputs = [("q", attention.q), ("k", attention.k), ("v", attention.v)]
        mask = attention.additive_mask()
        if mask is not None:
            # One mask for all heads, or one per head of every batch entry.
            heads = self._shape[1] if len(mask) > 1 else 1
            inputs.append(("mask", mask.repeat(heads, axis=1)))
        self._arrays = [numpy.ascontiguousarray(t.reshape(-1, *t.shape[2:])) for _, t in inputs]
        self._inputs = [(name, ncnn.Mat(array)) for (name, _), array in zip(inputs, self._arrays)]
        self._net = self._make_net([name for name, _ in inputs], invitation.threads, vulkan)
        self._out = ncnn.Mat()
        self.identity = Identity("ncnn", ncnn.__version__, note="fp32")
        if vulkan:
            self.identity.device = ncnn.get_gpu_info(ncnn.get_default_gpu_index()).device_name()

    @staticmethod
    def _make_net(names: list[str], threads: int, vulkan: bool) -> ncnn.Net:
        net = ncnn.Net()
        net.opt.num_threads = threads
        net.opt.use_vulkan_compute = vulkan
        # What ncnn does in half precision unless told otherwise; everybody else computes in fp32.
        for option in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage"):
            setattr(net.opt, f"use_{option}", False)
        masked = int("mask" in names)
        lines = ["7767517", f"{len(names) + 1} {len(names) + 1}"]
        lines += [f"Input {name} 0 1 {name}" for name in names]
        lines.append(f"SDPA attention {len(names)} 1 {' '.join(names)} out 5={masked}")
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder, "attention.param")
            model.write_text("\n".join(lines) + "\n")
            if net.load_param(str(model)) != 0:
                raise Refused("this version of ncnn has no layer SDPA")
            weights = Path(folder, "attention.bin")
            weights.touch()
            net.load_model(str(weights))
        return net

    def run(self) -> None:
        extractor = self._net.create_extractor()
        for name, tensor in self._inputs:
            extractor.input(name, tensor)
        status, self._out = extractor.extract("out")
        if status != 0:
            raise RuntimeError(f"ncnn could not compute its network: {status}")

    def result(self) -> dict[str, numpy.ndarray]:
        return {"out": numpy.array(self._out).reshape(self._shape)}


def make(invitation: Invitation) -> Contestant:
    return NcnnAttention(invitation, vulkan="--vulkan" in invitation.options)


if __name__ == "__main__":
    contest(make)
