# SPDX-License-Identifier: Apache-2.0
"""The driver of bench/peers/compare where no peer is installed: python3 -m unittest, in this folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

_HERE = Path(__file__).resolve().parent
_CHECKOUT = _HERE.parents[1]
_CASE = _CHECKOUT / "tests/cases/plain_f32.safetensors"
_CHECK_RESULT = os.environ.get("SACCADE_PEER_CHECK_RESULT", "")
sys.path.insert(0, str(_CHECKOUT / "bench/peers/driver"))

import entries
import machine
import main
import safetensors_file
import session
import shapes


class InAFolder(unittest.TestCase):
    """Every test has a folder of its own, and build folders with stand-ins in it."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.programs = self.folder / "build/bench/peers"
        self.programs.mkdir(parents=True)

    def stand_in(self, program: str, behaviour: str) -> Path:
        (self.programs / program).symlink_to(_HERE / "stand_in.py")
        self.enterContext(mock.patch.dict(os.environ, {f"STAND_IN_{program}": behaviour}))
        return self.programs / program

    def cases_and_judge(self) -> None:
        """Every shape becomes the same golden case; results are judged by the program that really does it."""
        if not _CHECK_RESULT:
            self.skipTest("SACCADE_PEER_CHECK_RESULT names no program")
        (self.programs / "peer_check_result").symlink_to(_CHECK_RESULT)
        make = self.programs / "peer_make_case"
        make.write_text(
            f'#!/bin/sh\nfor dtype in f32 f16; do cp "{_CASE}" "$2/$1.$dtype.safetensors"; done\n'
        )
        make.chmod(0o755)

    def compare(self, *options: str) -> tuple[int, dict, str]:
        """Exit code, JSON and text of `compare`, which installs nothing."""
        result = self.folder / "result.json"
        common = [
            "--no-setup",
            "--quick",
            "--build",
            str(self.folder / "build"),
            "--work",
            str(self.folder / "work"),
        ]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            code = main.main([*common, "--json", str(result), *options])
        return code, json.loads(result.read_text()), printed.getvalue()


def _row(result: dict, key: str) -> dict:
    return next(row for row in result["rows"] if row["key"] == key)


