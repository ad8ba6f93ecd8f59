# SPDX-License-Identifier: Apache-2.0
"""The machine: what it is, and how busy it is."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

_STAT = Path("/proc/stat")
_SAMPLE_SECONDS = 1.0
_QUIET_SECONDS = 3  # in a row


def cpu_name() -> str:
    """With the vector instructions that decide what the peers' kernels do."""
    fields: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, colon, value = line.partition(":")
            if colon:
                fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = fields.get("model name") or platform.processor() or platform.machine()
    flags = fields.get("flags", "").split()
    vectors = next((word for flag, word in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return f"{name} with {vectors}" if vectors else name


def cpu_count() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def cpu_seconds() -> tuple[float, float]:
    """Of all processors together, since start-up: busy (stolen by the machine's host included), and all."""
    ticks = [int(field) for field in _STAT.read_text().split("\n", 1)[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK"), sum(ticks) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(limit: float, timeout: float, say: Callable[[str], None]) -> bool:
    """Waits until no more than `limit` of the processors' time was used for some seconds in a row.

    False if that did not happen within `timeout` seconds. Where the system does not say how busy it is, it counts
    as quiet; a timeout of 0 means not to look.
    """
    if timeout <= 0:
        return True
    if not _STAT.exists():
        say("this system does not say how busy it is; not waiting for it to be quiet")
        return True
    deadline = time.monotonic() + timeout
    quiet, told = 0, False
    while quiet < _QUIET_SECONDS:
        before = cpu_seconds()
        time.sleep(_SAMPLE_SECONDS)
        after = cpu_seconds()
        share = (after[0] - before[0]) / max(after[1] - before[1], 1e-9)
        quiet = quiet + 1 if share <= limit else 0
        if time.monotonic() >= deadline and quiet < _QUIET_SECONDS:
            say(f"going on although others use {share:.0%} of the machine: the figures will be unsteady")
            return False
        if share > limit and not told:
            say(f"waiting for a quiet machine: {share:.0%} of it is in use (at most {timeout:.0f} s)")
            told = True
    return True


class OthersLoad:
    """How much of the machine others used while we measured."""

    def __init__(self, ours: Callable[[], float]) -> None:
        self._ours = ours
        self._start = (*cpu_seconds(), ours()) if _STAT.exists() else None

    def share(self) -> float | None:
        if self._start is None:
            return None
        busy, total = cpu_seconds()
        others = busy - self._start[0] - (self._ours() - self._start[2])
        return min(1.0, max(0.0, others / max(total - self._start[1], 1e-9)))
