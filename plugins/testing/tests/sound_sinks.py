"""The sound sinks that bugs are planted in, and what the kit is given for each."""

from __future__ import annotations

import atexit
import importlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

import duckdb
import polars as pl

from harvest_jsonl.directory import JsonlDirectory
from harvest_jsonl.file import JsonlFile
from harvest_parquet.sink import ParquetSink
from harvest_testing import SinkConformance
from harvest_testing.scaffold import scaffold

__all__ = ["KITS", "DuckdbSink", "JsonlDirectory", "JsonlFile", "ParquetSink", "ScaffoldSink"]

ROOT = Path(__file__).resolve().parents[3]


def _scaffolded() -> Path:
    """The project that ``harvest plugins new planted --kind sink`` writes."""
    folder = Path(tempfile.mkdtemp(prefix="harvest-planted-"))
    atexit.register(shutil.rmtree, folder)
    scaffold("planted", ["sink"], folder)
    return folder / "harvest-planted" / "src"


# processes that the kit starts have the path of this one
for name, folder in (
    ("harvest_duckdb", lambda: ROOT / "examples" / "plugins" / "harvest-duckdb" / "src"),
    ("harvest_planted", _scaffolded),
):
    if importlib.util.find_spec(name) is None:
        sys.path.append(str(folder()))

DuckdbSink = importlib.import_module("harvest_duckdb.sink").DuckdbSink
ScaffoldSink = importlib.import_module("harvest_planted.sink").PlantedSink


class ParquetKit(SinkConformance):
    sink = ParquetSink

    def read_natively(self, location, record_type):
        return pl.read_parquet(f"{location}/{record_type.name}/*.parquet")


class JsonlDirectoryKit(SinkConformance):
    sink = JsonlDirectory

    def read_natively(self, location, record_type):
        return pl.read_ndjson(f"{location}/{record_type.name}/*.jsonl")


class ScaffoldKit(SinkConformance):
    sink = ScaffoldSink

    def read_natively(self, location, record_type):
        return pl.concat(map(pl.read_ipc, Path(location, record_type.name).glob("*.arrow")))


class JsonlFileKit(SinkConformance):
    sink = JsonlFile

    def location(self, directory):
        return directory / "out.jsonl"

    def read_natively(self, location, record_type):
        events = map(json.loads, Path(location).read_text("utf-8").splitlines())
        return pl.DataFrame(
            [
                {"origin": event["origin"], "position": event["position"], **event["data"]}
                for event in events
                if event["record_type"] == record_type.name
            ]
        )


class DuckdbKit(SinkConformance):
    sink = DuckdbSink
    deterministic = False

    def location(self, directory):
        return directory / "out.duckdb"

    def read_natively(self, location, record_type):
        with duckdb.connect(location, read_only=True) as database:
            return database.sql(f'from "{record_type.name}"').pl()


KITS = {
    kit.sink: kit for kit in (ParquetKit, JsonlDirectoryKit, JsonlFileKit, ScaffoldKit, DuckdbKit)
}