class Compare(InAFolder):
    def test_without_anything_every_row_says_why(self) -> None:
        code, result, text = self.compare("--only", "S1")
        self.assertEqual(code, 1)
        self.assertEqual([row["key"] for row in result["rows"]], [entry.key for entry in entries.ENTRIES])
        for row in result["rows"]:
            self.assertIn("peer_make_case is not built", row["results"]["S1"]["not_run"])
        self.assertEqual(text.count("not run: peer_make_case is not built"), len(entries.ENTRIES))

    def test_missing_peers_say_why_and_the_others_run(self) -> None:
        self.cases_and_judge()
        self.stand_in("peer_saccade", "right")
        code, result, text = self.compare("--only", "S1,S6")
        self.assertEqual(code, 0)
        ours = _row(result, "saccade")["results"]
        self.assertEqual(ours["S1"]["ms_median"], 2.0)
        self.assertTrue(ours["S1"]["check"]["passed"])
        # 4 * 3 heads * 197 * 197 * 64 operations in 2 ms; a single query has no such figure.
        self.assertAlmostEqual(ours["S1"]["gflops"], 14.903, places=3)
        self.assertIsNone(ours["S6"]["gflops"])
        self.assertIn("not installed", _row(result, "torch")["results"]["S1"]["not_run"])
        self.assertIn("peer_ggml is not built", _row(result, "ggml")["results"]["S6"]["not_run"])
        line = next(line for line in text.splitlines() if line.startswith("| PyTorch, CPU"))
        self.assertIn("not run: not installed in", line)

    def test_a_wrong_result_is_marked_and_is_no_reason_to_stop(self) -> None:
        self.cases_and_judge()
        self.stand_in("peer_saccade", "right")
        self.stand_in("peer_ggml", "wrong")
        code, result, text = self.compare("--only", "S1", "--peers", "ggml")
        self.assertEqual(code, 0)
        wrong = _row(result, "ggml")["results"]["S1"]
        self.assertFalse(wrong["check"]["passed"])
        self.assertAlmostEqual(wrong["check"]["error"], 0.5, places=5)
        self.assertLess(wrong["check"]["allowed"], 1e-3)
        self.assertEqual(wrong["saccade_times_as_fast"], 1.0)
        line = next(line for line in text.splitlines() if line.startswith("| ggml 1.0, CPU"))
        self.assertIn("14.9 (1x) WRONG", line)
        self.assertIn("wrong: ", line)

    def test_saccade_itself_wrong_is_a_failure(self) -> None:
        self.cases_and_judge()
        self.stand_in("peer_saccade", "wrong")
        code, result, _ = self.compare("--only", "S1", "--peers", "saccade")
        self.assertEqual(code, 1)
        self.assertEqual(len(result["rows"]), 1)

    def test_two_drivers_give_vulkan_entries_two_rows(self) -> None:
        self.cases_and_judge()
        self.stand_in("peer_saccade", "right")
        manifests = [self.folder / name for name in ("one.json", "two.json")]
        for manifest in manifests:
            manifest.touch()
        drivers = [argument for manifest in manifests for argument in ("--driver", str(manifest))]
        code, result, _ = self.compare("--only", "S1", "--peers", "ggml", *drivers)
        self.assertEqual(code, 0)
        self.assertEqual([row["key"] for row in result["rows"]], ["saccade@one", "saccade@two", "ggml"])

    def test_bad_arguments_are_named(self) -> None:
        for arguments, message in (
            (["--only", "S9"], "'S9' is not one of S1, S2"),
            (["--peers", "torch,tensor"], "'tensor' is not one of saccade, torch"),
            (["--rounds", "0"], "'0' is not a whole number from 1"),
            (["--driver", "/nowhere.json"], "there is no file /nowhere.json"),
            (["--python", "torch"], "'torch' is not NAME=PATH"),
        ):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as exit_:
                main.main(arguments)
            self.assertEqual(exit_.exception.code, 2)
            self.assertIn(message, errors.getvalue())


class Sessions(InAFolder):
    def start(self, behaviour: str, timeout: float = 20) -> session.Session:
        command = [str(self.stand_in("peer", behaviour)), str(_CASE), str(self.folder / "out.safetensors")]
        started = session.Session(command, os.environ, self.folder / "log", timeout)
        self.addCleanup(started.close)
        return started

    def test_runs_and_writes(self) -> None:
        started = self.start("right")
        self.assertEqual(started.identity["name"], "stand-in")
        self.assertGreater(started.start_seconds, 0)
        self.assertEqual(started.run(3, timeout=20), [2.0, 2.0, 2.0])
        started.write(timeout=20)
        self.assertEqual(safetensors_file.shape(self.folder / "out.safetensors", "out"), [2, 3, 7, 8])

    def test_why_it_does_not_take_part(self) -> None:
        for behaviour, reason in (
            ("refuse", "no such operator here"),
            ("crash", "ended by SIGSEGV: about to fall over"),
        ):
            with self.subTest(behaviour), self.assertRaisesRegex(session.ContestantError, reason):
                self.start(behaviour)
            (self.programs / "peer").unlink()

    def test_a_crash_in_a_run(self) -> None:
        with self.assertRaisesRegex(session.ContestantError, "ended with exit code 1: out of memory"):
            self.start("crash in a run").run(1, timeout=20)

    def test_no_answer(self) -> None:
        with self.assertRaisesRegex(session.ContestantError, "no answer within 1 s"):
            self.start("hang", timeout=1)

    def test_no_program(self) -> None:
        with self.assertRaisesRegex(session.ContestantError, "cannot be started"):
            session.Session([str(self.folder / "nothing")], os.environ, self.folder / "log", 1)


