"""The sink ``jsonl`` keeps what all sinks promise, in each of its forms."""

import json
from pathlib import Path

import polars as pl
import zstandard

from harvest_jsonl.sink import JsonlSink
from harvest_testing import SinkConformance

OPEN = {".jsonl": open, ".zst": zstandard.open}


class TestDirectory(SinkConformance):
    sink = JsonlSink

    def read_natively(self, location, record_type):
        return pl.read_ndjson(f"{location}/{record_type.name}/*.jsonl")


class TestFile(SinkConformance):
    sink = JsonlSink
    ending = ".jsonl"

    def location(self, directory: Path) -> Path:
        return directory / f"out{self.ending}"

    def read_natively(self, location, record_type):
        with OPEN[Path(location).suffix](location, "rt", encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines]
        return pl.DataFrame(
            [
                {**{name: event[name] for name in ("origin", "position")}, **event["data"]}
                for event in events
                if event["record_type"] == record_type.name
            ]
        )


class TestCompressedFile(TestFile):
    ending = ".jsonl.zst"
