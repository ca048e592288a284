"""The source planted-nested, and what every source promises."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import ClassVar

from planted_nested import NestedSource

from harvest_testing import SourceConformance

STEPS = [
    {
        "name": "mesh",
        "begin_ns": 1_772_352_000_250_001_999,
        "seconds": 1.5,
        "labels": {"solver": "Zürich", "a": ""},
        "parts": [
            {"rank": 0, "cells": 9007199254740993, "done": True},
            {"rank": 1, "done": False},
            {"rank": "two", "done": True},
        ],
    },
    {"name": "solve", "begin_ns": 1_772_352_060_000_000_000, "seconds": None},
    {"name": "save", "begin_ns": "later", "seconds": 1},
]


class TestNested(SourceConformance):
    source = NestedSource
    units = 12
    counted: ClassVar = {"part": 0}
    examples: ClassVar = {"parts": False, "max_bytes": 10}
    max_memory_mb = 64

    def sample(self, directory: Path) -> Path:
        first = {"simulation": "r1", "steps": STEPS}
        (directory / "first.sim").write_text(json.dumps(first, ensure_ascii=False))
        second = json.dumps({"simulation": "r2", "steps": STEPS}, ensure_ascii=False)
        (directory / "second.sim.gz").write_bytes(gzip.compress(second.encode(), mtime=0))
        return directory

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return b'"steps": []' in data
