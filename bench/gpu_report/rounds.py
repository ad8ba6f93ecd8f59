# SPDX-License-Identifier: Apache-2.0
"""Measures Saccade and PyTorch in turns, round after round, as long as there is time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from program import Clock, Saccade, Unavailable
from rows import Row
from torch_peer import BACKENDS, TorchPeer

_MEASURED_SECONDS = (
    0.2  # of one contestant's turn, and as much before to warm up: clocks rise only under load
)
_SLOWEST_SECONDS = 4.0  # of both, where a run takes longer than was thought
_LONGEST_RUN_SECONDS = 4.0  # that one run may be thought to take
_NO_TIME = "no time was left for it"
_TURN_SECONDS = 60.0  # that a turn may take with everything around it


@dataclass
class Contestant:
    """One side of a row: its turns, or why there is none."""

    name: str  # "saccade", or a backend of PyTorch
    turns: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""  # of the first turn that failed; there is none after it
    seconds: float = 0.0  # of its longest turn

    @property
    def medians(self) -> list[float]:
        return [statistics.median(turn["ms"]) for turn in self.turns]

    @property
    def ms(self) -> float | None:
        return statistics.median(self.medians) if self.turns else None

    @property
    def right(self) -> bool:
        return all(turn["passed"] for turn in self.turns)


@dataclass
class Measured:
    row: Row
    dtype: str
    contestants: list[Contestant]

    def named(self, name: str) -> Contestant | None:
        return next((c for c in self.contestants if c.name == name), None)

    @property
    def best_of_torch(self) -> Contestant | None:
        timed = [c for c in self.contestants if c.name != "saccade" and c.ms is not None and c.right]
        return min(timed, key=lambda c: c.ms or 0.0, default=None)


def _run_seconds(row: Row, dtype: str, limits: dict[str, Any]) -> float:
    """What a run may take that nobody has seen yet: at a tenth of the device's rates, with its submission."""
    rates = [limits.get(name) or 0.0 for name in ("fp32_gflops", "fp16_gflops", "matrix_gflops")]
    gflops = (rates[0] if dtype == "f32" else max(rates)) or 1000.0
    gbytes = limits.get("copy_gbytes_per_second") or 10.0
    return 1e-4 + 10 * max(row.flops / gflops, row.bytes(dtype) / gbytes) / 1e9


def saccade_turn(
    saccade: Saccade, row: Row, dtype: str, run_seconds: float, seconds: float
) -> dict[str, Any]:
    runs = min(max(round(_MEASURED_SECONDS / run_seconds), 5), 2000)
    options = [
        "--no-limits",
        "--warmup",
        str(runs),
        "--repeat",
        str(min(runs, 300)),
        "--budget",
        str(_SLOWEST_SECONDS),
    ]
    # Exit code 1: the error is larger than allowed, which the result says.
    _, report = saccade.ask(
        "bench", "attention", *row.arguments, "--dtype", dtype, *options, seconds=seconds, fine=(0, 1)
    )
    result = report["results"][0]
    if "skipped" in result:
        raise Unavailable(result["skipped"])
    turn = {
        name: result[name]
        for name in ("kernel", "device_clock", "error", "error_allowed", "passed", "wall_ms_median")
    }
    return {**turn, "ms": [ms for ms in result["ms"] if ms is not None] or [result["ms_median"]]}


def measure(
    rows: Sequence[Row],
    dtypes: Sequence[str],
    saccade: Saccade,
    torch: TorchPeer | None,
    limits: dict[str, Any],
    clock: Clock,
    say: Callable[[str], None],
    most_rounds: int,
) -> tuple[list[Measured], int]:
    """The rows, and how many rounds were completed. What there was no time for has a reason."""
    names = ["saccade", *(BACKENDS if torch else ())]
    table = [Measured(row, dtype, [Contestant(name) for name in names]) for dtype in dtypes for row in rows]
    _leave_out_the_hopeless(table, limits)
    complete = 0
    for number in range(most_rounds):
        for measured in table:
            say(f"round {number + 1}: {measured.dtype} {measured.row.name} {measured.row.text}")
            # Every other round the other way round, so that nobody always comes after the same one.
            order = measured.contestants if number % 2 == 0 else measured.contestants[::-1]
            for contestant in order:
                _take_turn(contestant, measured, saccade, torch, limits, clock)
        if any(
            c.reason == _NO_TIME or (len(c.turns) <= number and not c.reason)
            for m in table
            for c in m.contestants
        ):
            break
        complete += 1
    return table, complete


def _leave_out_the_hopeless(table: list[Measured], limits: dict[str, Any]) -> None:
    """One shape that takes a slow device minutes would cost all others their turns."""
    for measured in table:
        seconds = _run_seconds(measured.row, measured.dtype, limits)
        if seconds > _LONGEST_RUN_SECONDS:
            for contestant in measured.contestants:
                contestant.reason = (
                    f"at the rates measured here a run would take seconds, up to {seconds:.0f}"
                )


def _take_turn(
    contestant: Contestant,
    measured: Measured,
    saccade: Saccade,
    torch: TorchPeer | None,
    limits: dict[str, Any],
    clock: Clock,
) -> None:
    # A turn takes about as long as the one before.
    if contestant.reason:
        return
    if clock.left() < max(1.2 * contestant.seconds, 1.0):
        if not contestant.turns:
            contestant.reason = _NO_TIME
        return
    start = time.monotonic()
    limit = min(_TURN_SECONDS, clock.left())
    try:
        if contestant.name == "saccade":
            seen = [turn["wall_ms_median"] / 1e3 for turn in contestant.turns]
            run_seconds = seen[-1] if seen else _run_seconds(measured.row, measured.dtype, limits)
            turn = saccade_turn(saccade, measured.row, measured.dtype, run_seconds, limit)
        else:
            assert torch
            turn = torch.measure(measured.row, measured.dtype, contestant.name, _MEASURED_SECONDS, limit)
        contestant.turns.append(turn)
    except Unavailable as error:
        contestant.reason = str(error)
    contestant.seconds = max(contestant.seconds, time.monotonic() - start)
