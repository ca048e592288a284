"""The sink planted-sqlitesink, and what every sink promises."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl
from planted_sqlitesink import SqliteSink

from harvest_testing import SinkConformance


class TestSqliteSink(SinkConformance):
    sink = SqliteSink

    def read_natively(self, location, record_type):
        rows = []
        for path in sorted(Path(location, record_type.name).glob("*.sqlite")):
            database = sqlite3.connect(path)
            rows += database.execute("SELECT origin, position, text FROM rows").fetchall()
            database.close()
        return pl.DataFrame(rows, ["origin", "position", "text"], orient="row")
