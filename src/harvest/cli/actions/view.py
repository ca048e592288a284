"""``harvest view``: a view of a dataset, shown or written to a file."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from harvest.cli.records import print_records
from harvest.cli.settings import key_values
from harvest.cli.tables import how_many
from harvest.dataset import open as open_dataset
from harvest.dataset.export import export
from harvest.errors import UsageError
from harvest.plugins.registry import manager
from harvest.toolkit.frames import condition

__all__ = ["show_view"]

ROWS_SHOWN = 20
"""Rows of a table on a terminal where none are asked for."""


def show_view(
    name: str,
    dataset: Path | None,
    output: Path | None,
    settings: list[str] | None,
    where: str | None,
    rows: int | None,
    *,
    json: bool,
) -> int:
    """Print a view of a dataset, or write it to a file."""
    spec = manager().view(name)
    if dataset is None:
        raise UsageError("which dataset?", remedy=f"write: harvest view {name} DATASET")
    if output is not None and json:
        raise UsageError("--json prints and --output writes", remedy="give one of them")
    frame = open_dataset(dataset).view(name, **key_values(settings))
    if where is not None:
        frame = frame.filter(condition(where, frame))
    if output is not None:
        count = export(frame if rows is None else frame.head(rows), output, text=spec.text)
        print(f"{how_many(count, 'row')} of {name} written to {output}")
        return 0
    if json:
        print_records(name, (frame if rows is None else frame.head(rows)).collect(), json=True)
        return 0
    room = rows or ROWS_SHOWN
    first = frame.head(room + 1).collect()
    total = first.height if first.height <= room else _height(frame)
    print_records(name, first.head(room), total=total)
    return 0


def _height(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect().item())
