#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A contestant without a library. What it does is said by STAND_IN_ and the name it is started under.

Needs nothing but Python, so that the driver can be tested where no peer is installed.
"""

import json
import os
import signal
import sys
from pathlib import Path

import safetensors_file


def answer(**line):
    print(json.dumps(line), flush=True)


def take_part(error):
    case, result = Path(sys.argv[1]), Path(sys.argv[2])
    out = safetensors_file.doubles(case, "out")
    out[len(out) // 2] += error
    print("a library that greets on standard output")
    answer(name="stand-in", version="1.0", device="none", driver="", note="")
    for line in sys.stdin:
        verb, *rest = line.split()
        if verb == "run":
            answer(ms=[2.0] * int(rest[0]))
        else:
            safetensors_file.write_floats(result, "out", out, safetensors_file.shape(case, "out"))
            answer(written=True)


def crash():
    print("about to fall over", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def crash_in_a_run():
    answer(name="stand-in", version="1.0", device="none", driver="", note="")
    sys.stdin.readline()
    sys.exit("out of memory")


{
    "right": lambda: take_part(0.0),
    "wrong": lambda: take_part(0.5),
    "crash": crash,
    "crash in a run": crash_in_a_run,
    "refuse": lambda: answer(refused="no such operator here"),
    "hang": signal.pause,
}[os.environ["STAND_IN_" + Path(sys.argv[0]).name]]()
