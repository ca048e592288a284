"""``harvest query``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["query"]


def query(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="What a sink wrote.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SQL query, or - to read it.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write .csv, .parquet or .jsonl."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """Run SQL over a dataset.

    Record types and views are tables. Example:
    harvest query out 'select prefix, count(*) from dask.tasks group by all'
    """
    import sys

    from harvest.cli.records import how_many, print_records
    from harvest.dataset import open as open_dataset
    from harvest.errors import UsageError

    if output is not None and json:
        raise UsageError("--json prints and --output writes", remedy="give one of them")
    text = sys.stdin.read() if sql == "-" else sql
    frame = open_dataset(dataset).sql(text)
    if output is not None:
        from harvest.dataset.export import export

        export(frame.lazy(), output)
        print(f"{how_many(frame.height, 'row')} written to {output}")
    else:
        print_records("result", frame, json=json)
    return 0
