"""The sink planted-csvsink, and what every sink promises."""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from planted_csvsink import CsvSink

from harvest_testing import SinkConformance


def natural(value, kind):
    """A value as the format's documentation says how to read it."""
    if value is None:
        return None
    if kind is datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    return kind(value) if kind in (bool, int, float) else value


class TestCsvSink(SinkConformance):
    sink = CsvSink

    def read_natively(self, location, record_type):
        rows = []
        for path in sorted(Path(location, record_type.name).glob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                rows += csv.DictReader(file)
        kinds = {column.name: column.python_type for column in record_type.columns}
        found = {
            name: [natural(json.loads(row[name]), kinds.get(name)) for row in rows]
            for name in (rows[0] if rows else ())
        }
        return pl.DataFrame(found, strict=False)
