"""``harvest view``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.commands.options import Exact, Wide

from . import completion

__all__ = ["view"]


def view(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A view; all are listed without.",
            autocompletion=completion.views,
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
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the view. Repeatable.",
            autocompletion=completion.own_settings,
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="Only rows for which this holds: \"state = 'lost' and nbytes > 1e9\".",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Order of rows, such as 'wasted desc, user'."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Only these columns, in this order.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--rows",
            "--limit",
            min=1,
            metavar="N",
            help="Rows shown or written. [default: 20 of a table, else all]",
        ),
    ] = None,
    exact: Exact = False,
    wide: Wide = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """List the views, or show or export one of a dataset.

    A table shows the columns that matter most, as many as fit, and names the others.
    """
    if name is None:
        from harvest.plugins import manager
        from harvest_look.asked import print_declared  # late: help needs none of it

        print_declared("view", list(manager().views.values()), json=json)
        return 0
    from harvest_look.view import Choice, show_view  # late: a list needs no polars

    choice = Choice(where=where, sort=sort, columns=columns, rows=rows)
    return show_view(name, dataset, output, settings, choice, json=json, exact=exact, wide=wide)
