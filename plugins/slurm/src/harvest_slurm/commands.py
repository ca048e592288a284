"""The commands ``harvest slurm ...``: one job in full, and one line per job."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

import harvest
from harvest.commands import print_json_line
from harvest.commands.options import key_values
from harvest.toolkit.completion import argument, group, option
from harvest.toolkit.texts import printable_line

app = group("Slurm's accounting: one job in full, or one line per job.")

_LOOKS: dict[str | None, dict[str, Any]] = {None: {"reset": False}, "bold": {"bold": True}}
"""Styles of cells that have no colour."""


@app.command("job")
def job_command(
    job: Annotated[
        str, argument("ID", "123, 123_4 for a task of an array, 123+1 for a component.")
    ],
    dataset: Annotated[Path, argument("DATASET", "What a sink wrote.")],
    cluster: Annotated[
        str | None, option("--cluster NAME", "The cluster, where several have a job with this id.")
    ] = None,
    restart: Annotated[
        int | None,
        option("--restart N", "Run of a requeued job, from 0; the last unless given.", min=0),
    ] = None,
    timezone: Annotated[
        str | None, option("--timezone ZONE", "Time zone; that of the harvest unless given.")
    ] = None,
    json: Annotated[bool, option("--json", "Print JSON.")] = False,
) -> None:
    """Show the resources that a job used, like seff, and more.

    The id of an array or heterogeneous job sums up its tasks or components. Below
    the lines of seff follow waits, GPUs, the time limit, steps, and where it
    failed. Values that were not recorded are "unknown", where seff prints 0.
    """
    # imported by the command, so that ``--help`` starts without polars
    from harvest_accounting.calendar import zone_of
    from harvest_accounting.job_runs import Jobs, of_scheduler

    from .accounting import JOB_RUNS
    from .job.find import find
    from .job.words import as_json, in_words

    data = harvest.open(dataset)
    found = find(data, job, cluster, restart)
    zone = zone_of(Jobs.of(data, of_scheduler(JOB_RUNS)), timezone)
    if json:
        typer.echo(orjson.dumps(as_json(found), option=orjson.OPT_INDENT_2).decode())
        return
    for line in in_words(found, zone):
        typer.echo(printable_line(line))


@app.command("jobs")
def jobs_command(
    dataset: Annotated[Path, argument("DATASET", "What a sink wrote.")],
    ids: Annotated[
        list[str] | None, argument("ID", "Only these jobs; an array's id means all its tasks.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "--set KEY=VALUE",
            "Which jobs: year=2024, last=week, user=ann; settings of slurm.efficiency. Repeatable.",
        ),
    ] = None,
    state: Annotated[
        list[str] | None,
        option("--state STATE", "Only jobs in this state, or in several, with commas."),
    ] = None,
    color: Annotated[
        bool | None, option("--color/--no-color", "Colours; on a terminal unless given.")
    ] = None,
    json: Annotated[bool, option("--json", "Print a line of JSON per job.")] = False,
) -> None:
    """Show one line per job: state, elapsed time, and the shares that it used.

    Red: the job failed, less than 20 % used, or more than 90 % of memory. Green:
    more than 80 % of time limit, CPUs or GPUs, or 60 to 90 % of memory.
    """
    # imported by the command, so that ``--help`` starts without polars
    from .job.listing import chosen, lines

    jobs = chosen(harvest.open(dataset), ids or (), state or (), key_values(settings))
    if json:
        for row in jobs.iter_rows(named=True):
            print_json_line(row)
        return
    plain = color is None and (not sys.stdout.isatty() or bool(os.environ.get("NO_COLOR")))
    for cells in lines(jobs):
        styled = (typer.style(text, **_LOOKS.get(look, {"fg": look})) for text, look in cells)
        typer.echo("  ".join(styled).rstrip(), color=not plain if color is None else color)
