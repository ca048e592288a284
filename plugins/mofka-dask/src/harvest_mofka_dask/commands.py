"""The commands ``harvest mofka-dask ...``: ``capture`` and ``trace``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import harvest

from .api.capture import app

__all__ = ["app"]

NAMES = {
    "task": ("execution", "executions"),
    "transfer": ("transfer", "transfers"),
    "io": ("I/O segment", "I/O segments"),
}


@app.command()
def trace(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="What a sink wrote.")],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Output: .json or .json.gz."),
    ] = Path("trace.json"),
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="NAME", help="The run: its directory, or the directory's name."
        ),
    ] = None,
) -> None:
    """Write a run as a trace for https://ui.perfetto.dev or chrome://tracing.

    A track per worker and thread holds the executions of tasks, and within
    them the I/O that Darshan traced. Transfers are joined by arrows.
    """
    # only when the command runs: ``--help`` needs no polars
    from .trace import write_trace

    counts = write_trace(harvest.open(dataset), output, run=run)
    parts = [f"{counts[cat]:,} {names[counts[cat] != 1]}" for cat, names in NAMES.items()]
    typer.echo(f"{', '.join(parts)} written to {output}")
