# SPDX-License-Identifier: Apache-2.0
"""Measures the contestants on the shapes: side by side, in turns, and judges what they computed."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine
from entries import SACCADE, Entry, Row
from environments import Environments
from session import ContestantError, Session
from shapes import Shape

_CONTESTANTS = Path(__file__).resolve().parent.parent / "contestants"
_TURN_SECONDS = 0.2  # how long a contestant's turn in a round is to take, about
_MAX_RUNS = 40  # in a turn
_WARMUP_RUNS = 1  # after the first result
# Before a turn: threads of whoever was on before stop waiting actively for more work.
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Settings:
    build: Path
    work: Path
    model_case: Path
    weights: Path
    threads: int
    rounds: int
    starts: int
    slow_cold_starts: bool
    start_timeout: float
    run_timeout: float
    quiet_limit: float
    quiet_timeout: float


@dataclass
class Outcome:
    """One row on one shape."""

    reason: str = ""  # why it was not measured
    ms: list[float] = field(default_factory=list)
    identity: dict[str, Any] = field(default_factory=dict)
    verdict: dict[str, Any] = field(default_factory=dict)
    cold_seconds: list[float] = field(default_factory=list)
    warm_seconds: list[float] = field(default_factory=list)

    @property
    def median_ms(self) -> float | None:
        return statistics.median(self.ms) if self.ms else None

    @property
    def right(self) -> bool:
        return bool(self.verdict.get("passed"))


@dataclass
class ShapeResult:
    shape: Shape
    outcomes: dict[str, Outcome]  # by the row's key
    others_load: float | None = None
    quiet: bool = True


class Comparison:
    def __init__(self, settings: Settings, environments: Environments, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._environments = environments
        self._say = say
        for folder in ("cases", "logs", "results"):
            (settings.work / folder).mkdir(parents=True, exist_ok=True)

    def install(self, rows: list[Row]) -> None:
        """Makes what is missing of the Python environments, so that no measurement is held up by it."""
        for row in rows:
            if row.entry.is_script:
                self._environments.python_for(row.entry)

    def measure(self, shape: Shape, rows: list[Row]) -> ShapeResult:
        """Everything about one shape."""
        taking_part = [row for row in rows if row.entry.models or not shape.model]
        outcomes = {row.key: Outcome() for row in taking_part}
        try:
            self._prepare(shape)
        except ContestantError as error:
            return ShapeResult(shape, {key: Outcome(reason=str(error)) for key in outcomes})
        quiet = machine.wait_until_quiet(self._settings.quiet_limit, self._settings.quiet_timeout, self._say)
        with ExitStack() as stack:
            sessions: dict[Row, Session] = {}
            for row in taking_part:
                outcome = outcomes[row.key]
                try:
                    sessions[row] = stack.enter_context(self._start(shape, row))
                    outcome.identity = sessions[row].identity
                    sessions[row].run(_WARMUP_RUNS, self._settings.start_timeout)
                except ContestantError as error:
                    outcome.reason = str(error)
                    sessions.pop(row, None)
                    self._say(f"{shape.name} {row.key}: {error}")
            load = machine.OthersLoad(lambda: sum(s.cpu_seconds() for s in sessions.values()))
            self._rounds(shape, sessions, outcomes)
            others_load = load.share()
            self._judge(shape, sessions, outcomes)
        self._starts(shape, list(sessions), outcomes)
        return ShapeResult(shape, outcomes, others_load, quiet)

    def _rounds(self, shape: Shape, sessions: dict[Row, Session], outcomes: dict[str, Outcome]) -> None:
        runs: dict[Row, int] = {}
        for number in range(self._settings.rounds):
            for row, session in list(sessions.items()):
                outcome = outcomes[row.key]
                time.sleep(_PAUSE_SECONDS)
                try:
                    if row not in runs:
                        (once,) = session.run(1, self._settings.run_timeout)
                        runs[row] = max(1, min(_MAX_RUNS, math.ceil(_TURN_SECONDS * 1e3 / max(once, 1e-3))))
                    outcome.ms += session.run(runs[row], self._settings.run_timeout)
                except ContestantError as error:
                    outcome.reason, outcome.ms = str(error), []
                    del sessions[row]
            self._say(f"{shape.name} ({shape.text}): round {number + 1} of {self._settings.rounds}")

    def _judge(self, shape: Shape, sessions: dict[Row, Session], outcomes: dict[str, Outcome]) -> None:
        for row, session in list(sessions.items()):
            outcome = outcomes[row.key]
            try:
                session.write(self._settings.run_timeout)
                outcome.verdict = self._check(self._case(shape, row.entry), self._result(shape, row))
            except ContestantError as error:
                outcome.verdict = {"passed": False, "reason": str(error)}
            if not outcome.right:
                self._say(f"{shape.name} {row.key}: WRONG, {outcome.verdict.get('reason')}")

    def _starts(self, shape: Shape, rows: list[Row], outcomes: dict[str, Outcome]) -> None:
        """From the start of the process to its first result, without and with what caches keep."""
        for row in rows:
            outcome = outcomes[row.key]
            try:
                for _ in range(self._settings.starts):
                    with self._start(shape, row) as session:
                        outcome.warm_seconds.append(session.start_seconds)
                    if row.entry.slow_cold_start and not self._settings.slow_cold_starts:
                        continue
                    with tempfile.TemporaryDirectory() as empty:
                        cold = {
                            "XDG_CACHE_HOME": empty,
                            "SACCADE_CACHE": empty,
                            "MESA_SHADER_CACHE_DISABLE": "1",
                        }
                        with self._start(shape, row, cold) as session:
                            outcome.cold_seconds.append(session.start_seconds)
            except ContestantError as error:
                self._say(f"{shape.name} {row.key}: another start failed: {error}")

    def _start(self, shape: Shape, row: Row, more: dict[str, str] | None = None) -> Session:
        threads = str(self._settings.threads)
        command = [
            *self._command(row.entry),
            str(self._case(shape, row.entry)),
            str(self._result(shape, row)),
        ]
        command += ["--threads", threads, *row.entry.arguments]
        if shape.model:
            command += ["--weights", str(self._settings.weights)]
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "LP_NUM_THREADS": threads, **(more or {})}
        environment |= row.entry.environment
        if row.manifest is not None:
            environment["VK_DRIVER_FILES"] = str(row.manifest)
        log = self._settings.work / "logs" / f"{shape.name}.{row.key}.log"
        return Session(command, environment, log, self._settings.start_timeout)

    def _command(self, entry: Entry) -> list[str]:
        if entry.is_script:
            python, reason = self._environments.python_for(entry)
            if python is None:
                raise ContestantError(reason)
            return [str(python), str(_CONTESTANTS / entry.program)]
        return [str(self._program(entry.program))]

    def _program(self, name: str) -> Path:
        path = self._settings.build / "bench/peers" / name
        if not path.exists():
            raise ContestantError(
                f"{name} is not built in {self._settings.build}: it needs its library installed"
            )
        return path

    def _case(self, shape: Shape, entry: Entry) -> Path:
        if shape.model:
            return self._settings.model_case
        return self._settings.work / "cases" / f"{shape.name}.{entry.storage}.safetensors"

    def _result(self, shape: Shape, row: Row) -> Path:
        return self._settings.work / "results" / f"{shape.name}.{row.key}.safetensors"

    def _prepare(self, shape: Shape) -> None:
        """Makes the case files of a shape where they are missing."""
        if shape.model:
            if not self._settings.weights.exists():
                raise ContestantError(
                    f"there is no {self._settings.weights}: tools/models/fetch_dinov2 fetches it"
                )
            return
        if (
            self._case(shape, SACCADE).exists()
            and self._case(shape, Entry("", "", "", storage="f16")).exists()
        ):
            return
        self._say(f"{shape.name}: computing what is right, in double precision; once")
        command = [
            self._program("peer_make_case"),
            shape.name,
            self._settings.work / "cases",
            *shape.make_arguments,
        ]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise ContestantError(f"peer_make_case failed: {done.stderr.strip() or done.stdout.strip()}")

    def _check(self, case: Path, result: Path) -> dict[str, Any]:
        command = [str(self._program("peer_check_result")), str(case), str(result)]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise ContestantError(f"peer_check_result failed: {done.stderr.strip()}") from None
