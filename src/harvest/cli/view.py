"""``harvest view``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import complete

__all__ = ["view"]


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
    rows: Annotated[int, typer.Option("-n", "--rows", min=1, help="Rows shown.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """List the views, or show or export one of a dataset."""
    from harvest.dataset import open as open_dataset
    from harvest.errors import UsageError
    from harvest.plugins.manager import manager

    from .records import print_records
    from .settings import key_values, print_declared

    if name is None:
        print_declared("view", list(manager().views.values()), json=json)
        return 0
    spec = manager().view(name)
    if dataset is None:
        raise UsageError("which dataset?", remedy=f"write: harvest view {name} DATASET")
    frame = open_dataset(dataset).view(name, **key_values(settings))
    if output is None:
        head = frame.head(rows).collect() if not json else frame.collect()
        print_records(name, head, json=json)
        return 0
    from harvest.dataset.export import export

    count = export(frame, output, text=spec.text)
    plural = "row" if count == 1 else "rows"
    print(f"{count:,} {plural} of {name} written to {output}")
    return 0
