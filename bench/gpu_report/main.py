# SPDX-License-Identifier: Apache-2.0
"""The parts of the report, one after the other, each with its share of the time."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_CHECKOUT = _HERE.parents[1]
sys.path.append(str(_CHECKOUT / "bench/peers/driver"))  # its `session` and `machine`

import machine
import page
import rounds
from program import Clock, Saccade, Unavailable, run
from rows import DTYPES, QUICK_DTYPES, QUICK_ROWS, ROWS
from torch_peer import TorchPeer

# Of the time, at most; what a part leaves over, the measuring of speed gets.
_VERIFY, _KERNELS, _LIMITS = 0.35, 0.08, 0.08
_FACTS_SECONDS, _LAST_SECONDS = 30.0, 2.0


def _say(text: str) -> None:
    print(f"gpu-report: {text}", file=sys.stderr, flush=True)


def _minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.2 <= value <= 600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes from 0.2 to 600")
    return value


def _program(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no program {text}")
    return Path(text).absolute()


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/gpu-report", description="What Saccade does on this machine's GPU."
    )
    add = parser.add_argument
    add(
        "--saccade",
        type=_program,
        required=True,
        metavar="PATH",
        help="the program; tools/gpu-report builds it without",
    )
    add("--device", default="", metavar="NAME", help="as `saccade --device`; without it the best device")
    add("--minutes", type=_minutes, default=8.0, metavar="N", help="that all of it may take (8)")
    add(
        "--out",
        type=Path,
        default=_CHECKOUT / "build/reports/gpu-report",
        metavar="DIR",
        help="(%(default)s)",
    )
    add("--python", default=sys.executable, metavar="PATH", help="the Python that has PyTorch (%(default)s)")
    add("--no-torch", action="store_true", help="measure Saccade alone")
    add(
        "--quick",
        action="store_true",
        help="small shapes and few checks, to see that all of it works; no figures",
    )
    return parser.parse_args(argv)


class Parts:
    """Runs parts and notes what came of them: a part that fails or is missing is said, and the next one goes on."""

    def __init__(self) -> None:
        self.noted: list[dict[str, Any]] = []

    def run(self, name: str, part: Callable[[], Any]) -> Any:
        _say(name)
        start = time.monotonic()
        value, reason = None, ""
        try:
            value = part()
        except Unavailable as error:
            reason = str(error)
            _say(f"{name}: {reason}")
        self.note(name, "missing" if reason else "ok", time.monotonic() - start, reason)
        return value

    def note(self, name: str, result: str, seconds: float = 0.0, reason: str = "") -> None:
        self.noted.append({"name": name, "result": result, "seconds": seconds, "reason": reason})

    def incomplete(self, reason: str) -> None:
        """The part that ran last has a result for some of what it is about."""
        self.noted[-1] |= {"result": "incomplete", "reason": reason}

    def fail(self, reason: str) -> None:
        """The part that ran last has a result, and that is bad."""
        self.noted[-1] |= {"result": "FAILED", "reason": reason}
        _say(f"{self.noted[-1]['name']}: {reason}")


def _facts(saccade: Saccade, name: str) -> dict[str, Any]:
    _, info = saccade.ask("info", seconds=_FACTS_SECONDS)
    device = next(
        (device for device in info["devices"] if device["name"] == name and "facts" in device), None
    )
    if device is None:
        raise Unavailable(f"`saccade info` does not know the device {name}")
    return device


def _statistics(saccade: Saccade, listed: dict[str, Any], head_dim: int, seconds: float) -> dict[str, Any]:
    """Kernel by kernel, so that one that its driver cannot compile in time costs no other one its place."""
    clock, found, reasons = Clock(seconds), [], {}
    for kernel in listed["kernels"]:
        if not kernel["selectable"] or not kernel["supported"]:
            continue
        options = ["--stats", "--dtype", "f16", "--head-dim", str(head_dim), "--kernel", kernel["name"]]
        try:
            found += saccade.ask("kernels", *options, seconds=clock.left())[1]["kernels"]
        except Unavailable as error:
            reasons.setdefault(str(error), []).append(kernel["name"])
    because = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
    if not found:
        raise Unavailable(because or "there is no kernel that this device supports")
    return {**listed, "head_dim": head_dim, "kernels": found, "missing": because}


def _verify(saccade: Saccade, quick: bool, seconds: float) -> dict[str, Any]:
    few = ["--groups", "sweep", "--sweep", "6"] if quick else []
    _, result = saccade.ask("verify", *few, seconds=seconds, fine=(0, 1, 4))
    return result


def _limits(saccade: Saccade, seconds: float) -> dict[str, Any]:
    _, result = saccade.ask(
        "bench", "attention", "--seqlen", "64", "--repeat", "1", seconds=seconds, fine=(0, 1)
    )
    return result["limits"]


def _nvidia_smi() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    fields = (
        "name,driver_version,pstate,clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,"
        "temperature.gpu,utilization.gpu,memory.used"
    )
    try:
        return run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv"], 10).out.strip().splitlines()
    except Unavailable as error:
        return [str(error)]


def _start_torch(options: argparse.Namespace, device: str, clock: Clock) -> TorchPeer:
    if options.no_torch:
        raise Unavailable("left out, as --no-torch says")
    peer = TorchPeer(options.python, device, options.out / "torch.log")
    peer.start(clock.share(0.25))
    return peer


def make(options: argparse.Namespace) -> dict[str, Any]:
    clock, parts = Clock(options.minutes * 60), Parts()
    saccade = Saccade(options.saccade, options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    smi = _nvidia_smi()
    listed = parts.run("kernels", lambda: saccade.ask("kernels", seconds=_FACTS_SECONDS)[1]) or {
        "kernels": []
    }
    device = listed.get("device", "")
    result: dict[str, Any] = {
        "format": page.FORMAT,
        "version": listed.get("version", ""),
        "date": datetime.datetime.now().isoformat(timespec="seconds"),
        "host": f"{machine.cpu_name()}, {machine.cpu_count()} processors, {platform.system()} {platform.release()}",
        "minutes": options.minutes,
        "quick": options.quick,
        "environment": {name: value for name, value in os.environ.items() if name.startswith("SACCADE_")},
        "device": device,
        "driver": listed.get("driver", ""),
        "parts": parts.noted,
        "complete_rounds": 0,
    }
    result["facts"] = parts.run("facts", lambda: _facts(saccade, device))
    if result["facts"] and result["facts"]["type"] == "CPU":
        parts.note("device", "a CPU", reason="this device is a CPU; its figures say nothing of a GPU")
    result["verify"] = parts.run("verify", lambda: _verify(saccade, options.quick, clock.share(_VERIFY)))
    if result["verify"] and not result["verify"]["ok"]:
        parts.fail(
            f"{result['verify']['failed']} checks failed, or the device did; `saccade verify` says which"
        )
    statistics = []
    for head_dim in (64,) if options.quick else (64, 128):
        name = f"statistics of kernels at head_dim {head_dim}"
        part = parts.run(name, lambda d=head_dim: _statistics(saccade, listed, d, clock.share(_KERNELS)))
        if part and part["missing"]:
            parts.incomplete(part["missing"])
        statistics += [part] if part else []
    result["kernels"] = statistics or [listed]
    result["limits"] = parts.run("limits of the device", lambda: _limits(saccade, clock.share(_LIMITS)))
    torch = parts.run("PyTorch on the same device", lambda: _start_torch(options, device, clock))
    result["torch"] = torch.identity if torch else None
    result["speed"] = parts.run("speed", lambda: _speed(result, options, saccade, torch, clock)) or []
    if torch:
        torch.close()
    if any(row["saccade"].get("passed") is False for row in result["speed"]):
        parts.fail("a result of Saccade is wrong")
    elif not any(row["saccade"].get("ms_median") for row in result["speed"]):
        parts.fail("no shape was measured")
    result["nvidia_smi"] = smi + _nvidia_smi()[1:]
    result["seconds"] = clock.used()
    return result


def _speed(
    result: dict[str, Any],
    options: argparse.Namespace,
    saccade: Saccade,
    torch: TorchPeer | None,
    clock: Clock,
) -> list[dict[str, Any]]:
    rows, dtypes = (QUICK_ROWS, QUICK_DTYPES) if options.quick else (ROWS, DTYPES)
    measured, result["complete_rounds"] = rounds.measure(
        rows, dtypes, saccade, torch, result["limits"] or {}, Clock(clock.left() - _LAST_SECONDS), _say,
        most_rounds=1 if options.quick else 5,
    )  # fmt: skip
    return [page.measured_json(each) for each in measured]


def main(argv: list[str] | None = None) -> int:
    """Exit code 0: `saccade verify` passed on this device; 1: it did not, or gave no result; 2: bad usage."""
    options = _arguments(argv)
    result = make(options)
    text = page.markdown(result)
    (options.out / "report.json").write_text(json.dumps(result, indent=2) + "\n")
    (options.out / "report.md").write_text(text)
    print(text)
    _say(f"{result['seconds']:.0f} s; written to {options.out}/report.md and report.json")
    return 0 if result["verify"] and result["verify"]["ok"] else 1