@unittest.skipUnless(_CHECK_RESULT, "SACCADE_PEER_CHECK_RESULT names no program")
class CheckResult(InAFolder):
    def check(self, case: Path, values: list[float], sizes: list[int] | None = None) -> tuple[int, dict]:
        result = self.folder / "result.safetensors"
        safetensors_file.write_floats(result, "out", values, sizes or safetensors_file.shape(case, "out"))
        done = subprocess.run([_CHECK_RESULT, str(case), str(result)], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)

    def test_right(self) -> None:
        code, verdict = self.check(_CASE, safetensors_file.doubles(_CASE, "out"))
        self.assertEqual(code, 0)
        self.assertTrue(verdict["passed"])
        self.assertEqual(verdict["tensors"], ["out"])

    def test_one_element_is_wrong(self) -> None:
        values = safetensors_file.doubles(_CASE, "out")
        values[5] += 1e-4
        code, verdict = self.check(_CASE, values)
        self.assertEqual(code, 1)
        self.assertFalse(verdict["passed"])
        self.assertAlmostEqual(verdict["error"], 1e-4, places=6)

    def test_another_shape(self) -> None:
        values = safetensors_file.doubles(_CASE, "out")
        code, verdict = self.check(_CASE, values, [len(values)])
        self.assertEqual(code, 1)
        self.assertIn("shape", verdict["reason"])

    def test_rows_of_padding_are_not_judged_but_others_are(self) -> None:
        case = _CHECKOUT / "tests/cases/causal_and_padding.safetensors"
        values, width = safetensors_file.doubles(case, "out"), safetensors_file.shape(case, "out")[3]
        # The case's lengths of queries, by what is expected: rows of padding are zero.
        rows = [values[n : n + width] for n in range(0, len(values), width)]
        padding = [n for n, row in enumerate(rows) if not any(row)]
        self.assertTrue(padding)
        for n in padding:
            values[n * width] = float("nan")
        self.assertEqual(self.check(case, values)[0], 0)
        values[0] += 1
        self.assertEqual(self.check(case, values)[0], 1)

    def test_no_such_file(self) -> None:
        done = subprocess.run([_CHECK_RESULT, str(_CASE), "/nowhere"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere", json.loads(done.stdout)["reason"])


class Measures(unittest.TestCase):
    def test_flops_count_padding_and_half_of_causal(self) -> None:
        flops = {shape.name: shape.flops for shape in shapes.SHAPES}
        self.assertEqual(flops["S3"], 4 * 3 * 1024 * 1024 * 64)
        self.assertEqual(flops["S4"], 4 * 8 * 2048 * 2048 * 64 / 2)
        self.assertEqual(flops["S7"], 4 * 8 * 12 * 128 * 128 * 64)
        self.assertIsNone(flops["DINOv2"])

    def test_quiet_is_some_seconds_in_a_row(self) -> None:
        # (busy, all) seconds since start-up, before and after each second that is looked at: busy, then idle thrice.
        readings = iter([(0, 0), (2, 2), (2, 2), (2, 4), (2, 4), (2, 6), (2, 6), (2, 8)])
        said: list[str] = []
        with (
            mock.patch.object(machine, "cpu_seconds", lambda: next(readings)),
            mock.patch.object(machine.time, "sleep"),
        ):
            self.assertTrue(machine.wait_until_quiet(0.1, 60, said.append))
        self.assertEqual(said, ["waiting for a quiet machine: 100% of it is in use (at most 60 s)"])

    def test_a_machine_that_stays_busy_is_said_so(self) -> None:
        busy = iter(range(1000))
        clock = iter(range(1000))
        said: list[str] = []
        with (
            mock.patch.object(machine, "cpu_seconds", lambda: (n := next(busy), n)),
            mock.patch.object(machine.time, "sleep"),
            mock.patch.object(machine.time, "monotonic", lambda: next(clock)),
        ):
            self.assertFalse(machine.wait_until_quiet(0.1, 4, said.append))
        self.assertIn("going on although others use 100% of the machine", said[-1])

    def test_entries_name_programs_that_exist(self) -> None:
        targets = (_CHECKOUT / "bench/peers/CMakeLists.txt").read_text()
        for entry in entries.ENTRIES:
            if entry.is_script:
                self.assertTrue(
                    (_CHECKOUT / "bench/peers/contestants" / entry.program).exists(), entry.program
                )
            else:
                self.assertIn(f"add_executable({entry.program} ", targets)


if __name__ == "__main__":
    unittest.main()
