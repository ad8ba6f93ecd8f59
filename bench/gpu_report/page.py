# SPDX-License-Identifier: Apache-2.0
"""The report as JSON, and the Markdown made of that."""

from __future__ import annotations

import re
from typing import Any

from rounds import Contestant, Measured
from torch_peer import BACKENDS

FORMAT = "saccade gpu-report 1"
_NOTHING = "-"
_MOST_FAILURES = 10
# Columns of words, which stand to the left; figures stand to the right.
_WORDS = (
    "part",
    "result",
    "attention",
    "dtype",
    "kernel and tile",
    "because",
    "shape",
    "kernel",
    "limit",
    "module",
    "of it",
)
# Of the many things that drivers tell, what decides how fast a kernel can be.
_TELLING = re.compile(
    r"regist|gprs?\b|spill|fills|scratch|stack|lds|slm|shared|(local|workgroup) memory|"
    r"occupancy|waves|warps|subgroups per|live|cycle|latency|throughput",
    re.IGNORECASE,
)


def contestant_json(contestant: Contestant) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if contestant.turns:
        worst = max(contestant.turns, key=lambda turn: turn["error"] / max(turn["error_allowed"], 1e-300))
        result = {
            "ms_median": contestant.ms,
            "ms_min": min(min(turn["ms"]) for turn in contestant.turns),
            "ms_of_rounds": contestant.medians,
            "runs": sum(len(turn["ms"]) for turn in contestant.turns),
            "error": worst["error"],
            "error_allowed": worst["error_allowed"],
            "passed": contestant.right,
        }
        result |= {k: worst[k] for k in ("kernel", "device_clock", "note") if worst.get(k) not in (None, "")}
    if contestant.reason:
        result["stopped" if contestant.turns else "not_run"] = contestant.reason
    return result


def measured_json(measured: Measured) -> dict[str, Any]:
    row = measured.row
    result: dict[str, Any] = {
        "name": row.name,
        "stands_for": row.stands_for,
        "shape": row.text,
        "dtype": measured.dtype,
        "decode": row.decode,
        "flops": row.flops,
        "bytes": row.bytes(measured.dtype),
    }
    for contestant in measured.contestants:
        found = contestant_json(contestant)
        if contestant.ms:
            found["tflops"] = row.flops / contestant.ms / 1e9
            found["gbytes_per_second"] = row.bytes(measured.dtype) / contestant.ms / 1e6
        result[contestant.name] = found
    ours = measured.named("saccade")
    for against, theirs in (("flash", measured.named("flash")), ("best", measured.best_of_torch)):
        if ours and ours.ms and theirs and theirs.ms:
            result[f"times_as_fast_as_{against}"] = theirs.ms / ours.ms
    return result


def _number(value: float | None) -> str:
    if value is None:
        return _NOTHING
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _table(header: list[str], lines: list[list[str]]) -> str:
    rule = ["---" if name in _WORDS else "---:" for name in header]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *lines])


def _speed(found: dict[str, Any] | None, unit: str) -> str:
    if not found or found.get("ms_median") is None:
        return _NOTHING
    return _number(found[unit]) + ("" if found["passed"] else " WRONG")


def _speed_table(rows: list[dict[str, Any]], unit: str, limit: float | None, torch: bool) -> str:
    header = ["shape", "kernel", "ms", "Saccade", "error (allowed)"]
    if limit:
        header.append("of memory's rate")
    if torch:
        header += [*BACKENDS, "x flash", "x best"]
    lines = []
    for row in rows:
        ours = row["saccade"]
        timed = ours.get("ms_median") is not None
        error = f"{ours['error']:.1e} ({ours['error_allowed']:.1e})" if timed else _NOTHING
        line = [
            f"{row['name']} {row['shape']} ({row['stands_for']})",
            ours.get("kernel", _NOTHING),
            _number(ours.get("ms_median")),
            _speed(ours, unit),
            error,
        ]
        if limit:
            line.append(f"{ours[unit] / limit:.0%}" if timed else _NOTHING)
        if torch:
            line += [_speed(row.get(backend), unit) for backend in BACKENDS]
            line += [_number(row.get(f"times_as_fast_as_{name}")) for name in ("flash", "best")]
        lines.append(line)
    return _table(header, lines)


def _choices_section(facts: dict[str, Any] | None) -> list[str]:
    lines = [
        [choice["use"], choice["dtype"], str(choice["head_dim"]), choice["tile"], choice["why"]]
        for choice in (facts or {}).get("attention_choices", [])
    ]
    header = ["attention", "dtype", "head_dim", "kernel and tile", "because"]
    return ["## Which kernels it takes", _table(header, lines)] if lines else []


