# SPDX-License-Identifier: Apache-2.0
"""Runs `saccade` and other programs for a limited time, and the clock that all parts share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Unavailable(Exception):
    """Why there is no result: the text stands in the report."""


class Clock:
    """The seconds that all parts together may take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._start = time.monotonic()

    def used(self) -> float:
        return time.monotonic() - self._start

    def left(self) -> float:
        return self.seconds - self.used()

    def share(self, part: float) -> float:
        """Seconds for something that may take that part of the whole, and no more than is left."""
        return max(min(part * self.seconds, self.left()), 0.0)


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def run(command: Sequence[str], seconds: float) -> Outcome:
    """Raises Unavailable if the program cannot be started, is killed, or does not end in time."""
    if seconds < 0.1:
        raise Unavailable("no time was left for it")
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be started: {error.strerror}") from error
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end_group(process)
        raise Unavailable(f"it was stopped after {seconds:.0f} s, the time that it had") from None
    except BaseException:
        _end_group(process)
        raise
    if process.returncode < 0:
        raise Unavailable(f"ended by {signal.Signals(-process.returncode).name}: {_last_line(err)}")
    return Outcome(process.returncode, out, err)


def _end_group(process: subprocess.Popen[str]) -> None:
    """The program and what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Saccade:
    """The program under test, on one device."""

    def __init__(self, program: Path, device: str) -> None:
        self._program = program
        self._device = ["--device", device] if device else []

    def ask(self, *arguments: str, seconds: float, fine: tuple[int, ...] = (0,)) -> tuple[int, Any]:
        """Exit code, one of `fine`, and what it printed as JSON."""
        outcome = run([str(self._program), *arguments, "--json", *self._device], seconds)
        if outcome.code not in fine:
            raise Unavailable(f"exit code {outcome.code}: {_last_line(outcome.err)}")
        try:
            return outcome.code, json.loads(outcome.out)
        except ValueError as error:
            raise Unavailable(
                f"`saccade {arguments[0]}` printed no JSON: {_last_line(outcome.out)}"
            ) from error
