# SPDX-License-Identifier: Apache-2.0
"""The tables, in Markdown that is aligned well enough for a terminal, and the same as JSON."""

from __future__ import annotations

import datetime
import statistics
from typing import Any

import machine
from compare import Outcome, ShapeResult
from entries import Row, opponent

_NOTHING = "-"


def _table(header: list[str], lines: list[list[str]]) -> str:
    """Words to the left, figures to the right."""
    words = [name in ("", "remarks") for name in header]
    # Remarks are last and may be long.
    widths = [
        len(name) if name == "remarks" else max(len(line[n]) for line in [header, *lines])
        for n, name in enumerate(header)
    ]

    def row(cells: list[str]) -> str:
        padded = [cell.ljust(w) if word else cell.rjust(w) for cell, w, word in zip(cells, widths, words)]
        return "| " + " | ".join(padded) + " |"

    rule = "|".join("-" * (w + 2) if word else "-" * (w + 1) + ":" for w, word in zip(widths, words))
    return "\n".join([row(header), f"|{rule}|", *map(row, lines)])


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ratio(result: ShapeResult, row: Row, rows: list[Row]) -> float | None:
    """How many times as fast Saccade is."""
    ours = result.outcomes.get(opponent(row, rows).key)
    theirs = result.outcomes.get(row.key)
    if not ours or not theirs or not ours.median_ms or not theirs.median_ms:
        return None
    return theirs.median_ms / ours.median_ms


def _speed_cell(result: ShapeResult, row: Row, rows: list[Row]) -> str:
    outcome = result.outcomes.get(row.key)
    if outcome is None or outcome.median_ms is None:
        return _NOTHING
    flops = result.shape.flops
    speed = _number(flops / outcome.median_ms / 1e6) if flops else f"{_number(outcome.median_ms)} ms"
    factor = ratio(result, row, rows)
    versus = f" ({_number(factor)}x)" if factor is not None and opponent(row, rows) != row else ""
    return speed + versus + ("" if outcome.right else " WRONG")


def _error_cell(outcome: Outcome | None) -> str:
    if outcome is None or "error" not in outcome.verdict:
        return _NOTHING
    mark = "" if outcome.right else " WRONG"
    return f"{outcome.verdict['error']:.1e} of {outcome.verdict['allowed']:.1e}{mark}"


def _start_cell(outcome: Outcome | None) -> str:
    if outcome is None or not outcome.warm_seconds:
        return _NOTHING
    cold = f"{statistics.median(outcome.cold_seconds):.2f}" if outcome.cold_seconds else _NOTHING
    return f"{cold} / {statistics.median(outcome.warm_seconds):.2f}"


def _identity(row: Row, results: list[ShapeResult]) -> dict[str, Any]:
    outcomes = [result.outcomes.get(row.key) for result in results]
    return next((outcome.identity for outcome in outcomes if outcome and outcome.identity), {})


def _title(row: Row, results: list[ShapeResult]) -> str:
    identity = _identity(row, results)
    name, comma, backend = row.entry.title.partition(",")
    title = " ".join(filter(None, [name, identity.get("version")])) + comma + backend
    return f"{title} @ {row.manifest.stem}" if row.several_drivers and row.manifest else title


def _by_shape(texts: dict[str, str]) -> list[str]:
    """Texts by the name of their shape, each once, with the shapes that it is about unless those are all."""
    shapes: dict[str, list[str]] = {}
    for name, text in texts.items():
        if text:
            shapes.setdefault(text, []).append(name)
    return [
        text if len(names) == len(texts) else f"{', '.join(names)}: {text}" for text, names in shapes.items()
    ]


def _what_is_amiss(outcome: Outcome) -> str:
    if outcome.reason:
        return f"not run: {outcome.reason}"
    return "" if outcome.right else f"wrong: {outcome.verdict.get('reason')}"


