# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU: scaled_dot_product_attention with its flash kernel, and DINOv2."""

from __future__ import annotations

import numpy
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from contestant import Attention, Contestant, Identity, Invitation, contest, read_safetensors
from torch_dinov2 import Dinov2


class TorchAttention:
    def __init__(self, attention: Attention) -> None:
        self._inputs = [torch.from_numpy(tensor) for tensor in (attention.q, attention.k, attention.v)]
        self._options: dict[str, object] = {"enable_gqa": attention.group > 1}
        visible = attention.visible()
        # The flag is the fast way, and means the same as the mask where there are as many queries as keys.
        if attention.causal and attention.q.shape[2] == attention.k.shape[2]:
            self._options["is_causal"] = True
        elif visible is not None:
            self._options["attn_mask"] = torch.from_numpy(visible.copy())
        self._out = torch.empty(0)
        self.identity = Identity("PyTorch", torch.__version__, note="flash")

    def run(self) -> None:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            self._out = F.scaled_dot_product_attention(*self._inputs, **self._options)

    def result(self) -> dict[str, numpy.ndarray]:
        return {"out": self._out.numpy()}


class TorchDinov2:
    def __init__(self, invitation: Invitation) -> None:
        if invitation.weights is None:
            raise ValueError("the model's weights are missing: --weights")
        file = read_safetensors(invitation.weights)
        weights = {name: torch.from_numpy(tensor.copy()) for name, tensor in file.tensors.items()}
        self._model = Dinov2(weights, heads=int(file.metadata["num_heads"]))
        self._pictures = torch.from_numpy(invitation.case.tensors["pixel_values"].copy())
        self._tokens = torch.empty(0)
        self.identity = Identity("PyTorch", torch.__version__, note="flash")

    def run(self) -> None:
        self._tokens = self._model.forward(self._pictures)

    def result(self) -> dict[str, numpy.ndarray]:
        tokens = self._tokens[0].numpy()
        return {"class_token": tokens[0], "patch_tokens": tokens[1:]}


def make(invitation: Invitation) -> Contestant:
    torch.set_num_threads(invitation.threads)
    torch.set_grad_enabled(False)
    if invitation.case.metadata["op"] == "model":
        return TorchDinov2(invitation)
    return TorchAttention(invitation.attention())


if __name__ == "__main__":
    contest(make)
