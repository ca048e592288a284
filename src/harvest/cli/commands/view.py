"""``harvest view``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harvest.cli import complete

if TYPE_CHECKING:
    import polars as pl

__all__ = ["view"]

ROWS_SHOWN = 20
"""Rows of a table on a terminal where none are asked for."""


def view(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A view; all are listed without.",
            autocompletion=complete.views,
        ),
    ] = None,
    dataset: Annotated[
        Path | None, typer.Argument(metavar="DATASET", help="What a sink wrote.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write .parquet, .jsonl, .csv or .txt (readable text).",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the view. Repeatable."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "-n", "--rows", min=1, help="Rows shown or written. [default: 20 of a table, else all]"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """List the views, or show or export one of a dataset."""
    from harvest.cli.records import how_many, print_records
    from harvest.cli.settings import key_values, print_declared
    from harvest.dataset import open as open_dataset
    from harvest.errors import UsageError
    from harvest.plugins.registry import manager

    if name is None:
        print_declared("view", list(manager().views.values()), json=json)
        return 0
    spec = manager().view(name)
    if dataset is None:
        raise UsageError("which dataset?", remedy=f"write: harvest view {name} DATASET")
    if output is not None and json:
        raise UsageError("--json prints and --output writes", remedy="give one of them")
    frame = open_dataset(dataset).view(name, **key_values(settings))
    if output is not None:
        from harvest.dataset.export import export

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
    import polars as pl

    return int(frame.select(pl.len()).collect().item())
