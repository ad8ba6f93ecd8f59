# SPDX-License-Identifier: Apache-2.0
"""tools/gpu-report --quick from the command line, with the program SACCADE_TOOL on the device SACCADE_DEVICE."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

_HERE = Path(__file__).resolve().parent


class OnADevice(unittest.TestCase):
    def test_it_runs_from_end_to_end(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        command = [
            str(_HERE.parents[1] / "tools/gpu-report"),
            *("--quick", "--minutes", "5", "--out", str(folder), "--saccade", os.environ["SACCADE_TOOL"]),
            *(
                "--device",
                os.environ.get("SACCADE_DEVICE", ""),
                "--python",
                str(_HERE / "stand_in_python.py"),
            ),
        ]
        environment = os.environ | {
            "STAND_IN_TORCH": "present",
            "STAND_IN_LOG": str(folder / "log"),
            "SACCADE_TUNING": "off",
        }
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads((folder / "report.json").read_text())
        bad = [
            part
            for part in result["parts"]
            if part["result"] not in ("ok", "a CPU") and "statistics" not in part["name"]
        ]
        self.assertEqual(bad, [])
        # A driver that tells nothing of its code is said to be one; another has told of every kernel.
        for part in result["parts"]:
            if part["result"] == "missing":
                self.assertIn("VK_KHR_pipeline_executable_properties", part["reason"])
        self.assertTrue(result["verify"]["ok"])
        self.assertGreater(result["verify"]["passed"], 0)
        self.assertEqual(len(result["speed"]), 6)
        for row in result["speed"]:
            self.assertGreater(row["saccade"]["ms_median"], 0)
            self.assertTrue(row["saccade"]["passed"])
            self.assertGreater(row["times_as_fast_as_flash"], 0)
        self.assertGreater(result["limits"]["fp32_gflops"], 0)
        self.assertEqual(result["torch"]["device"], result["device"])
        self.assertIn("## How fast", done.stdout)


if __name__ == "__main__":
    unittest.main()
