"""The commands ``harvest dask-runs ...``: ``trace`` and ``timeline``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import harvest
from harvest.toolkit.amounts import count_in_words

from .record_names import CATEGORIES

__all__ = ["app", "timeline", "trace"]

app = typer.Typer(
    help="Write a Dask run, of any recorder, as a trace or page.", no_args_is_help=True
)

DatasetArgument = Annotated[Path, typer.Argument(metavar="DATASET", help="What a sink wrote.")]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="NAME", help="The run: its directory, or the directory's name."),
]


@app.command()
def trace(
    dataset: DatasetArgument,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Write .json or .json.gz."),
    ] = Path("trace.json"),
    run: RunOption = None,
) -> None:
    """Write a run as a trace for https://ui.perfetto.dev or chrome://tracing.

    Each worker and thread has a track with its tasks and their traced I/O.
    Arrows join the two sides of a transfer.
    """
    # only when the command runs: ``--help`` needs no polars
    from .trace import write_trace

    _report(write_trace(harvest.open(dataset), output, run=run), output)


@app.command()
def timeline(
    dataset: DatasetArgument,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Write a page, .html."),
    ] = Path("timeline.html"),
    run: RunOption = None,
) -> None:
    """Write a run as a page that zooms from the whole run to single events.

    It shows the same events as ``trace``, in one file that opens without a
    network. Point at an event to see its details.
    """
    from .timeline import write_timeline

    _report(write_timeline(harvest.open(dataset), output, run=run), output)


def _report(counts: Mapping[str, int], output: Path) -> None:
    shown = ("task", "transfer", "io")
    parts = [count_in_words(counts[category], *CATEGORIES[category]) for category in shown]
    typer.echo(f"{', '.join(parts)} written to {output}")
