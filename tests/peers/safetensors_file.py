# SPDX-License-Identifier: Apache-2.0
"""As much of the safetensors format as the tests of the comparison need."""

import array
import json
import struct
from pathlib import Path


def _header(data: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def shape(path: Path, name: str) -> list[int]:
    return _header(path.read_bytes())[0][name]["shape"]


def doubles(path: Path, name: str) -> list[float]:
    header, tensors = _header(path.read_bytes())
    begin, end = header[name]["data_offsets"]
    assert header[name]["dtype"] == "F64"
    return list(array.array("d", tensors[begin:end]))


def write_floats(path: Path, name: str, values: list[float], sizes: list[int]) -> None:
    tensor = array.array("f", values).tobytes()
    header = {name: {"dtype": "F32", "shape": sizes, "data_offsets": [0, len(tensor)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + tensor)
