"""The sink planted-sqlitesink, and what every sink promises."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from pathlib import Path

import polars as pl
from check_csvsink import natural
from planted_sqlitesink import SqliteSink

from harvest_testing import SinkConformance


class TestSqliteSink(SinkConformance):
    sink = SqliteSink

    def read_natively(self, location, record_type):
        found: dict[str, list] = {}
        kinds = {column.name: column.python_type for column in record_type.columns}
        for path in sorted(Path(location, record_type.name).glob("*.sqlite")):
            database = sqlite3.connect(path)
            rows = database.execute("SELECT * FROM rows")
            names = [name for name, *_ in rows.description]
            for row in rows.fetchall():
                for name, value in zip(names, row, strict=True):
                    kind = kinds.get(name)
                    told = isinstance(value, str) and kind in (int, float, datetime)
                    each = natural(json.loads(value) if told else value, kind)
                    found.setdefault(name, []).append(each)
            database.close()
        return pl.DataFrame(found, strict=False)
