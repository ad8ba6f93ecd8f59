# SPDX-License-Identifier: Apache-2.0
"""What an instruction costs the units of one SIMD, in clocks of one wave, and the floating-point operations that it does.

LDS and vector memory are shared by the SIMDs of a compute unit, so an access is charged as many clocks as all of them wait: the
width of the unit over the SIMDs that share it.
"""
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Family:
    name: str
    generation: int    # of the instruction set: 9 GCN 5, 10 RDNA 2, 11 RDNA 3, 12 RDNA 4
    peak: int          # FLOP per clock and SIMD, fp16 in, by the widest unit
    fp32_peak: int     # the same of plain fp32 multiply-adds
    least_waves: int   # resident ones of a SIMD that a kernel shall leave room for


FAMILIES = {family.name: family for family in (
    Family("navi31", 11, 256, 128, 3),
    Family("gfx1201", 12, 512, 128, 3),
    Family("navi21", 10, 128, 64, 3),
    Family("vega10", 9, 64, 32, 2),
)}

UNITS = ("valu", "transcendental", "lds", "vmem", "smem", "salu")

_TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
_WIDE_MULTIPLY = re.compile(r"v_(mul_lo_u32|mul_hi_[iu]32|mad_[iu]64_[iu]32)")
_WIDE_SHIFT = re.compile(r"v_(lshlrev|lshrrev|ashrrev|lshl|lshr|mov)_[bi]64")
_FP64 = re.compile(r"v_\w+_f64")
_MATRIX = re.compile(r"v_(swmmac|wmma)_\w+?_16x16x(\d+)_")
_UNCHARGED = re.compile(r"s_(wait|delay|nop|clause|barrier|sendmsg|endpgm|sleep|inst_prefetch|set_inst|setprio|code_end)")
# A wave of 64 takes one pass where both halves of the unit can do the same to either half of the wave.
_DUAL = re.compile(r"v_((fma|fmac|fmaak|fmamk|mul|add|sub|subrev|mul_legacy|max|min)_f(16|32)|(mov|cndmask)_b(16|32)|"
                   r"dot2c?_f32_f16|dot2_f16_f16|dot2_\w*bf16)")
_LANES_MOVE = re.compile(r"row_|quad_perm|dpp")

_CONVERSION = re.compile(r"v_fma_mix_f32 .*, 1\.0, neg\(0\)")  # of fp16 to fp32, by a multiply-add
_FLOP_OF_LANE = (
    (re.compile(r"v_(dual_)?(fma|fmac|fmaak|fmamk|mac|mad|madak|madmk|fma_mix|mad_mix|fma_mixlo|fma_mixhi)_f(16|32)"), 2),
    (re.compile(r"v_(dual_)?dot2(c|acc)?_(f32|f16|bf16)"), 4),
    (re.compile(r"v_pk_(fma|fmac)_f16"), 4),
    (re.compile(r"v_dot4"), 8),
)


def flop(instruction, wave):
    """Of multiply-adds, by all lanes of a wave."""
    if _CONVERSION.search(instruction.text):
        return 0
    total = 0
    for name in instruction.names:
        if matrix := _MATRIX.match(name):
            total += 2 * 16 * 16 * int(matrix[2])
        else:
            total += next((each * wave for pattern, each in _FLOP_OF_LANE if pattern.match(name)), 0)
    return total


def cost(instruction, family, wave):
    """Clocks by unit."""
    name = instruction.names[0]
    if len(instruction.names) > 1:
        return {"valu": 1}
    if name.startswith("v_"):
        return _vector(name, instruction.text, family.generation, wave)
    if name.startswith("ds_"):
        words = 1 if re.search("permute|swizzle|addtid", name) else _words(name)
        return {"lds": words * (2 * wave // 32 if family.generation >= 10 else 8)}
    if name.startswith(("buffer_", "global_", "flat_", "scratch_")):
        return {"vmem": _words(name) * (2 * wave // 32 if family.generation >= 10 else 16)}
    if name.startswith(("s_load", "s_buffer_load")):
        return {"salu": _scalar(family.generation), "smem": _words(name) / (2 if family.generation >= 10 else 1)}
    if name.startswith("s_") and not _UNCHARGED.match(name):
        return {"salu": _scalar(family.generation)}
    return {}


def _scalar(generation):
    return 1 if generation >= 10 else 4


def _vector(name, text, generation, wave):
    if _MATRIX.match(name):
        return {"valu": _matrix_clocks(name, generation)}
    if generation < 10:
        if _FP64.match(name):
            return {"valu": 64}
        if _TRANSCENDENTAL.match(name) or _WIDE_MULTIPLY.match(name) or name.startswith("v_cvt_"):
            return {"valu": 16}
        return {"valu": 8 if _WIDE_SHIFT.match(name) else 4}
    if name.startswith("v_s_"):  # transcendental of a scalar
        return {"valu": 1, "transcendental": 4}
    passes = wave // 32
    if _TRANSCENDENTAL.match(name):
        return {"valu": passes, "transcendental": 4 * passes}
    if _FP64.match(name):
        return {"valu": 16 * passes}
    if _WIDE_MULTIPLY.match(name):
        return {"valu": 4 * passes}
    if _WIDE_SHIFT.match(name):
        return {"valu": 2 * passes}
    if generation >= 11 and wave == 64 and _DUAL.match(name) and not _LANES_MOVE.search(text):
        return {"valu": 1}
    return {"valu": passes}


def _matrix_clocks(name, generation):
    """Of 16 x 16 x 16 in fp16, whatever the size of the wave; narrower types take RDNA 4 less time."""
    if "iu4" in name:
        return 16 if generation == 11 else 8
    if re.search("iu8|fp8|bf8", name):
        return 32 if generation == 11 else 8
    return 32 if generation == 11 else 16


def _words(name):
    """32-bit words of a lane; of a scalar load, of the wave."""
    match = re.search(r"dwordx(\d+)|_b(\d+)(?:_|$)", name)
    words = 1
    if match:
        words = int(match[1]) if match[1] else max(1, int(match[2]) // 32)
    return words * (2 if re.search(r"(read|write|load|store)2", name) else 1)
