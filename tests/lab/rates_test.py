# SPDX-License-Identifier: Apache-2.0
"""Static rates of programs whose content is known: python3 -m unittest, in this folder."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "bench/static"))

import annotated
import cost
import rates
import statistics_line

WMMA = "(  1 clk)   v[0-7] = v_wmma_f32_16x16x16_f16 v[8-15], v[16-23], v[0-7]"
FMA = "(  1 clk)   v1 = v_fma_f32 v2, v3, v1"
PACKED = "(  1 clk)   v1 = v_pk_fma_f16 v2, v3, v1"
PAIR = "(  1 clk)   v1 = v_dual_fmac_f32 v2, v3, v1 :: v4 = v_dual_fmac_f32 v5, v6, v4"


def block(number, predecessors, *instructions, kind="uniform"):
    before = "".join(f"BB{p}, " for p in predecessors)
    return "\n".join([f"BB{number}", f"/* logical preds: {before}/ linear preds: {before}/ kind: {kind}, */", *(f"\t{i}" for i in instructions)]) + "\n"


def program(*blocks, waves=8):
    """As the compiler prints it."""
    return "After lowering to hw instructions:\n" + "".join(blocks) + f"\nnum_waves: {waves}\nvalu_usage: 1.0\nlatency: 100.0\nwave64_per_cycle: 0.1\n\n"


def simple_loop(*body, waves=8):
    return program(block(0, (), "(  1 clk)   s0 = s_mov_b32 0"), block(1, (0, 2), "(  1 clk)   scc = s_cmp_ge_u32 s0, s1", "(  1 clk)   s_cbranch_scc1 block:BB3"),
                   block(2, (1,), *body), block(3, (1,), "(  1 clk)   s_endpgm"), waves=waves)


# Counters as the compiler writes them: 3 turns of 2, inside a loop whose number of turns only the device knows.
NESTED = program(
    block(0, (), "(  1 clk)   s4 = s_load_dword s[2-3], 0"),
    block(1, (0, 5), "(  1 clk)   scc = s_cmp_ge_u32 s4, s18", "(  1 clk)   s_cbranch_scc1 block:BB6"),
    block(2, (1,), FMA, "(  1 clk)   s3 = s_mov_b32 0"),
    block(3, (2, 3), FMA, FMA, "(  1 clk)   s3, scc = s_add_u32 s3, 2", "(  1 clk)   scc = s_cmp_ge_u32 s3, 6", "(  1 clk)   s_cbranch_scc0 block:BB3"),
    block(5, (3,), "(  1 clk)   s4, scc = s_add_u32 s4, 32"),
    block(6, (1,), "(  1 clk)   s_endpgm"))


def rate(text, family, wave, useful=None, trips=None):
    return rates.rates(annotated.parse(text)[0], cost.FAMILIES[family], wave, useful, trips)[0]


class KnownLoops(unittest.TestCase):
    def test_matrix_loops_reach_the_peak_of_either_generation(self):
        for family, peak in (("navi31", 256), ("gfx1201", 512)):
            for wave in (32, 64):
                with self.subTest(family=family, wave=wave):
                    self.assertAlmostEqual(rate(simple_loop(*[WMMA] * 16), family, wave).overlapped, peak, delta=0.01 * peak)

    def test_multiply_adds_reach_the_peak_of_their_unit(self):
        for family, wave, instruction, peak in (("navi21", 32, FMA, 64), ("navi21", 64, FMA, 64), ("vega10", 64, FMA, 32), ("navi31", 64, FMA, 128),
                                                ("navi31", 32, FMA, 64), ("navi31", 32, PAIR, 128), ("navi21", 32, PACKED, 128), ("vega10", 64, PACKED, 64)):
            with self.subTest(family=family, wave=wave, instruction=instruction):
                got = rate(simple_loop(*[instruction] * 64), family, wave)
                self.assertEqual(got.bound, "valu")
                self.assertAlmostEqual(got.overlapped, peak, delta=0.01 * peak)
                self.assertAlmostEqual(got.apart, got.overlapped)

    def test_units_are_charged_apart(self):
        text = simple_loop(FMA, "(  1 clk)   v2 = v_exp_f32 v3", "(  1 clk)   v[4-7] = ds_read_b128 v8", "(  1 clk)   v9 = ds_bpermute_b32 v8, v9",
                           "(  1 clk)   v[4-7] = buffer_load_dwordx4 v8, s[0-3]", "(  1 clk)   v4 = v_mul_lo_u32 v5, v6", "(  1 clk)   s[0-3] = s_load_dwordx4 s[2-3], 0")
        got = rate(text, "navi31", 32).clocks
        self.assertEqual({unit: got[unit] for unit in ("valu", "transcendental", "lds", "vmem", "smem")},
                         {"valu": 1 + 1 + 4, "transcendental": 4, "lds": 8 + 2, "vmem": 8, "smem": 2})
        got = rate(text, "vega10", 64).clocks
        self.assertEqual({unit: got[unit] for unit in ("valu", "transcendental", "lds", "vmem", "smem")},
                         {"valu": 4 + 16 + 16, "transcendental": 0, "lds": 32 + 8, "vmem": 64, "smem": 4})

    def test_lds_and_arithmetic_add_up_where_they_do_not_overlap(self):
        got = rate(simple_loop(*[FMA] * 16, *["(  1 clk)   v[4-7] = ds_read_b128 v8"] * 4), "navi21", 32)
        self.assertEqual((got.bound, got.clocks["lds"]), ("lds", 32))
        self.assertAlmostEqual(got.overlapped, 16 * 64 / 32)
        self.assertAlmostEqual(got.apart, 16 * 64 / (16 + 32))

    def test_latency_is_hidden_by_resident_waves_alone(self):
        slow = simple_loop(*[FMA] * 16, "(300 clk)   s_waitcnt vmcnt(0)", waves=2)
        got = rate(slow, "navi21", 32)
        self.assertEqual(got.bound, "latency")
        self.assertEqual(got.clocks["latency"], (16 + 300 + 2) / 2)

    def test_a_conversion_is_no_work(self):
        self.assertEqual(rate(simple_loop(FMA, "(  1 clk)   v5 = v_fma_mix_f32 lo(v32), 1.0, neg(0)"), "navi31", 32).counted, 64)


class Loops(unittest.TestCase):
    def test_a_loop_inside_counts_as_often_as_its_counter_says(self):
        got = rate(NESTED, "navi21", 32)
        self.assertEqual((got.header, got.counted, got.unknown_trips), (1, (1 + 2 * 3) * 64, []))

    def test_a_loop_of_unknown_turns_is_counted_once_and_said(self):
        got = rate(NESTED.replace("s_cmp_ge_u32 s3, 6", "s_cmp_ge_u32 s3, s9"), "navi21", 32)
        self.assertEqual((got.counted, got.unknown_trips), (3 * 64, [3]))
        self.assertIn("BB3", got.doubt)
        given = rate(NESTED.replace("s_cmp_ge_u32 s3, 6", "s_cmp_ge_u32 s3, s9"), "navi21", 32, trips={3: 3})
        self.assertEqual((given.counted, given.doubt), (7 * 64, ""))

    def test_idle_lanes_and_wrong_tiles_are_doubted(self):
        text = simple_loop(*[FMA] * 16)
        self.assertEqual(rate(text, "navi21", 32, useful=16 * 64).doubt, "")
        self.assertIn("2.00 times", rate(text, "navi21", 32, useful=8 * 64).doubt)
        self.assertIn("0.50 times", rate(text, "navi21", 32, useful=32 * 64).doubt)

    def test_the_loop_of_whole_tiles_comes_before_that_of_masked_ones(self):
        masked = ["(  1 clk)   v7 = v_cndmask_b32 v5, v6, vcc"] * 16
        text = program(block(0, ()), block(1, (0, 1), *[FMA] * 16, *masked), block(2, (1, 2), *[FMA] * 16), block(3, (2,)))
        found = rates.rates(annotated.parse(text)[0], cost.FAMILIES["navi21"], 32)
        self.assertEqual([r.header for r in found], [2, 1])
        self.assertGreater(found[0].overlapped, 1.9 * found[1].overlapped)

    def test_the_loop_of_whole_tiles_is_found_inside_of_one_for_both_kinds(self):
        masked = ["(  1 clk)   v7 = v_cndmask_b32 v5, v6, vcc"] * 16
        text = program(block(0, ()), block(1, (0, 4)), block(2, (1, 2), *[FMA] * 16), block(3, (2, 3), *[FMA] * 16, *masked), block(4, (3,)), block(5, (4,)))
        got = rate(text, "navi21", 32, useful=16 * 64)
        self.assertEqual((got.header, got.counted, got.doubt), (2, 16 * 64, ""))
        self.assertIn("BB2, BB3", rate(text, "navi21", 32).doubt)

    def test_a_loop_unrolled_twice_has_the_same_rate(self):
        once = rate(simple_loop(*[FMA] * 64), "navi21", 32, useful=64 * 64)
        twice = rate(simple_loop(*[FMA] * 128), "navi21", 32, useful=128 * 64)
        self.assertAlmostEqual(once.overlapped, twice.overlapped, delta=0.014 * once.overlapped)


class Totals(unittest.TestCase):
    LINE = ("STAT device Chip; driver Mesa 1.0; kernel k; tile k a=1; chosen 1; figure 1; dtype f16; head dim 64; options plain; module k_f16_native; "
            "main 1; rows 8; columns 32; flop 65536; bytes 8192; local size 128; seconds 0.1; subgroup 8; ")

    def test_cycles_of_a_whole_shader_relate_to_its_work(self):
        line = statistics_line.parse_line(self.LINE + "Instructions 3830; Cycles 80330; Spills 0\n")
        self.assertAlmostEqual(statistics_line.normalised_cycles(line), 80330 * 16 / 655.36)
        self.assertIsNone(statistics_line.normalised_cycles(statistics_line.parse_line(self.LINE + "Latency 5\n")))

    def test_the_command_reads_a_log(self):
        text = simple_loop(*[WMMA] * 8) + self.LINE.replace("Chip", "AMD (RADV GFX1201)").replace("flop 65536", "flop 524288") \
            .replace("subgroup 8", "subgroup 32") + "SGPRs 10; VGPRs 96; Spilled VGPRs 0; LDS size 0\n"
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            log.write_text(text)
            run = subprocess.run([CHECKOUT / "bench/static/rate", log], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stderr)  # 8 products of 8192 FLOP are half of a wave's 131072
            self.assertIn("CHECK: the program computes 0.50 times the useful FLOP", run.stdout)
            log.write_text(text.replace("flop 524288", "flop 262144"))
            run = subprocess.run([CHECKOUT / "bench/static/rate", log], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("loop BB1: 512.0 FLOP per clock and SIMD if units overlap, 512.0 if not (100 % and 100 % of 512)", run.stdout)


if __name__ == "__main__":
    unittest.main()
