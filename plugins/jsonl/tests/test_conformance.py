"""The sink ``jsonl`` keeps what all sinks promise, in each of its forms."""

from __future__ import annotations

from pathlib import Path

from harvest.testing import SinkConformance
from harvest_jsonl.sink import JsonlSink


class TestDirectory(SinkConformance):
    sink = JsonlSink


class TestFile(SinkConformance):
    sink = JsonlSink

    def location(self, directory: Path) -> Path:
        return directory / "out.jsonl"


class TestCompressedFile(SinkConformance):
    sink = JsonlSink

    def location(self, directory: Path) -> Path:
        return directory / "out.jsonl.zst"
