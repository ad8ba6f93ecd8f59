# SPDX-License-Identifier: Apache-2.0
"""The process of torch_sdpa.py: started when it is needed, and again when it has died."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from program import Unavailable
from rows import Row
from session import ContestantError, Session

BACKENDS = ("flash", "cudnn", "efficient", "math")
_SCRIPT = Path(__file__).resolve().parent / "torch_sdpa.py"
_START_SECONDS = 90  # importing PyTorch from a cold disk
MOST_STARTS = 4


class TorchPeer:
    def __init__(self, python: str, device: str, log: Path) -> None:
        self._command = [python, "-B", str(_SCRIPT), "--device", device]
        self._log = log
        self._session: Session | None = None
        self._starts = 0
        self.identity: dict[str, Any] = {}

    def start(self, seconds: float) -> None:
        """Raises Unavailable if PyTorch cannot take part at all."""
        self._starts += 1
        try:
            self._session = Session(self._command, os.environ, self._log, min(seconds, _START_SECONDS))
        except ContestantError as error:
            raise Unavailable(str(error)) from error
        self.identity = self._session.identity

    def measure(self, row: Row, dtype: str, backend: str, measured: float, seconds: float) -> dict[str, Any]:
        """Measures for about `measured` seconds. Raises Unavailable if this backend gives no result in `seconds`."""
        if self._session is None:
            if self._starts >= MOST_STARTS:
                raise Unavailable(f"PyTorch's process has ended {MOST_STARTS} times and is not started again")
            self.start(seconds)
        assert self._session
        sizes = ("batch", "heads", "heads_kv", "seqlen_q", "seqlen_k", "head_dim", "causal")
        request = {
            "backend": backend,
            **{name: getattr(row, name) for name in sizes},
            "dtype": dtype,
            "seconds": measured,
        }
        try:
            return self._session.ask(json.dumps(request), seconds)
        except ContestantError as error:
            if self._session.ended():
                self.close()
            raise Unavailable(str(error)) from error

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
