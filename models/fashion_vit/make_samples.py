#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes samples/: of every class the first test picture for which pytorch_classes.u8 has the right class.

    python3 make_samples.py

Needs numpy, Pillow and the Debian package dataset-fashion-mnist.
"""
import argparse
from pathlib import Path

import numpy as np
from PIL import Image

import fashion_mnist

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=fashion_mnist.DEFAULT_FOLDER,
                        help="folder of the idx files")
    args = parser.parse_args()
    images, labels = fashion_mnist.load(args.data, "t10k")
    classes = np.frombuffer((HERE / "pytorch_classes.u8").read_bytes(), np.uint8)
    folder = HERE / "samples"
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(fashion_mnist.CLASS_NAMES):
        index = np.flatnonzero((labels == number) & (classes == number))[0]
        word = name.split("/")[0].lower().replace("-", "").replace(" ", "_")
        Image.fromarray(images[index]).save(folder / f"{number}_{word}_test{index:04}.png")


if __name__ == "__main__":
    main()
