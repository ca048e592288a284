"""The commands ``harvest slurm ...``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

import harvest
from harvest.toolkit.texts import printable_line

app = typer.Typer(help="Slurm's accounting: one job in full.", no_args_is_help=True)


@app.callback()
def slurm() -> None:
    """Slurm's accounting: one job in full."""


@app.command("job")
def job_command(
    job: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="123, 123_4 for a task of an array, 123+1 for a component."
        ),
    ],
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="What a sink wrote.")],
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The cluster, where several have a job of this id."),
    ] = None,
    restart: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Which run of a requeued job, from 0; the last unless given."
        ),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Zone of times; that of the harvest unless given."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a job used of what it was given, as seff does, and more.

    The id of a whole array or heterogeneous job sums up its tasks or components.
    Below what seff prints follow waits, GPUs, the time limit, steps, and where it
    failed. What the accounting does not hold is "not known", where seff prints 0.
    """
    # only when the command runs: ``--help`` needs no polars
    from .job.find import find
    from .job.words import as_json, in_words
    from .views.zone import zone_of

    data = harvest.open(dataset)
    found = find(data, job, cluster, restart)
    zone = zone_of(data, timezone)
    if json:
        typer.echo(orjson.dumps(as_json(found), option=orjson.OPT_INDENT_2).decode())
        return
    for line in in_words(found, zone):
        typer.echo(printable_line(line))
