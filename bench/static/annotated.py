# SPDX-License-Identifier: Apache-2.0
"""AMD's programs as Mesa's compiler annotates them (ACO_DEBUG=perfinfo): blocks, loops, and how often a loop turns."""
import dataclasses
import re


@dataclasses.dataclass
class Instruction:
    clocks: int  # until the next one can begin, by the compiler's account
    text: str    # "v1 = v_add_u32 s4, v32"

    @property
    def names(self):
        """Operations: two where a dual-issued pair is one instruction."""
        return [_operation(part) for part in self.text.split("::")]


@dataclasses.dataclass
class Block:
    number: int
    predecessors: list = dataclasses.field(default_factory=list)
    instructions: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Loop:
    header: int
    blocks: set
    trips: int | None = None  # constant in the program's text; None: the program does not say


class Program:
    """One shader."""

    def __init__(self):
        self.blocks = {}
        self.resident_waves = 0.0  # of one SIMD

    def loops(self):
        """By header. A loop is what leads from its header to a jump back to it: predecessors are followed from there."""
        found = {}
        for block in self.blocks.values():
            for latch in block.predecessors:
                if latch < block.number:
                    continue
                body, pending = {block.number}, [latch]
                while pending:
                    number = pending.pop()
                    if number not in body and number in self.blocks:
                        body.add(number)
                        pending += self.blocks[number].predecessors
                found.setdefault(block.number, Loop(block.number, set())).blocks |= body
        for loop in found.values():
            loop.trips = self._trips(loop)
        return found

    def _trips(self, loop):
        """From a counter in a scalar register: its start before the loop, what is added to it and what it is compared with."""
        inside = [i.text for number in sorted(loop.blocks) for i in self.blocks[number].instructions]
        before = [i.text for number in sorted(self.blocks) if number < loop.header for i in self.blocks[number].instructions]
        for text in inside:
            compared = re.fullmatch(r"scc = s_cmpk?_(?:ge|lg|lt|eq)_[iu]32 (s\d+), (?:imm:)?(\w+)", text)
            end = compared and _number(compared[2])
            if not end:
                continue
            counter = compared[1]
            steps = [m for t in inside if (m := re.fullmatch(rf"{counter}, scc = s_add(?:k_i32|_[iu]32) {counter}, (?:imm:)?(\w+)", t))]
            starts = [m for t in before if (m := re.fullmatch(rf"{counter} = s_mov(?:k_i32|_b32) (?:imm:)?(\w+)", t))]
            step = _number(steps[0][1]) if len(steps) == 1 else None
            start = _number(starts[-1][1]) if starts else None
            if step and start is not None and end > start:
                return -(-(end - start) // step)
        return None


def _number(text):
    try:
        return int(text, 0)
    except ValueError:
        return None


def _operation(text):
    """"(precise)v6 = v_mul_f32 2, v6" is "v_mul_f32"."""
    text = re.sub(r"^\(\w+\)", "", text.strip())
    if " = " in text:
        text = text.split(" = ", 1)[1]
    return text.split()[0] if text else ""


def parse(text):
    """All programs in what a driver printed, in order."""
    programs, program, block = [], Program(), None
    for line in text.splitlines():
        if match := re.fullmatch(r"BB(\d+)\s*", line):
            block = program.blocks.setdefault(int(match[1]), Block(int(match[1])))
        elif block and (match := re.match(r"/\*.* linear preds: (.*?)/ kind:", line)):
            block.predecessors = [int(number) for number in re.findall(r"BB(\d+)", match[1])]
        elif block and (match := re.match(r"\s+\(\s*(\d+) clk\)\s+(.*?)\s*$", line)):
            block.instructions.append(Instruction(int(match[1]), match[2]))
        elif match := re.match(r"num_waves: ([\d.]+)", line):
            program.resident_waves = float(match[1])
        elif line.startswith("wave64_per_cycle:"):
            programs.append(program)
            program, block = Program(), None
    return programs
