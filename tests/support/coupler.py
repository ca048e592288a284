"""CSVs as the Mofka-Dask coupler's consumer writes them with pandas."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as pandas does: a nameless index first, nothing for a null."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["", *names])
        for number, row in enumerate(rows):
            writer.writerow([number, *(_cell(row.get(name)) for name in names)])


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)
