# SPDX-License-Identifier: Apache-2.0
"""The driver of tools/gpu-report without a device: python3 -m unittest, in this folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parents[1] / "bench/gpu_report"))

import main
import rows
import torch_peer


class Report(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "log"
        self.log.touch()

    def report(self, *options: str, saccade: str = "", torch: str = "present") -> tuple[int, dict, str]:
        """Exit code, JSON and Markdown."""
        environment = {"STAND_IN_SACCADE": saccade, "STAND_IN_TORCH": torch, "STAND_IN_LOG": str(self.log)}
        common = [
            "--saccade",
            str(_HERE / "stand_in_saccade.py"),
            "--python",
            str(_HERE / "stand_in_python.py"),
        ]
        printed = io.StringIO()
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(main.shutil, "which", lambda _: None),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            code = main.main([*common, "--quick", "--out", str(self.folder / "out"), *options])
        text = (self.folder / "out/report.md").read_text()
        self.assertEqual(printed.getvalue(), text + "\n")
        return code, json.loads((self.folder / "out/report.json").read_text()), text

    def part(self, result: dict, name: str) -> dict:
        return next(part for part in result["parts"] if part["name"].startswith(name))

    def test_everything_is_there(self) -> None:
        code, result, text = self.report()
        self.assertEqual(code, 0)
        self.assertEqual({part["result"] for part in result["parts"]}, {"ok"})
        self.assertEqual(result["device"], "Paper 1000")
        self.assertEqual(result["facts"]["facts"]["subgroup_size"], 32)
        self.assertIn("`saccade verify`: 10 passed, 0 failed, 0 not run.", text)
        self.assertIn("| one plain | 64 | one_f16_native | 32 | Registers 40, Spills to memory 0 |", text)
        self.assertIn("| fp32_gflops | 1000 |", text)
        self.assertIn("| decode | f16 | 64 | one keys=4 | it is quick |", text)

    def test_figures_are_those_of_the_median_and_right_backends_alone_are_compared(self) -> None:
        _, result, text = self.report()
        first = result["speed"][0]
        self.assertEqual((first["name"], first["dtype"]), ("Q1", "f16"))
        self.assertEqual(first["saccade"]["ms_median"], 2.0)
        # 4 * 2 heads * 48 * 48 * 64 operations in 2 ms.
        self.assertAlmostEqual(first["saccade"]["tflops"], 5.89824e-4)
        self.assertEqual(first["times_as_fast_as_flash"], 2.0)
        # `efficient` takes 0.5 ms for a wrong result.
        self.assertEqual(first["times_as_fast_as_best"], 2.0)
        self.assertFalse(first["efficient"]["passed"])
        line = next(line for line in text.splitlines() if line.startswith("| Q1 "))
        self.assertIn("0.00236 WRONG", line)
        self.assertIn(
            "- efficient, f16 Q1, f16 Q2, f16 Q3, f32 Q1, f32 Q2, f32 Q3: its result is wrong", text
        )
        self.assertIn(
            "- cudnn, f16 Q1, f16 Q2, f16 Q3, f32 Q1, f32 Q2, f32 Q3: not run: no such library", text
        )

    def test_decoding_is_told_in_bytes_and_beside_the_memory(self) -> None:
        _, result, text = self.report()
        decode = next(row for row in result["speed"] if row["name"] == "Q3" and row["dtype"] == "f16")
        # q and out of 4 heads, k and v of 2 heads with 200 keys, 64 channels of 2 bytes, in 2 ms.
        self.assertEqual(decode["bytes"], 2 * (4 + 2 * 200) * 64 * 2)
        self.assertAlmostEqual(decode["saccade"]["gbytes_per_second"], 103424 / 2e-3 / 1e9)
        self.assertIn("### f16, decode, GB/s", text)

    def test_turns_alternate_and_change_their_order(self) -> None:
        with mock.patch.object(main.rounds, "measure", wraps=main.rounds.measure) as measure:
            measure.side_effect = lambda *a, most_rounds: main.rounds.measure._mock_wraps(*a, most_rounds=2)
            _, result, _ = self.report()
        self.assertEqual(result["complete_rounds"], 2)
        turns = [
            line for line in self.log.read_text().splitlines() if "T48" in line or "--seqlen-k 48" in line
        ]
        names = [line.split()[1] for line in turns if "f16" in line]
        # cudnn has refused in the first round.
        self.assertEqual(
            names, ["bench", "flash", "cudnn", "efficient", "math", "math", "efficient", "flash", "bench"]
        )
        self.assertEqual(result["speed"][0]["saccade"]["runs"], 6)
        # A run of a shape that nobody has seen is taken to reach a tenth of the device's rates; then 2.5 ms, as it did.
        warmups = [
            line.split("--warmup ")[1].split()[0] for line in turns if "bench" in line and "f16" in line
        ]
        self.assertEqual(warmups, ["1789", "80"])

    def test_a_failed_verify_is_the_exit_code_and_names_the_failure(self) -> None:
        code, result, text = self.report(saccade="verify fail")
        self.assertEqual(code, 1)
        self.assertEqual(self.part(result, "verify")["result"], "FAILED")
        self.assertIn("- `saccade verify --only attention/7`: out[0] is 2, expected 1", text)
        self.assertEqual(len(result["speed"]), 6)

    def test_a_verify_without_a_result_is_no_success(self) -> None:
        for how, reason in (
            ("crash", "ended by SIGSEGV"),
            ("refuse", "not today"),
            ("babble", "printed no JSON"),
        ):
            with self.subTest(how):
                code, result, text = self.report("--no-torch", saccade=f"verify {how}")
                self.assertEqual(code, 1)
                self.assertIn(reason, self.part(result, "verify")["reason"])
                self.assertIn("Not known: `saccade verify` gave no result.", text)

    def test_what_hangs_is_stopped_and_the_rest_goes_on(self) -> None:
        code, result, _ = self.report("--minutes", "0.2", "--no-torch", saccade="verify hang")
        self.assertEqual(code, 1)
        self.assertIn("was stopped after 4 s", self.part(result, "verify")["reason"])
        self.assertLess(result["seconds"], 12)
        self.assertTrue(all(row["saccade"]["ms_median"] == 2.0 for row in result["speed"]))

    def test_every_part_may_be_missing(self) -> None:
        for command, part in (("info", "facts"), ("kernels", "kernels"), ("bench", "limits")):
            with self.subTest(command):
                code, result, text = self.report("--no-torch", saccade=f"{command} refuse")
                self.assertEqual(code, 0)
                self.assertEqual(self.part(result, part)["result"], "missing")
                self.assertIn("exit code 3: saccade: error: not today", text)
        self.assertEqual(self.part(result, "speed")["result"], "FAILED")
        self.assertIn("no shape was measured", text)

    def test_a_kernel_that_cannot_be_compiled_costs_only_itself(self) -> None:
        code, result, text = self.report("--no-torch", saccade="kernels crash two")
        self.assertEqual(code, 0)
        self.assertEqual(self.part(result, "statistics")["result"], "incomplete")
        self.assertEqual([kernel["name"] for kernel in result["kernels"][0]["kernels"]], ["one"])
        self.assertIn("two: ended by SIGSEGV", text)

    def test_one_shape_that_fails_leaves_the_others(self) -> None:
        _, result, text = self.report("--no-torch", saccade="bench crash 200")
        with_200 = [row["saccade"] for row in result["speed"] if "Tk200" in row["shape"]]
        others = [row["saccade"] for row in result["speed"] if "Tk200" not in row["shape"]]
        self.assertTrue(all("SIGSEGV" in found["not_run"] for found in with_200) and with_200)
        self.assertTrue(all(found["ms_median"] == 2.0 for found in others) and others)
        self.assertIn("- saccade, f16 Q3, f32 Q3: not run: ended by SIGSEGV", text)

    def test_shapes_that_are_hopeless_on_a_slow_device_are_left_out_and_said(self) -> None:
        slow = {"fp32_gflops": 100.0, "copy_gbytes_per_second": 10.0}
        long, short = rows.ROWS[0], rows.QUICK_ROWS[0]
        environment = {"STAND_IN_LOG": str(self.log)}
        with mock.patch.dict(os.environ, environment):
            table, complete = main.rounds.measure(
                [long, short], ["f16"], main.Saccade(_HERE / "stand_in_saccade.py", ""), None, slow, main.Clock(60),
                lambda _: None, most_rounds=1,
            )  # fmt: skip
        self.assertEqual(complete, 1)
        # 4 * 2 * 16 * 4096 * 4096 * 64 operations at a tenth of 100 GFLOP/s.
        self.assertEqual(
            table[0].contestants[0].reason, "at the rates measured here a run would take seconds, up to 14"
        )
        self.assertEqual(table[0].contestants[0].turns, [])
        self.assertEqual(table[1].contestants[0].ms, 2.0)

    def test_a_shape_without_room_says_so(self) -> None:
        _, _, text = self.report("--no-torch", saccade="bench skip 200")
        self.assertIn("- saccade, f16 Q3, f32 Q3: not run: it does not fit into memory", text)

    def test_a_wrong_result_of_ours_is_marked(self) -> None:
        code, result, text = self.report("--no-torch", saccade="bench inexact 200")
        self.assertEqual(code, 0)  # that is for verify to decide
        self.assertEqual(self.part(result, "speed")["result"], "FAILED")
        self.assertIn("WRONG", next(line for line in text.splitlines() if line.startswith("| Q3 ")))

    def test_without_pytorch_the_report_says_why(self) -> None:
        code, result, text = self.report(torch="absent")
        self.assertEqual(code, 0)
        self.assertIsNone(result["torch"])
        self.assertIn("- PyTorch on the same device: ModuleNotFoundError: No module named 'torch'", text)
        self.assertNotIn("x flash", text)

    def test_a_pytorch_that_dies_is_started_again_a_few_times(self) -> None:
        code, result, text = self.report(torch="fragile")
        self.assertEqual(code, 0)
        self.assertEqual(self.log.read_text().count("torch starts for Paper 1000"), torch_peer.MOST_STARTS)
        self.assertIn("ended with exit code 7: an illegal memory access was encountered", text)
        self.assertIn("is not started again", text)
        self.assertEqual(result["speed"][0]["times_as_fast_as_flash"], 2.0)

    def test_bad_arguments_are_named(self) -> None:
        for options, message in (
            (["--minutes", "0"], "'0' is not a number of minutes from 0.2 to 600"),
            (["--minutes", "soon"], "'soon' is not a number"),
            (["--saccade", "/nonexistent/saccade"], "there is no program /nonexistent/saccade"),
        ):
            said = io.StringIO()
            with (
                self.subTest(options),
                contextlib.redirect_stderr(said),
                self.assertRaises(SystemExit) as ended,
            ):
                main.main(options)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(message, said.getvalue())


class Rows(unittest.TestCase):
    def test_they_are_those_that_other_reports_use(self) -> None:
        texts = {row.name: row.text for row in rows.ROWS}
        self.assertEqual(texts["S2"], "B1 H12 T197 D64")
        self.assertEqual(texts["S4"], "B1 H8 T2048 D64 causal")
        self.assertEqual(texts["S6"], "B1 H32/8 Tq1 Tk4096 D128")
        self.assertEqual(texts["L4"], "B2 H16 T4096 D128 causal")
        self.assertEqual(len(texts), len(rows.ROWS))

    def test_flops_count_half_of_causal(self) -> None:
        flops = {row.name: row.flops for row in rows.ROWS}
        self.assertEqual(flops["L1"], 4 * 2 * 16 * 4096 * 4096 * 64)
        self.assertEqual(flops["L2"], flops["L1"] / 2)


if __name__ == "__main__":
    unittest.main()
