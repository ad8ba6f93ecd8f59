# SPDX-License-Identifier: Apache-2.0
"""Lines "STAT device NAME; key value; ..." of saccade_compile_kernels (tests/compile/statistics_line.cpp)."""

_TEXTS = ("device", "driver", "kernel", "tile", "dtype", "options", "loops", "module", "digest")


def parse_line(line):
    """A dictionary: texts as they are, everything else a number; None for another line."""
    if not line.startswith(("STAT ", "SUMMARY ")):
        return None
    values = {}
    for field in line.split(" ", 1)[1].strip().split("; "):
        key = next((text for text in _TEXTS if field.startswith(text + " ")), None)
        if key:
            values[key] = field[len(key) + 1:].strip()
        else:
            key, _, value = field.rpartition(" ")
            values[key] = float(value) if any(c in value for c in ".einf") else int(value)
    return values


def parse(text):
    return [values for line in text.splitlines() if line.startswith("STAT ") and (values := parse_line(line))]


def waves_per_group(values):
    return max(1, -(-values["local size"] // values["subgroup"]))


def normalised_cycles(values):
    """Cycles of a subgroup per 1000 useful FLOP of a step; None where the driver or the kernel gives none.

    Intel's and NVIDIA's drivers add up the whole shader and count what is in a loop ten times, once more for each loop around it.
    So this is for kernels whose work is in one loop, and what stands beside the loop weighs a tenth of its due.
    """
    cycles = values.get("Cycles", values.get("Static cycle count"))
    if not cycles or not values["flop"]:
        return None
    return cycles * waves_per_group(values) / (10 * values["flop"] / 1000)
