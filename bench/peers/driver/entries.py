# SPDX-License-Identifier: Apache-2.0
"""Who takes part: one entry per library and backend. Nothing else in the driver knows any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, eq=False)
class Entry:
    key: str
    title: str
    program: str  # a target of bench/peers/CMakeLists.txt, or a script in contestants/
    requirements: tuple[str, ...] = ()  # of a script, for pip
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    vulkan: bool = False
    storage: str = "f32"  # of K and V: which of the two case files it gets
    models: bool = False  # whether it also takes whole models
    # Compiling its pipelines takes so long that this is not measured unless asked for.
    slow_cold_start: bool = False

    @property
    def is_script(self) -> bool:
        return self.program.endswith(".py")

    @property
    def environment_name(self) -> str:
        """Of the Python environment: entries of one library share it."""
        return self.key.split("-")[0]


SACCADE = Entry("saccade", "Saccade", "peer_saccade", vulkan=True, models=True)

_NCNN = ("ncnn==1.0.20261020", "numpy==2.5.5")
_GGML_VULKAN = {"GGML_PEER_BACKEND": "Vulkan", "GGML_VK_VISIBLE_DEVICES": "0"}

ENTRIES = (
    SACCADE,
    Entry("torch", "PyTorch, CPU", "torch_contestant.py", ("torch==2.13.0", "numpy==2.5.5"), models=True),
    Entry("ncnn", "ncnn, CPU", "ncnn_contestant.py", _NCNN),
    Entry(
        "onnxruntime",
        "onnxruntime, CPU",
        "onnxruntime_contestant.py",
        ("onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.5.5"),
    ),
    Entry("ggml", "ggml, CPU", "peer_ggml", environment={"GGML_PEER_BACKEND": "CPU"}, storage="f16"),
    Entry("ncnn-vulkan", "ncnn, Vulkan", "ncnn_contestant.py", _NCNN, ("--vulkan",), vulkan=True),
    Entry(
        "ggml-vulkan",
        "ggml, Vulkan",
        "peer_ggml",
        environment=_GGML_VULKAN | {"GGML_PEER_SUMS": "fp16"},
        vulkan=True,
        storage="f16",
        slow_cold_start=True,
    ),
    Entry(
        "ggml-vulkan-f32",
        "ggml, Vulkan, fp32 sums",
        "peer_ggml",
        environment=_GGML_VULKAN | {"GGML_PEER_SUMS": "fp32"},
        vulkan=True,
        storage="f16",
        slow_cold_start=True,
    ),
)


@dataclass(frozen=True)
class Row:
    """An entry on one Vulkan driver; `manifest` is None for the CPU and for whatever driver the loader finds."""

    entry: Entry
    manifest: Path | None = None
    several_drivers: bool = False

    @property
    def key(self) -> str:
        if self.manifest is None or not self.several_drivers:
            return self.entry.key
        return f"{self.entry.key}@{self.manifest.stem}"


def rows_of(entries: list[Entry], manifests: list[Path]) -> list[Row]:
    """Every Vulkan entry once per driver, the others once."""
    rows = []
    for entry in entries:
        drivers = manifests if entry.vulkan and manifests else [None]
        rows += [Row(entry, manifest, len(drivers) > 1) for manifest in drivers]
    return rows


def opponent(row: Row, rows: list[Row]) -> Row:
    """Saccade on the same driver; for the CPU, Saccade on the first driver."""
    ours = [other for other in rows if other.entry is SACCADE]
    return next((other for other in ours if row.entry.vulkan and other.manifest == row.manifest), ours[0])
