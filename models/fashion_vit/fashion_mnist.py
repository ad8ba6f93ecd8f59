# SPDX-License-Identifier: Apache-2.0
"""Reads the Fashion-MNIST files (idx format, gzip) as Debian's dataset-fashion-mnist installs them."""
import gzip
from pathlib import Path

import numpy as np

DEFAULT_FOLDER = Path("/usr/share/datasets/fashion-mnist")
CLASS_NAMES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
               "Ankle boot")
MEAN, STD = 0.2860, 0.3530  # of the 60,000 training images, pixels in 0..1


def read_idx(path):
    """The uint8 array of one idx file: two zero bytes, type 8, number of axes, big-endian sizes, the data."""
    data = gzip.decompress(path.read_bytes())
    if data[:3] != b"\0\0\x08":
        raise SystemExit(f"{path}: not an idx file of bytes")
    sizes = tuple(np.frombuffer(data, ">u4", count=data[3], offset=4))
    pixels = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
    return pixels.reshape(sizes).copy()  # a copy, as torch wants it writable


def load(folder, part):
    """(images [N,28,28], labels [N]), both uint8; part is "train" or "t10k"."""
    images, labels = folder / f"{part}-images-idx3-ubyte.gz", folder / f"{part}-labels-idx1-ubyte.gz"
    if not images.is_file():
        raise SystemExit(f"{images}: no such file; install dataset-fashion-mnist or give --data")
    return read_idx(images), read_idx(labels)
