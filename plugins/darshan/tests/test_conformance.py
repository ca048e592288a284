"""The source ``darshan`` keeps what all sources promise."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harvest_darshan.source import DarshanSource
from harvest_testing import SourceConformance

STDIO = struct.pack("<Qq14q15d", 7, 0, *[1] * 14, *[0.0] * 15)


class TestDarshan(SourceConformance):
    source = DarshanSource
    examples: ClassVar = {"max_inflated_bytes": 100}
    without_effect: ClassVar = {
        "max_ratio": "a limit of regions over 64 MiB",
        "max_seconds": "a limit of time, which small logs never need",
    }
    names_matter = True  # a log's name tells the process that wrote it

    @pytest.fixture(autouse=True)
    def _writer(self, log_writer: type[Any], make_dxt: Callable[..., bytes]) -> None:
        traced = make_dxt("<", 7, [(0, 1, 0.0, 1.0), (1, 4096, 1.0, 1.5)])
        modules = {"STDIO": (2, STDIO), "DXT_POSIX": (1, traced)}
        self.log = log_writer(modules=modules).build()

    def sample(self, directory: Path) -> Path:
        (directory / "deeper").mkdir()
        (directory / "u_a.out_id4711-815_11-14-1-2_1.darshan").write_bytes(self.log)
        (directory / "deeper/u_b.out_id4712-9_11-14-1-2_1.darshan").write_bytes(self.log)
        return directory
