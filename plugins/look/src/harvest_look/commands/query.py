"""``harvest query``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.commands.options import DatasetPath, Exact, Wide

from . import completion

__all__ = ["query"]


def query(
    dataset: DatasetPath,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="SQL, or - to read it.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write .csv, .parquet or .jsonl."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="VIEW.KEY=VALUE",
            help="A setting of a view that the query names. Repeatable.",
            autocompletion=completion.query_settings,
        ),
    ] = None,
    exact: Exact = False,
    wide: Wide = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """Run SQL over a dataset.

    Record types and views are tables; 'show tables' lists them. Several queries, divided by
    semicolons, are run in order. Example:
    harvest query out 'select prefix, count(*) from dask.tasks group by all'
    """
    from harvest_look.query import print_query  # late: help needs none of it

    return print_query(dataset, sql, output, settings, json=json, exact=exact, wide=wide)
