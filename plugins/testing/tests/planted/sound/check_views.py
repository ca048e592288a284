"""The view planted.per_host, and what every view promises."""

import json
from pathlib import Path
from typing import Any, ClassVar

import harvest
from harvest_testing import ViewConformance

DAY = "2026-03-01T"
FIRST: list[dict[str, Any]] = [
    {"time": f"{DAY}08:00:00+00:00", "job": 1, "user": "ada"},
    {"time": f"{DAY}08:30:00+00:00", "job": 1, "user": "ada"},  # queued again
    {"time": f"{DAY}08:00:00+00:00", "job": 2, "user": None},
    {"time": f"{DAY}08:31:00+00:00", "job": 1, "host": "n1", "size_bytes": 100, "duration_s": 0.5},
    {"time": f"{DAY}08:32:00+00:00", "job": 1, "host": "n1", "size_bytes": 50, "duration_s": 2.0},
    {"time": f"{DAY}08:32:00+00:00", "job": 2, "host": "n2", "size_bytes": None, "duration_s": 1.5},
    {"time": f"{DAY}23:30:00+00:00", "job": 2, "host": "n2", "size_bytes": 8, "duration_s": None},
    {"time": f"{DAY}09:00:00+00:00", "job": None, "host": None, "size_bytes": 7, "duration_s": 0.0},
    {"time": f"{DAY}09:00:00+00:00", "job": 9, "host": "n3", "size_bytes": 0, "duration_s": 0.0},
]


def write(path: Path, run: str, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps({**line, "run": run}) + "\n" for line in lines))


def harvested(self: Any, directory: Path, inputs: int) -> harvest.Dataset:
    """One run, or two whose jobs have the same numbers."""
    folder = directory / "runs"
    folder.mkdir()
    write(folder / "r1.jsonl", "r1", FIRST)
    if inputs > 1:
        later = json.loads(
            json.dumps(FIRST[2:]).replace('"ada"', '"bob"').replace("03-01", "03-03")
        )
        write(folder / "r2.jsonl", "r2", later)
    harvest.run(f"planted-transfers:{folder}", f"parquet:{directory / 'out'}")
    return harvest.open(directory / "out")


class TestPerHost(ViewConformance):
    view = "planted.per_host"
    key = ("day", "host")
    examples: ClassVar = {"timezone": "Asia/Tokyo", "least": "2"}
    dataset = harvested