def _remarks(row: Row, results: list[ShapeResult]) -> str:
    """Where it ran, what it says of itself, and on which shapes it is missing or wrong, and why."""
    device = _identity(row, results).get("device")
    outcomes = {r.shape.name: r.outcomes[row.key] for r in results if row.key in r.outcomes}
    parts = [f"on {device}"] if row.entry.vulkan and device else []
    parts += _by_shape({name: o.identity["note"] for name, o in outcomes.items() if o.identity.get("note")})
    parts += _by_shape({name: _what_is_amiss(outcome) for name, outcome in outcomes.items()})
    return "; ".join(parts)


def _drivers_line(rows: list[Row], results: list[ShapeResult]) -> str:
    drivers = [_identity(row, results).get("driver") for row in rows]
    named = list(dict.fromkeys(driver for driver in drivers if driver))
    return f"Vulkan driver: {', '.join(named)}." if named else ""


def _load_line(results: list[ShapeResult]) -> str:
    loads = [f"{r.shape.name} {r.others_load:.0%}" for r in results if r.others_load is not None]
    return f"Other programs used of the machine meanwhile: {', '.join(loads)}." if loads else ""


def markdown(results: list[ShapeResult], rows: list[Row], threads: int, rounds: int) -> str:
    names = [result.shape.name for result in results]
    shapes = ", ".join(f"{r.shape.name} {r.shape.text} ({r.shape.stands_for})" for r in results)

    def table(cell: Any) -> str:
        lines = [[_title(row, results), *(cell(result, row) for result in results)] for row in rows]
        return _table(["", *names], lines)

    where = f"{machine.cpu_name()}, {threads} threads on {machine.cpu_count()} processors"
    parts = [
        f"{where}; {datetime.date.today()}; {rounds} rounds in turns.",
        f"Shapes: {shapes}.",
        "GFLOP/s, or ms where marked, of the median run; in brackets: how many times as fast Saccade is.",
        _table(
            ["", *names, "remarks"],
            [
                [
                    _title(row, results),
                    *(_speed_cell(result, row, rows) for result in results),
                    _remarks(row, results),
                ]
                for row in rows
            ],
        ),
        "Largest error of the timed output against double precision, and what fp32 (fp16 for K and V in it) allows.",
        table(lambda result, row: _error_cell(result.outcomes.get(row.key))),
    ]
    if any(outcome.warm_seconds for result in results for outcome in result.outcomes.values()):
        parts.append(
            "Seconds from the start of the process to the first result, without / with what caches keep."
        )
        parts.append(table(lambda result, row: _start_cell(result.outcomes.get(row.key))))
    parts.append(_drivers_line(rows, results))
    parts.append(_load_line(results))
    return "\n\n".join(part for part in parts if part)


def as_json(results: list[ShapeResult], rows: list[Row], threads: int, rounds: int) -> dict[str, Any]:
    def outcome(result: ShapeResult, row: Row) -> dict[str, Any] | None:
        found = result.outcomes.get(row.key)
        if found is None:
            return None
        if found.reason:
            return {"not_run": found.reason}
        flops = result.shape.flops
        return {
            "ms_median": found.median_ms,
            "ms_min": min(found.ms, default=None),
            "gflops": flops / found.median_ms / 1e6 if flops and found.median_ms else None,
            "saccade_times_as_fast": ratio(result, row, rows),
            "ms": found.ms,
            "check": found.verdict,
            "note": found.identity.get("note", ""),
            "first_result_cold_s": found.cold_seconds,
            "first_result_warm_s": found.warm_seconds,
        }

    return {
        "cpu": machine.cpu_name(),
        "cpus": machine.cpu_count(),
        "threads": threads,
        "rounds": rounds,
        "date": str(datetime.date.today()),
        "shapes": {
            result.shape.name: {
                "shape": result.shape.text,
                "others_load": result.others_load,
                "quiet_before": result.quiet,
            }
            for result in results
        },
        "rows": [
            {
                "key": row.key,
                "title": row.entry.title,
                "storage_of_k_and_v": row.entry.storage,
                **{k: v for k, v in _identity(row, results).items() if k in ("version", "device", "driver")},
                "results": {result.shape.name: outcome(result, row) for result in results},
            }
            for row in rows
        ],
    }
