# SPDX-License-Identifier: Apache-2.0
"""What tools/lab calls a failure: python3 -m unittest, in this folder."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
LINE = ("STAT device Chip (RADV NAVI31); driver Mesa 1.0; kernel scalar_tiled; tile scalar_tiled keys=32; chosen {chosen}; figure {figure}; "
        "dtype f16; head dim {head_dim}; options {options}; module scalar_tiled_f16_native; main 1; rows 32; columns 32; flop 262144; "
        "bytes 8192; local size {local}; seconds 0.1; subgroup 32; SGPRs 108; VGPRs {vgprs}; Spilled SGPRs 0; Spilled VGPRs {spills}; "
        "Code size 3000; LDS size {shared}; Scratch size 0; Subgroups per SIMD {waves}; Latency {latency}; Inverse Throughput 500\n")
USUAL = dict(chosen=1, figure=1, head_dim=64, options="plain", local=128, vgprs=96, spills=0, shared=14336, waves=8, latency=10000)
SUMMARY = ("SUMMARY device Chip (RADV NAVI31); driver {driver}; pipelines 1; seconds 1.0; messages 0; failures 0; refusals 0; "
           "shared memory 65536; invocations 1024\n")


class Judge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.reports = pathlib.Path(folder.name)
        self.file = self.reports / "figures.tsv"
        self.run_judge("update")

    def report(self, *lines, driver="Mesa 1.0", status=0, more=""):
        text = "".join(LINE.format(**(USUAL | line)) for line in lines) + more + SUMMARY.format(driver=driver)
        (self.reports / "navi31.txt").write_text(text)
        (self.reports / "navi31.status").write_text(f"{status}\n")
        (self.reports / "navi31.messages").write_text("")

    def run_judge(self, mode, *lines, **report):
        self.report(*(lines or ({},)), **report)
        run = subprocess.run([sys.executable, "-B", CHECKOUT / "tests/compile/judge.py", self.file, self.reports, mode, "navi31"],
                             capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def expect(self, code, text, *lines, mode="judge", **report):
        got, output = self.run_judge(mode, *lines, **report)
        self.assertEqual(got, code, output)
        self.assertIn(text, output)

    def know(self, problem):
        self.file.write_text("".join(line[:-2] + problem + "\n" if line.startswith("navi31") else line
                                     for line in self.file.read_text().splitlines(keepends=True)))

    def test_unchanged_figures_pass(self):
        self.expect(0, "ok")

    def test_reports_count_pipelines_of_a_kernel(self):
        self.run_judge("judge", {}, {"figure": 0, "options": "packed", "spills": 4, "waves": 5})
        self.assertIn("navi31\tscalar_tiled\t2\t1\t4\t5\t0.2\n", (self.reports / "kernels.tsv").read_text())
        self.assertIn("Chip (RADV NAVI31)", (self.reports / "devices.txt").read_text())

    def test_a_figure_worse_by_six_percent_fails_and_one_by_four_does_not(self):
        self.expect(1, "cycles was 10000 and is 10600", {"latency": 10600})
        self.expect(0, "ok", {"latency": 10400})

    def test_fewer_waves_fail(self):
        self.expect(1, "waves was 8 and is 6", {"waves": 6})

    def test_a_better_figure_passes_with_a_note(self):
        self.expect(0, "1 figures are better", {"latency": 5000})

    def test_a_worse_figure_passes_where_the_file_changes_with_it(self):
        self.expect(0, "ok", {"latency": 20000}, mode="update")
        self.expect(0, "ok", {"latency": 20000})

    def test_a_spill_fails_even_when_the_file_is_updated(self):
        self.expect(1, "spills 3 registers", {"spills": 3})
        self.expect(1, "spills 3 registers", {"spills": 3}, mode="update")

    def test_a_known_spill_passes_until_it_is_gone_or_worse(self):
        self.run_judge("update", {"spills": 10})
        self.know("spills")
        self.expect(0, "ok", {"spills": 10})
        self.expect(1, "spills was 10 and is 11", {"spills": 11})
        self.expect(1, 'the problem "spills" is solved', {"spills": 0})
        self.expect(0, "ok", {"spills": 0}, mode="update")
        self.assertNotIn("\tspills\n", self.file.read_text())

    def test_a_pipeline_without_a_figure_may_be_as_bad_as_a_known_one_of_its_kernel(self):
        other = {"figure": 0, "options": "packed"}
        self.expect(1, "packed: spills 10 registers", {}, other | {"spills": 10})
        self.run_judge("update", {"spills": 10})
        self.know("spills")
        self.expect(0, "ok", {"spills": 10}, other | {"spills": 10})
        self.expect(1, "packed: spills 11 registers", {"spills": 10}, other | {"spills": 11})

    def test_what_plans_do_not_choose_and_wide_heads_may_spill(self):
        self.expect(0, "ok", {}, {"figure": 0, "chosen": 0, "spills": 10})
        self.expect(0, "ok", {}, {"figure": 0, "head_dim": 256, "spills": 10})

    def test_too_few_resident_waves_fail(self):
        self.run_judge("update", {"waves": 2})
        self.expect(1, "room for 2 waves, fewer than 3", {"waves": 2})
        self.know("waves")
        self.expect(0, "ok", {"waves": 2})

    def test_limits_of_the_device_are_kept(self):
        self.expect(1, "2048 invocations, more than 1024", {"local": 2048})
        self.run_judge("update", {"shared": 70000})
        self.expect(1, "70000 bytes of shared memory, more than 65536", {"shared": 70000})

    def test_new_and_vanished_pipelines_fail(self):
        self.expect(1, "D64 causal: not in docs/lab/figures.tsv", {}, {"options": "causal"})
        self.expect(1, "D64 plain: in docs/lab/figures.tsv, but no pipeline", {"options": "plain", "figure": 0})

    def test_another_driver_is_no_regression_but_is_said_loudly(self):
        self.expect(0, "ok", {})
        self.assertEqual((self.reports / "passed.txt").read_text(), "navi31\n")
        self.expect(0, "NOT compared", {"latency": 20000}, driver="Mesa 2.0")
        self.assertEqual((self.reports / "passed.txt").read_text(), "")
        self.expect(1, "spills 3 registers", {"spills": 3}, driver="Mesa 2.0")

    def test_a_failed_pipeline_or_program_fails(self):
        self.expect(1, "FAILED module x was never compiled", {}, more="FAILED module x was never compiled\n", status=1)
        self.expect(1, "ended with exit code 139", {}, status=139)


class Command(unittest.TestCase):
    def run_lab(self, *arguments):
        run = subprocess.run([CHECKOUT / "tools/lab", *arguments], capture_output=True, text=True, check=False)
        return run.returncode, run.stderr

    def test_an_unknown_device_is_refused_with_the_list(self):
        code, text = self.run_lab("voodoo2")
        self.assertEqual(code, 2)
        self.assertRegex(text, "no device 'voodoo2' here, but: vega10 navi21 navi31 .*strix1")

    def test_wrong_arguments_are_refused(self):
        for arguments, text in ((("--speed",), "unknown argument '--speed'"), (("--kernel",), "--kernel needs a value"),
                                (("--dtype", "f16", "navi31"), "--dtype goes with --kernel"), (("--kernel", "x"), "--kernel needs a device")):
            with self.subTest(arguments=arguments):
                code, output = self.run_lab(*arguments)
                self.assertEqual(code, 2)
                self.assertIn(text, output)


class Judged(unittest.TestCase):
    """What need not be compiled again."""
    DRIVERS = {"navi21": "radeon", "navi31": "radeon", "bmg": "intel"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.reports = pathlib.Path(folder.name)
        self.file = self.reports / "judged.tsv"
        for device in self.DRIVERS:
            self.report(device, "txt")
            self.report(device, "digest")
        self.call("record", *self.DRIVERS)

    def report(self, device, kind, driver="Mesa 1.0", digest="00000000000000e4"):
        (self.reports / f"{device}.{kind}").write_text(f"REFUSED something\nSUMMARY device Chip; driver {driver}; pipelines 1; digest {digest}\n")

    def call(self, mode, *names):
        run = subprocess.run([sys.executable, "-B", CHECKOUT / "tests/compile/judged.py", self.file, self.reports, mode, *names],
                             capture_output=True, text=True, check=True)
        return run.stdout.split()

    def changed(self):
        return self.call("changed", *(f"{device}={driver}" for device, driver in self.DRIVERS.items()))

    def test_one_of_each_driver_is_compiled_though_nothing_changed(self):
        self.assertEqual(len(self.changed()), 2)
        self.assertIn("bmg", self.changed())

    def test_another_one_when_kernels_change(self):
        before = self.changed()
        for kind in ("txt", "digest"):
            self.report("bmg", kind, digest="00000000000000e5")
        self.call("record", "bmg")
        self.assertNotEqual(self.changed(), before)

    def test_other_pipelines_are_compiled(self):
        self.report("navi21", "digest", digest="0123456789abcdef")
        self.assertEqual(self.changed(), ["navi21", "bmg"])

    def test_another_driver_compiles_all(self):
        for device in self.DRIVERS:
            self.report(device, "digest", driver="Mesa 1.1")
        self.assertEqual(self.changed(), list(self.DRIVERS))

    def test_a_device_that_gave_no_digest_is_compiled(self):
        for device in ("navi21", "navi31"):
            (self.reports / f"{device}.digest").write_text("error: there is no such device\n")
        self.assertEqual(self.changed(), list(self.DRIVERS))

    def test_a_device_that_is_in_no_file_is_compiled(self):
        self.file.write_text("".join(line for line in self.file.read_text().splitlines(keepends=True) if not line.startswith("navi31")))
        self.assertIn("navi31", self.changed())


if __name__ == "__main__":
    unittest.main()