def _speed_section(report: dict[str, Any]) -> list[str]:
    rows, torch = report["speed"], report["torch"]
    if not rows:
        return []
    limits = report["limits"] or {}
    memory = max(limits.get("copy_gbytes_per_second", 0), limits.get("read_gbytes_per_second", 0)) or None
    text = [
        "## How fast",
        f"Whole rounds in turns: {report['complete_rounds']}. Figures are medians of all turns on a row, by the "
        "device's own clock. FLOP count 2 per product, half of them where a mask is causal; bytes are inputs read and "
        "outputs written once. Errors are those of the outputs that were timed, against double precision.",
    ]
    if torch:
        text.append(
            f"PyTorch {torch['version']} on {torch['device']}: columns {', '.join(BACKENDS)} are the backends of its "
            "scaled_dot_product_attention; `x` is how many times as fast Saccade is."
        )
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        for decode, unit, name in ((False, "tflops", "TFLOP/s"), (True, "gbytes_per_second", "decode, GB/s")):
            chosen = [row for row in rows if row["dtype"] == dtype and row["decode"] == decode]
            if chosen:
                text += [
                    f"### {dtype}, {name}",
                    _speed_table(chosen, unit, memory if decode else None, bool(torch)),
                ]
    return text


def _kernels_section(reports: list[dict[str, Any]]) -> list[str]:
    lines = []
    for report in reports:
        for kernel in report["kernels"]:
            for plan in kernel.get("statistics", []):
                if "refusal" in plan:
                    continue
                for pipeline in plan["pipelines"]:
                    for executable in pipeline["executables"]:
                        telling = [
                            f"{k} {v}" for k, v in executable["statistics"].items() if _TELLING.search(k)
                        ]
                        lines.append([f"{kernel['name']} {plan['plan']}", str(report["head_dim"]), pipeline["module"],
                                      str(executable["subgroup_size"]), ", ".join(telling)])  # fmt: skip
    if not lines:
        return []
    return [
        "## What the driver makes of the kernels",
        _table(["kernel", "head_dim", "module", "subgroup", "of it"], lines),
    ]


def _failures(verify: dict[str, Any]) -> list[str]:
    failures = [failure for device in verify["devices"] for failure in device.get("failures", [])]
    lines = [f"- `{failure['repeat']}`: {failure['reason']}" for failure in failures[:_MOST_FAILURES]]
    if len(failures) > _MOST_FAILURES:
        lines.append(f"- and {len(failures) - _MOST_FAILURES} more, in report.json")
    return ["\n".join(lines)] if lines else []


def missing(report: dict[str, Any]) -> list[str]:
    """What has no result, and why: each reason once, with the rows that it is about."""
    found = [f"{part['name']}: {part['reason']}" for part in report["parts"] if part["reason"]]
    about: dict[tuple[str, str], list[str]] = {}
    for row in report["speed"]:
        for name in ("saccade", *BACKENDS):
            for how in ("not_run", "stopped"):
                reason = row.get(name, {}).get(how)
                if reason:
                    about.setdefault((name, f"{how.replace('_', ' ')}: {reason}"), []).append(
                        f"{row['dtype']} {row['name']}"
                    )
            if row.get(name, {}).get("passed") is False:
                about.setdefault((name, "its result is wrong"), []).append(f"{row['dtype']} {row['name']}")
            note = row.get(name, {}).get("note")
            if note:
                about.setdefault((name, note), []).append(f"{row['dtype']} {row['name']}")
    return found + [f"{name}, {', '.join(rows)}: {text}" for (name, text), rows in about.items()]


def markdown(report: dict[str, Any]) -> str:
    verify = report["verify"]
    device = report["device"] or "no device"
    parts = [[part["name"], part["result"], f"{part['seconds']:.0f} s"] for part in report["parts"]]
    text = [
        f"# {device}",
        f"{report['driver'] or 'unknown driver'}; Saccade {report['version'] or 'of an unknown version'}; {report['date']}; {report['host']}.",
        _table(["part", "result", "took"], parts),
        "## Is it right?",
    ]
    if verify:
        text.append(
            f"`saccade verify`: {verify['passed']} passed, {verify['failed']} failed, {verify['not_run']} not run."
        )
        text += _failures(verify)
    else:
        text.append("Not known: `saccade verify` gave no result.")
    text += _choices_section(report["facts"])
    text += _speed_section(report)
    if report["limits"]:
        limits = {k: v for k, v in report["limits"].items() if isinstance(v, (int, float))}
        text += [
            "## What the device can do, measured",
            _table(["limit", ""], [[k, _number(v)] for k, v in limits.items()]),
        ]
    text += _kernels_section(report["kernels"])
    absent = missing(report)
    text += ["## What is missing, and remarks", "\n".join(f"- {line}" for line in absent) or "Nothing."]
    if report["nvidia_smi"]:
        text += ["## nvidia-smi, before and after", "```text\n" + "\n".join(report["nvidia_smi"]) + "\n```"]
    return "\n\n".join(text) + "\n"
