# SPDX-License-Identifier: Apache-2.0
"""What drivers say of pipelines, in one form for all of them, and the file that keeps it: docs/lab/figures.tsv."""
import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "static"))
import statistics_line  # noqa: E402

# More of it is worse, but for waves. None: the driver does not say.
MEASURES = ("registers", "spills", "scratch", "shared", "waves", "cycles", "throughput", "code")
COLUMNS = ("device", "kernel", "module", "head_dim", "options", "subgroup", *MEASURES, "known")

# By measure, what drivers call it; several names are added up.
_NAMES = {
    "registers": (("VGPRs",), ("GRF registers",), ("Max live registers",), ("Number of GPRs",), ("Registers used",), ("GPRs",)),
    "spills": (("Spilled SGPRs", "Spilled VGPRs"), ("Spills to memory", "Spills to reg"), ("Spills",), ("STP Count",)),
    "scratch": (("Scratch size",), ("Scratch Memory Size",), ("Scratch",)),
    "shared": (("LDS size",), ("Workgroup Memory Size",), ("SLM size",)),
    "waves": (("Subgroups per SIMD",), ("Max warps/SM",), ("Max Waves Per Core",)),
    "cycles": (("Latency",), ("Cycles",), ("Static cycle count",), ("ALU",), ("Instruction Count",)),
    "throughput": (("Inverse Throughput",), ("FSCIB",)),
    "code": (("Code size",),),
}


@dataclasses.dataclass
class Figure:
    key: tuple      # device, kernel, module, head_dim, options
    subgroup: int
    measures: dict
    known: tuple = ()  # of problems(): those for which CI shall not fail

    @property
    def name(self):
        device, kernel, module, head_dim, options = self.key
        return f"{device} {kernel} ({module}) D{head_dim} {options}"

    @property
    def spilled(self):
        return (self.measures["spills"] or 0) + (self.measures["scratch"] or 0)

    @property
    def problems(self):
        """What no kernel that plans choose may have up to head dim 128."""
        found = ("spills",) if self.spilled > 0 else ()
        least = least_waves(self.key[0])
        return found + (("waves",) if least and self.measures["waves"] < least else ())


def of_line(device, line):
    """From a line of statistics."""
    measures = {}
    for measure, alternatives in _NAMES.items():
        # "GRF registers" is 0 where Intel's driver does not count them.
        names = next((n for n in alternatives if n[0] in line and (line[n[0]] or n[0] != "GRF registers")), ())
        measures[measure] = sum(line.get(name, 0) for name in names) if names else None
    # AMD's driver counts waves of 32 on chips that have them.
    if "Subgroups per SIMD" in line and line["subgroup"] == 64 and not is_gcn(device):
        measures["waves"] //= 2
    return Figure((device, line["kernel"], line["module"], line["head dim"], line["options"]), line["subgroup"], measures)


# AMD chips of the generations before RDNA, which have waves of 64 alone, and others.
_GCN = ("pitcairn", "bonaire", "stoney", "polaris10", "polaris12", "vega10", "vega20", "raven", "raven2", "renoir")
_RDNA = ("navi", "gfx1", "vangogh", "rembrandt", "raphael", "phoenix", "strix")


def is_gcn(device):
    return device in _GCN


def least_waves(device):
    """That an AMD chip shall have room for on a SIMD; 0: another device."""
    return 2 if is_gcn(device) else 3 if device.startswith(_RDNA) else 0


@dataclasses.dataclass
class File:
    driver: str
    figures: dict  # by key


_HEADER = """# What Mesa's drivers say of the kernels, written by `tools/lab --update` and compared by `tools/lab`: docs/lab.md explains it.
# known: problems that are known, set by hand: "spills", "waves" (too few resident ones). -: none; or the driver does not say.
"""


def read(path):
    """An absent file is an empty one."""
    file = File("", {})
    if not path.exists():
        return file
    for line in path.read_text().splitlines():
        if line.startswith("# driver: "):
            file.driver = line.removeprefix("# driver: ")
        elif line and not line.startswith(("#", "device\t")):
            cells = line.split("\t")
            if len(cells) != len(COLUMNS):
                sys.exit(f"{path}: a line has {len(cells)} columns instead of {len(COLUMNS)}: {line}")
            values = dict(zip(COLUMNS, cells))
            key = (*cells[:3], int(values["head_dim"]), values["options"])
            measures = {m: None if values[m] == "-" else int(values[m]) for m in MEASURES}
            file.figures[key] = Figure(key, int(values["subgroup"]), measures, tuple(p for p in values["known"].split(",") if p != "-"))
    return file


def write(path, file):
    lines = [_HEADER, f"# driver: {file.driver}\n", "\t".join(COLUMNS) + "\n"]
    for key in sorted(file.figures):
        figure = file.figures[key]
        cells = [*key, figure.subgroup, *("-" if figure.measures[m] is None else figure.measures[m] for m in MEASURES), ",".join(figure.known) or "-"]
        lines.append("\t".join(str(cell) for cell in cells) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
