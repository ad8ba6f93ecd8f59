# SPDX-License-Identifier: Apache-2.0
"""onnxruntime on the CPU, with its fastest operator for the shape.

MultiHeadAttention (com.microsoft) has a flash kernel, but takes no grouped heads; those go to Attention of ONNX
opset 23.
"""

from __future__ import annotations

import numpy
import onnxruntime
from onnx import TensorProto, helper

from contestant import Attention, Contestant, Identity, Invitation, contest

_ONNX_OPSET, _IR_VERSION = 23, 11


def _operator(attention: Attention, feeds: dict[str, numpy.ndarray]) -> tuple[str, str, dict[str, object]]:
    """Name, domain and attributes of the operator; brings the inputs into the layout that it takes."""
    if attention.group > 1:
        if (mask := attention.additive_mask()) is not None:
            feeds["mask"] = mask
        return "Attention", "", {}
    batch, heads, seqlen_q, head_dim = attention.q.shape
    # Queries come as [B,T,H*D], keys and values may stay [B,H,T,D].
    feeds["q"] = attention.q.transpose(0, 2, 1, 3).reshape(batch, seqlen_q, heads * head_dim)
    attributes: dict[str, object] = {"num_heads": heads}
    if attention.lengths_k is not None:
        feeds["key_padding_mask"] = attention.lengths_k.astype(numpy.int32)
    elif attention.causal:
        attributes["unidirectional"] = 1
    return "MultiHeadAttention", "com.microsoft", attributes


class OnnxruntimeAttention:
    def __init__(self, invitation: Invitation) -> None:
        attention = invitation.attention()
        self._shape = attention.q.shape
        feeds = {"q": attention.q, "k": attention.k, "v": attention.v}
        operator, domain, attributes = _operator(attention, feeds)
        self._feeds = {name: numpy.ascontiguousarray(tensor) for name, tensor in feeds.items()}
        self._four_axes = domain == ""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = invitation.threads
        options.inter_op_num_threads = 1
        model = self._model(operator, domain, attributes)
        self._session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        self._out = numpy.empty(0)
        self.identity = Identity("onnxruntime", onnxruntime.__version__, note=operator)

    def _model(self, operator: str, domain: str, attributes: dict[str, object]) -> bytes:
        kinds = {numpy.dtype("float32"): TensorProto.FLOAT, numpy.dtype("int32"): TensorProto.INT32}
        # Inputs 3 to 5 of MultiHeadAttention are bias, key_padding_mask and attention_bias.
        names = list(self._feeds)
        if "key_padding_mask" in names:
            names.insert(names.index("key_padding_mask"), "")
        node = helper.make_node(operator, names, ["out"], domain=domain, **attributes)
        graph = helper.make_graph(
            [node],
            "attention",
            [helper.make_tensor_value_info(n, kinds[t.dtype], t.shape) for n, t in self._feeds.items()],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        )
        opsets = [helper.make_opsetid("", _ONNX_OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION).SerializeToString()

    def run(self) -> None:
        (self._out,) = self._session.run(None, self._feeds)

    def result(self) -> dict[str, numpy.ndarray]:
        if self._four_axes:
            return {"out": self._out}
        batch, heads, seqlen_q, head_dim = self._shape
        return {"out": self._out.reshape(batch, seqlen_q, heads, head_dim).transpose(0, 2, 1, 3)}


def make(invitation: Invitation) -> Contestant:
    return OnnxruntimeAttention(invitation)


if __name__ == "__main__":
    contest(make)
