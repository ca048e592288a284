"""The sink planted-csvsink, and what every sink promises."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
from planted_csvsink import CsvSink

from harvest_testing import SinkConformance


class TestCsvSink(SinkConformance):
    sink = CsvSink

    def read_natively(self, location, record_type):
        rows = []
        for path in sorted(Path(location, record_type.name).glob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                rows += [{k: json.loads(v) for k, v in row.items()} for row in csv.DictReader(file)]
        return pl.DataFrame(
            [{name: row[name] for name in ("origin", "position", "text")} for row in rows]
        )
