# SPDX-License-Identifier: Apache-2.0
"""Rates of a kernel's loop over keys (attention) or depth (matmul): useful FLOP per clock and SIMD.

    overlapped      every unit works while the others do: the busiest unit, or the latency over the resident waves, is the time
    not overlapped  VALU, LDS and vector memory work one after the other

One turn of the loop is one wave's; each block counts once, and loops inside of it as often as they turn.
"""
import dataclasses

import cost


@dataclasses.dataclass
class Rate:
    header: int         # block number of the loop
    blocks: int
    instructions: int
    clocks: dict        # by unit, and "latency" over the resident waves
    bound: str          # what takes longest
    counted: float      # multiply-add FLOP of a wave and turn
    useful: float
    overlapped: float
    apart: float        # not overlapped
    unknown_trips: list # headers of inner loops that were counted once

    @property
    def doubt(self):
        """What makes the rates unfit for use; "" if nothing does."""
        if self.unknown_trips:
            return f"loops {', '.join(f'BB{h}' for h in self.unknown_trips)} inside are counted once: give --trips"
        factor = self.counted / self.useful
        if not 0.97 <= factor <= 1.25:
            return f"the program computes {factor:.2f} times the useful FLOP: idle lanes, an unrolled loop, or another tile or loop"
        return ""


def rate_of(program, loops, loop, family, wave, useful, trips):
    """`useful`: FLOP of a wave and turn; None: all that are counted. `trips`: by header, more than the program's text says."""
    inner = [other for other in loops.values() if other.header != loop.header and other.blocks < loop.blocks]
    turns = {other.header: trips.get(other.header, other.trips) for other in inner}
    clocks = dict.fromkeys(cost.UNITS, 0.0)
    counted = latency = instructions = 0
    for number in loop.blocks:
        times = 1
        for other in inner:
            if number in other.blocks:
                times *= turns[other.header] or 1
        for instruction in program.blocks[number].instructions:
            for unit, each in cost.cost(instruction, family, wave).items():
                clocks[unit] += each * times
            counted += cost.flop(instruction, wave) * times
            latency += instruction.clocks * times
            instructions += times
    clocks["latency"] = latency / max(program.resident_waves, 1)
    bound = max(clocks, key=clocks.get)
    together = clocks[bound]
    apart = max(together, clocks["valu"] + clocks["lds"] + clocks["vmem"])
    useful = counted if useful is None else useful
    return Rate(loop.header, len(loop.blocks), instructions, clocks, bound, counted, useful, useful / together, useful / apart,
                sorted(header for header, times in turns.items() if times is None))


def outermost(loops):
    return [loop for loop in loops if not any(loop.blocks < other.blocks for other in loops)]


def rates(program, family, wave, useful=None, trips=None):
    """Of the loops that compute, the fastest first: with a loop of its own for masked tiles, that of whole ones.

    Where it is known what a turn is useful for, these are the loops of which a turn computes just that, be they inside of another, which
    turns once for many whole tiles or for a masked one. Else, and where there are none such, the outermost ones.
    """
    loops = program.loops()
    every = {loop.header: rate_of(program, loops, loop, family, wave, useful, trips or {}) for loop in loops.values()}
    sound = [loop for loop in loops.values() if useful is not None and not every[loop.header].doubt]
    found = [every[loop.header] for loop in outermost(sound or loops.values())]
    most = max((rate.counted for rate in found), default=0)
    return sorted((rate for rate in found if rate.counted > 0 and rate.counted >= most / 2), key=lambda rate: -rate.overlapped)
