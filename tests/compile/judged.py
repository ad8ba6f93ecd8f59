#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Remembers which devices passed, and with what: docs/lab/judged.tsv. A step of tools/lab.

judged.py FILE REPORTS record DEVICE...           those that passed just now, by their reports
judged.py FILE REPORTS changed DEVICE=DRIVER...   prints those to compile: whose pipelines or Mesa are not those of the file, by REPORTS/DEVICE.digest,
                                                  and of the others one per driver, another when kernels change
"""
import pathlib
import sys

from figures import statistics_line

_HEADER = ("# Devices that passed tools/lab, and a hash of all that their drivers were given then, written by `tools/lab --record`: what is\n"
           "# the same need not be compiled again. docs/lab.md explains it.\n"
           "device\tdriver\tdigest\n")


def read(path):
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [line.split("\t") for line in lines if line and not line.startswith(("#", "device\t"))]
    return {device: (driver, digest) for device, driver, digest in rows}


def write(path, judged):
    path.write_text(_HEADER + "".join(f"{device}\t{driver}\t{digest}\n" for device, (driver, digest) in sorted(judged.items())))


def summary_of(report):
    """Driver and digest; (None, None) if the program did not get as far."""
    text = report.read_text() if report.exists() else ""
    for line in text.splitlines():
        if line.startswith("SUMMARY "):
            values = statistics_line.parse_line(line)
            return values["driver"], values["digest"]
    return None, None


def record(path, reports, devices):
    judged = read(path)
    for device in devices:
        driver, digest = summary_of(reports / f"{device}.txt")
        judged[device] = (driver, digest)
    write(path, judged)


def to_compile(path, reports, drivers):
    judged = read(path)
    found = {device: summary_of(reports / f"{device}.digest") for device in drivers}
    changed = [device for device in drivers if found[device] == (None, None) or found[device] != judged.get(device)]
    seed = sum(int(digest, 16) for _, digest in found.values() if digest)
    for driver in dict.fromkeys(drivers.values()):
        same = [device for device in drivers if drivers[device] == driver]
        if not any(device in changed for device in same):
            changed.append(same[seed % len(same)])
    return [device for device in drivers if device in changed]


def main():
    path, reports, mode, names = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    if mode == "record":
        record(path, reports, names)
    else:
        print(*to_compile(path, reports, dict(name.split("=") for name in names)), sep="\n")


if __name__ == "__main__":
    main()
