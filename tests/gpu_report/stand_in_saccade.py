#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A `saccade` without a device.

STAND_IN_SACCADE says what goes wrong: "COMMAND HOW", or "COMMAND HOW ARGUMENT" in calls with that argument.
"""

import json
import os
import signal
import sys
import time

command = sys.argv[1]
arguments = dict(zip(sys.argv[2:], sys.argv[3:]))
with open(os.environ["STAND_IN_LOG"], "a") as log:
    log.write(f"saccade {' '.join(sys.argv[1:])}\n")

amiss = os.environ.get("STAND_IN_SACCADE", "").split()
wrong = "" if not amiss or amiss[0] != command else amiss[1]
if len(amiss) > 2 and amiss[2] not in sys.argv:
    wrong = ""
if wrong == "hang":
    time.sleep(60)
if wrong == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if wrong == "refuse":
    print("saccade: error: not today", file=sys.stderr)
    sys.exit(3)
if wrong == "babble":
    print("this is no JSON")
    sys.exit(0)


def kernel(name):
    return {"name": name, "operator": "attention", "selectable": True, "supported": True}


def kernels():
    chosen = [kernel(name) for name in ("one", "two") if arguments.get("--kernel", name) == name]
    if "--stats" in sys.argv:
        statistics = {"Registers": 40, "Spills to memory": 0, "Hash": 12345}
        pipeline = {
            "module": "one_f16_native",
            "executables": [{"name": "main", "subgroup_size": 32, "statistics": statistics}],
        }
        chosen = [{**each, "statistics": [{"plan": "plain", "pipelines": [pipeline]}]} for each in chosen]
    return {
        "version": "9.8.7",
        "device": "Paper 1000",
        "driver": "paper driver",
        "head_dim": int(arguments.get("--head-dim", 64)),
        "kernels": chosen,
    }


def info():
    choice = {
        "use": "decode",
        "dtype": "f16",
        "head_dim": 64,
        "kernel": "one",
        "tile": "one keys=4",
        "why": "it is quick",
    }
    device = {
        "name": "Paper 1000",
        "type": "discrete GPU",
        "facts": {"subgroup_size": 32},
        "attention_choices": [choice],
    }
    return {"devices": [device]}


def verify():
    failure = {"repeat": "saccade verify --only attention/7", "reason": "out[0] is 2, expected 1"}
    failed = 1 if wrong == "fail" else 0
    return {
        "ok": not failed,
        "passed": 10,
        "failed": failed,
        "not_run": 0,
        "devices": [{"failures": [failure] * failed}],
    }


def bench():
    error = 0.5 if wrong == "inexact" else 0.001
    result = {
        "kernel": "one",
        "device_clock": True,
        "ms": [1.0, 3.0, 2.0],
        "ms_median": 2.0,
        "wall_ms_median": 2.5,
        "error": error,
        "error_allowed": 0.01,
        "passed": error <= 0.01,
    }
    if wrong == "skip":
        result = {"skipped": "it does not fit into memory"}
    limits = {
        "fp32_gflops": 1000.0,
        "copy_gbytes_per_second": 100.0,
        "read_gbytes_per_second": 50.0,
        "matrix_shape": [16, 16, 16],
    }
    return {"results": [result], **({} if "--no-limits" in sys.argv else {"limits": limits})}


print(json.dumps({"kernels": kernels, "info": info, "verify": verify, "bench": bench}[command]()))
sys.exit(1 if wrong in ("fail", "inexact") else 0)
