#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Python with a PyTorch that computes nothing: what bench/gpu_report/torch_sdpa.py would say.

STAND_IN_TORCH is "present", "absent" or "fragile", which dies of the math backend.
"""

import json
import os
import sys


def answer(line):
    print(json.dumps(line), flush=True)


def log(text):
    with open(os.environ["STAND_IN_LOG"], "a") as file:
        file.write(text + "\n")


behaviour = os.environ["STAND_IN_TORCH"]
if behaviour == "absent":
    answer({"refused": "ModuleNotFoundError: No module named 'torch'"})
    sys.exit(0)
assert sys.argv[2].endswith("torch_sdpa.py"), sys.argv
log(f"torch starts for {sys.argv[4]}")
answer({"name": "PyTorch", "version": "7.0", "device": sys.argv[4], "cuda": "99", "hip": None, "cudnn": 1})
for line in sys.stdin:
    request = json.loads(line)
    backend = request["backend"]
    log(f"torch {backend} {request['dtype']} T{request['seqlen_k']}")
    if backend == "cudnn":
        answer({"refused": "no such library"})
    elif backend == "math" and behaviour == "fragile":
        print("an illegal memory access was encountered", file=sys.stderr, flush=True)
        os._exit(7)
    else:
        right = backend != "efficient"  # it is fast and wrong
        answer({
            "ms": {"flash": [4.0], "efficient": [0.5], "math": [8.0]}[backend],
            "error": 0.001 if right else 0.9,
            "error_allowed": 0.01,
            "passed": right,
            "note": "",
        })  # fmt: skip
