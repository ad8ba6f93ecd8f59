# SPDX-License-Identifier: Apache-2.0
"""Python environments: one for each library, with pinned versions, made on request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from entries import Entry


class Environments:
    """Finds, and where asked to makes, the Python that runs a contestant's script."""

    def __init__(
        self, folder: Path, given: dict[str, Path], install: bool, say: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._given = given
        self._install = install
        self._say = say
        self._found: dict[str, tuple[Path | None, str]] = {}

    def python_for(self, entry: Entry) -> tuple[Path | None, str]:
        """The interpreter, or None and the reason why there is none."""
        name = entry.environment_name
        if name not in self._found:
            self._found[name] = self._find(name, entry.requirements)
        return self._found[name]

    def _find(self, name: str, requirements: tuple[str, ...]) -> tuple[Path | None, str]:
        if name in self._given:
            python = self._given[name]
            return (python, "") if python.exists() else (None, f"--python: there is no {python}")
        folder = self._folder / name
        python, pins = folder / "bin/python", folder / "installed.txt"
        wanted = "\n".join(requirements) + "\n"
        if python.exists() and pins.exists() and pins.read_text() == wanted:
            return python, ""
        if not self._install:
            return None, f"not installed in {folder}; without --no-setup it is"
        return self._make(name, folder, requirements, wanted)

    def _make(
        self, name: str, folder: Path, requirements: tuple[str, ...], wanted: str
    ) -> tuple[Path | None, str]:
        self._say(f"installing {', '.join(requirements)} in {folder}")
        python = folder / "bin/python"
        for what, command in (
            ("venv", [sys.executable, "-m", "venv", "--clear", str(folder)]),
            ("pip", [str(python), "-m", "pip", "install", "--no-input", "--quiet", *requirements]),
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
                return None, f"{what} could not install {name}: {said[-1].strip()}"
        (folder / "installed.txt").write_text(wanted)
        return python, ""
