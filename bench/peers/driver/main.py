# SPDX-License-Identifier: Apache-2.0
"""The command line of bench/peers/compare."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import machine
import report
from compare import Comparison, Settings
from entries import ENTRIES, SACCADE, rows_of
from environments import Environments
from shapes import SHAPES

_CHECKOUT = Path(__file__).resolve().parents[3]
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "saccade"


def _say(text: str) -> None:
    print(f"compare: {text}", file=sys.stderr, flush=True)


def _names(known: list[str]):
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is not one of {', '.join(known)}")
        return names

    return parse


def _python(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    known = sorted({entry.environment_name for entry in ENTRIES if entry.is_script})
    if not equals or name not in known:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=PATH with a NAME of {', '.join(known)}")
    return name, Path(path).absolute()


def _at_least(minimum: int):
    def parse(text: str) -> int:
        if not text.isdigit() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {minimum}")
        return int(text)

    return parse


def _file(text: str) -> Path:
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return Path(text).absolute()


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    shapes = [shape.name for shape in SHAPES]
    peers = [entry.key for entry in ENTRIES]
    parser = argparse.ArgumentParser(
        prog="bench/peers/compare", description="Saccade beside other libraries."
    )
    add = parser.add_argument
    add("--only", type=_names(shapes), default=shapes, metavar="SHAPE,...", help=f"of {', '.join(shapes)}")
    add("--peers", type=_names(peers), default=peers, metavar="PEER,...", help=f"of {', '.join(peers)}")
    add("--rounds", type=_at_least(1), default=7, metavar="N", help="turns of each contestant on a shape (7)")
    add(
        "--starts",
        type=_at_least(0),
        default=3,
        metavar="N",
        help="how often starting is measured, cold and warm (3)",
    )
    add(
        "--quick",
        action="store_true",
        help="2 rounds, no measuring of starts, no waiting for a quiet machine",
    )
    add(
        "--slow-cold-starts",
        action="store_true",
        help="also cold starts that take minutes (ggml's Vulkan backend)",
    )
    add("--driver", type=_file, action="append", default=[], metavar="MANIFEST", help="a Vulkan driver's JSON file; may "
        "be given again; without it what VK_DRIVER_FILES leaves")  # fmt: skip
    add(
        "--threads",
        type=_at_least(1),
        default=machine.cpu_count(),
        metavar="N",
        help="of everybody (all processors)",
    )
    add(
        "--quiet-limit",
        type=int,
        default=10,
        metavar="PERCENT",
        help="what others may use of a quiet machine (10)",
    )
    add(
        "--wait",
        type=_at_least(0),
        default=60,
        metavar="SECONDS",
        help="for a quiet machine, before each shape (60)",
    )
    add(
        "--timeout",
        type=_at_least(1),
        default=300,
        metavar="SECONDS",
        help="for a first result, or a turn (300)",
    )
    add("--json", type=Path, metavar="FILE", help="also write everything that was measured")
    add("--markdown", type=Path, metavar="FILE", help="also write what is printed")
    add(
        "--work",
        type=Path,
        default=_CACHE / "peers",
        metavar="DIR",
        help="environments and cases (%(default)s)",
    )
    add(
        "--python",
        type=_python,
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="a Python that has a peer",
    )
    add("--no-setup", action="store_true", help="install and build nothing")
    add("--build", type=Path, default=_CHECKOUT / "build/release", metavar="DIR", help="(%(default)s)")
    add(
        "--dinov2",
        type=Path,
        default=_CACHE / "dinov2s.safetensors",
        metavar="FILE",
        help="weights (%(default)s)",
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Exit code 0: Saccade was measured and right on every shape; 1: it was not; 2: bad usage."""
    options = _arguments(argv)
    settings = Settings(
        build=options.build.absolute(),
        work=options.work.absolute(),
        model_case=_CHECKOUT / "tests/cases/real/dinov2s_astronaut.safetensors",
        weights=options.dinov2.absolute(),
        threads=options.threads,
        rounds=2 if options.quick else options.rounds,
        starts=0 if options.quick else options.starts,
        slow_cold_starts=options.slow_cold_starts,
        start_timeout=options.timeout,
        run_timeout=options.timeout,
        quiet_limit=1.0 if options.quick else options.quiet_limit / 100,
        quiet_timeout=0 if options.quick else options.wait,
    )
    environments = Environments(settings.work / "python", dict(options.python), not options.no_setup, _say)
    comparison = Comparison(settings, environments, _say)
    entries = [entry for entry in ENTRIES if entry is SACCADE or entry.key in options.peers]
    rows = rows_of(entries, options.driver)
    comparison.install(rows)
    results = [comparison.measure(shape, rows) for shape in SHAPES if shape.name in options.only]
    text = report.markdown(results, rows, settings.threads, settings.rounds)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    if options.json:
        options.json.write_text(
            json.dumps(report.as_json(results, rows, settings.threads, settings.rounds), indent=2)
        )
    ours = [row.key for row in rows if row.entry is SACCADE]
    return 0 if all(result.outcomes[key].right for result in results for key in ours) else 1
