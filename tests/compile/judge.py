#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what saccade_compile_kernels reported for each device: the last step of tools/lab.

judge.py FILE REPORTS judge|update DEVICE...
"""
import dataclasses
import pathlib
import sys

import figures
from figures import statistics_line

ALLOWED = 1.05  # times the figure in the file
LARGEST_HEAD_DIM = 128  # up to which no kernel that plans choose may spill
SHOWN = 40  # complaints of a device


@dataclasses.dataclass
class Device:
    name: str
    status: int = 0
    summary: dict = dataclasses.field(default_factory=dict)
    lines: list = dataclasses.field(default_factory=list)
    complaints: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    spilling: int = 0

    def figures(self):
        found = {}
        for line in self.lines:
            if line["figure"]:
                figure = figures.of_line(self.name, line)
                found.setdefault(figure.key, figure)
        return found


def read_device(reports, name):
    text = (reports / f"{name}.txt").read_text()
    device = Device(name, int((reports / f"{name}.status").read_text()), lines=statistics_line.parse(text))
    device.complaints = [line for line in text.splitlines() if line.startswith("FAILED")]
    summaries = [statistics_line.parse_line(line) for line in text.splitlines() if line.startswith("SUMMARY ")]
    if summaries:
        device.summary = summaries[0]
    if device.status != 0 or not summaries:
        device.complaints.append(f"the program ended with exit code {device.status}")
        device.complaints += (reports / f"{name}.messages").read_text().splitlines()[:SHOWN]
    return device


def is_known(problem, figure, kept, line, comparable):
    """Whether the file excuses it. What the file has no line for may be as bad as the worst of the same kernel and head dim there."""
    if line["figure"]:
        return figure.key in kept.figures and problem in kept.figures[figure.key].known
    device, kernel, _, head_dim, _ = figure.key
    excused = [other for other in kept.figures.values()
               if problem in other.known and other.key[:2] == (device, kernel) and other.key[3] == head_dim]
    if not excused or not comparable:
        return bool(excused)
    if problem == "waves":
        return figure.measures["waves"] >= min(other.measures["waves"] for other in excused)
    return figure.spilled <= ALLOWED * max(other.spilled for other in excused)


def describe(problem, figure):
    measures = figure.measures
    if problem == "waves":
        return f"room for {measures['waves']} waves, fewer than {figures.least_waves(figure.key[0])}"
    return f"spills {measures['spills']} registers, scratch memory {measures['scratch'] or 0}"


def check_limits(device, kept, comparable):
    """Of every pipeline, whether its figures are kept or not."""
    for line in device.lines:
        figure = figures.of_line(device.name, line)
        device.spilling += figure.spilled > 0
        measures = figure.measures
        if line["local size"] > device.summary.get("invocations", line["local size"]):
            device.complaints.append(f"{figure.name}: {line['local size']} invocations, more than {device.summary['invocations']}")
        if (measures["shared"] or 0) > device.summary.get("shared memory", measures["shared"] or 0):
            device.complaints.append(f"{figure.name}: {measures['shared']} bytes of shared memory, more than {device.summary['shared memory']}")
        if not line["chosen"] or line["head dim"] > LARGEST_HEAD_DIM:
            continue
        for problem in figure.problems:
            if not is_known(problem, figure, kept, line, comparable):
                device.complaints.append(f"{figure.name}: {describe(problem, figure)}; the plans choose it, and it is no known exception "
                                         "in docs/lab/figures.tsv")


def compare(device, kept):
    """With the figures in the file."""
    found = device.figures()
    for key, figure in found.items():
        old = kept.figures.get(key)
        if old is None:
            device.complaints.append(f"{figure.name}: not in docs/lab/figures.tsv")
            continue
        for measure, value in figure.measures.items():
            before = old.measures[measure]
            if value is None or before is None:
                if value != before:
                    device.complaints.append(f"{figure.name}: {measure} was {before} and is {value}")
                continue
            worse, better = (before, value) if measure == "waves" else (value, before)
            if worse > better * ALLOWED:
                device.complaints.append(f"{figure.name}: {measure} was {before} and is {value}")
            elif better > worse * ALLOWED:
                device.notes.append(f"{figure.name}: {measure} was {before} and is {value}")
        for problem in old.known:
            if problem not in figure.problems:
                device.complaints.append(f"{figure.name}: the problem \"{problem}\" is solved and no known exception any more")
    for key, old in kept.figures.items():
        if key[0] == device.name and key not in found:
            device.complaints.append(f"{old.name}: in docs/lab/figures.tsv, but no pipeline of the lab any more")


def update(path, devices, kept):
    """The figures of these devices anew; an exception that is known stays one as long as it is needed."""
    drivers = {device.summary["driver"] for device in devices}
    if len(drivers) != 1:
        sys.exit(f"the devices have several drivers: {', '.join(sorted(drivers))}")
    names = {device.name for device in devices}
    others = {key: figure for key, figure in kept.figures.items() if key[0] not in names}
    driver = drivers.pop()
    if others and kept.driver != driver:
        sys.exit(f"docs/lab/figures.tsv has figures of {kept.driver}, and this is {driver}: update all devices at once")
    made = figures.File(driver, others)
    for device in devices:
        for key, figure in device.figures().items():
            known = kept.figures[key].known if key in kept.figures else ()
            figure.known = tuple(problem for problem in known if problem in figure.problems)
            made.figures[key] = figure
    figures.write(path, made)
    return made


def table(devices):
    rows = [("device", "name that the driver gives", "pipelines", "refused", "spilling", "CPU s", "result")]
    for device in devices:
        s = device.summary
        rows.append((device.name, s.get("device", "-"), s.get("pipelines", "-"), s.get("refusals", "-"), device.spilling,
                     s.get("seconds", "-"), "ok" if not device.complaints else f"FAILED ({len(device.complaints)})"))
    return "\n".join(f"{r[0]:<10} {r[1]:<42} {r[2]:>9} {r[3]:>8} {r[4]:>9} {r[5]:>8}  {r[6]}" for r in rows)


def kernels(devices):
    """A line per device and kernel, of all its pipelines."""
    rows = [("device", "kernel", "pipelines", "spilling", "most_spills", "least_waves", "seconds")]
    for device in devices:
        by_kernel = {}
        for line in device.lines:
            by_kernel.setdefault(line["kernel"], []).append((line, figures.of_line(device.name, line)))
        for kernel, pipelines in sorted(by_kernel.items()):
            found = [figure for _, figure in pipelines]
            waves = [figure.measures["waves"] for figure in found if figure.measures["waves"] is not None]
            rows.append((device.name, kernel, len(found), sum(figure.spilled > 0 for figure in found), max(figure.measures["spills"] or 0 for figure in found),
                         min(waves, default="-"), f"{sum(line['seconds'] for line, _ in pipelines):.1f}"))
    return "".join("\t".join(str(cell) for cell in row) + "\n" for row in rows)


def main():
    path, reports, mode, names = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    devices = [read_device(reports, name) for name in names]
    kept = figures.read(path)
    if mode == "update":
        broken = [device.name for device in devices if not device.summary]
        if broken:
            sys.exit(f"no figures of {', '.join(broken)}: see {reports}")
        kept = update(path, devices, kept)
    strangers = {device.summary["driver"] for device in devices if device.summary} - {kept.driver}
    for device in devices:
        comparable = device.summary.get("driver") == kept.driver
        check_limits(device, kept, comparable)
        if device.summary and comparable:
            compare(device, kept)
    print(table(devices))
    (reports / "devices.txt").write_text(table(devices) + "\n")
    (reports / "kernels.tsv").write_text(kernels(devices))
    notes = sum(len(device.notes) for device in devices)
    if notes:
        print(f"{notes} figures are better than in docs/lab/figures.tsv by more than 5 %: tools/lab --update keeps them")
    for device in devices:
        if device.complaints:
            print(f"\n{device.name}:", *device.complaints[:SHOWN], sep="\n  ")
            if len(device.complaints) > SHOWN:
                print(f"  and {len(device.complaints) - SHOWN} more")
    (reports / "better.txt").write_text("".join(note + "\n" for device in devices for note in device.notes))
    if strangers:
        print(f"\nATTENTION: the figures in docs/lab/figures.tsv are of {kept.driver or 'no driver'}, and this is {', '.join(sorted(strangers))}.\n"
              "They were NOT compared; everything else was checked. With this driver from now on: tools/lab --update, and commit the file.")
    failed = [device.name for device in devices if device.complaints]
    (reports / "passed.txt").write_text("".join(f"{device.name}\n" for device in devices
                                               if not device.complaints and device.summary["driver"] == kept.driver))
    if failed:
        print(f"\nFAILED: {', '.join(failed)}. Figures that are meant to change: tools/lab --update, and commit docs/lab/figures.tsv with the "
              f"change. All that the drivers say: {reports}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
