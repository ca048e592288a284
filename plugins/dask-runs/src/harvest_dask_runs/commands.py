"""The command ``harvest dask-runs trace``."""

from pathlib import Path
from typing import Annotated

import typer

import harvest
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.completion import argument, group, option

__all__ = ["app", "trace"]

app = group("Write a Dask run, of any recorder, as a trace.")


@app.command()
def trace(
    dataset: Annotated[Path, argument("DATASET", "What a sink wrote.")],
    output: Annotated[Path, option("-o --output FILE", "Write .json or .json.gz.")] = Path(
        "trace.json"
    ),
    run: Annotated[
        str | None, option("--run NAME", "The run: its directory, or the directory's name.")
    ] = None,
) -> None:
    """Write a run as a trace for https://ui.perfetto.dev or chrome://tracing.

    Each worker and thread has a track with its tasks and their traced I/O.
    Arrows join the two sides of a transfer.
    """
    # late: ``--help`` needs no polars
    from .trace import write_trace

    counts = write_trace(harvest.open(dataset), output, run=run)
    shown = {"task": "execution", "transfer": "transfer", "io": "I/O segment"}
    parts = [count_in_words(counts[category], word) for category, word in shown.items()]
    typer.echo(f"{', '.join(parts)} written to {output}")
