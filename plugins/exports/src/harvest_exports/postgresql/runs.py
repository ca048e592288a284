"""A table of the runs that wrote a dataset, for dashboards."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from harvest import Dataset
from harvest.toolkit.texts import printable

from ..names import quoted
from .database import Database

RUNS: Final = "harvest_runs"
RUNS_DECLARED: Final = (
    "The runs that wrote the dataset, by their number. Null where the record of a run is missing "
    "or does not say it; counts are of what the run itself read.",
    "number bigint PRIMARY KEY, run text NOT NULL, action text, started timestamptz, "
    "ended timestamptz, exit_code bigint, partitions bigint, read bigint, written bigint, "
    "rejected bigint, failed bigint, problem text",
)
_COUNTS: Final = ("read", "written", "rejected", "failed")
_ROW: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("run", pa.string()),
        ("action", pa.string()),
        ("started", pa.timestamp("us", "UTC")),
        ("ended", pa.timestamp("us", "UTC")),
        *((name, pa.int64()) for name in ("exit_code", "partitions", *_COUNTS)),
        ("problem", pa.string()),
    ]
)


def keep_runs(database: Database, schema: str, dataset: Dataset) -> None:
    """Update the table of runs: send those since the last export."""
    where, runs = quoted(schema, RUNS), dataset.manifest.runs
    last = database.rows(f"SELECT number, run FROM {where} ORDER BY number DESC LIMIT 1")
    known = last[0][0] + 1 if last else 0
    if known > len(runs) or (known and runs[known - 1] != last[0][1]):
        database.execute(f"DELETE FROM {where}")  # the dataset went back, and on from there
        known = 0
    if known < len(runs):
        rows = [
            {"number": number, **_row(record)}
            for number, record in enumerate(dataset.runs(skip=known), start=known)
        ]
        table = pa.Table.from_pylist(rows, schema=_ROW)
        database.load(schema, RUNS, _ROW, iter([table]))


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: record.get(name) for name in ("started", "ended")}
    account = record.get("account")
    return {
        **{name: record.get(name) for name in ("run", "action", "exit_code", "partitions")},
        **{name: datetime.fromisoformat(time) if time else None for name, time in times.items()},
        **{name: sum(each[name] for each in account) if account else None for name in _COUNTS},
        "problem": printable(record["problem"]) if record["problem"] else None,
    }
