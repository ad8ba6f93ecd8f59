# SPDX-License-Identifier: Apache-2.0
"""A contestant's process; contestant.hpp describes what is said to it and what it answers."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_CLOSE_SECONDS = 5


class ContestantError(Exception):
    """Why a contestant does not take part, or no longer."""


class Session:
    """Starts a contestant and waits for its first result."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, timeout: float
    ) -> None:
        self._log = log
        self._answered = b""
        started = time.monotonic()
        try:
            with log.open("wb") as errors:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=dict(environment),
                )
        except OSError as error:
            raise ContestantError(f"cannot be started: {error}") from error
        try:
            self.identity = self._read(timeout)
        except BaseException:
            self.close()
            raise
        # From the start of the process to the first result.
        self.start_seconds = time.monotonic() - started
        if "refused" in self.identity:
            self.close()
            raise ContestantError(self.identity["refused"])

    def run(self, runs: int, timeout: float) -> list[float]:
        """Milliseconds of each run."""
        return self.ask(f"run {runs}", timeout)["ms"]

    def write(self, timeout: float) -> None:
        """Lets it write the result of its last run."""
        self.ask("write", timeout)

    def cpu_seconds(self) -> float:
        """What it has used so far."""
        try:
            # The name of the program, in brackets, may hold anything.
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, line: str, timeout: float) -> dict[str, Any]:
        """The answer to a line."""
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        answer = self._read(timeout)
        if "refused" in answer:
            raise ContestantError(answer["refused"])
        return answer

    def _read(self, timeout: float) -> dict[str, Any]:
        """The next line of JSON. Libraries that print to standard output are not in the way."""
        assert self._process.stdout
        deadline = time.monotonic() + timeout
        while True:
            line, newline, rest = self._answered.partition(b"\n")
            if newline:
                self._answered = rest
                try:
                    answer = json.loads(line)
                except ValueError:
                    continue
                if isinstance(answer, dict):
                    return answer
                continue
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self._process.kill()
                raise ContestantError(f"no answer within {timeout:.0f} s")
            chunk = os.read(self._process.stdout.fileno(), 65536)
            if not chunk:
                raise self._ended()
            self._answered += chunk

    def _ended(self) -> ContestantError:
        code = self._process.wait(_CLOSE_SECONDS)
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        said = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return ContestantError(f"{how}: {said[-1].strip()}" if said else how)
