"""``harvest schedule``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.cli.options import (
    Deleted,
    EngineName,
    KeepRuns,
    MaxRejects,
    OnError,
    RecipeFile,
    RunOptions,
    SchemaDrift,
    Settings,
    Sinks,
    Sources,
    Wait,
    Workers,
)

__all__ = ["schedule"]

Every = Annotated[
    str,
    typer.Option(
        metavar="TIMES", help='15m, 6h, 1d, 1w or a cron expression such as "15 3 * * 1-5".'
    ),
]
Form = Annotated[
    str,
    typer.Option(metavar="FORM", help="cron, systemd (service and timer) or slurm (scrontab)."),
]
Name = Annotated[str, typer.Option(metavar="NAME", help="What the units or the job are called.")]


def schedule(
    recipe: RecipeFile = None,
    source: Sources = None,
    sink: Sinks = None,
    settings: Settings = None,
    every: Every = "1d",
    form: Form = "cron",
    name: Name = "harvest",
    engine: EngineName = None,
    workers: Workers = None,
    on_error: OnError = None,
    max_rejects: MaxRejects = None,
    deleted: Deleted = None,
    keep_runs: KeepRuns = None,
    schema_drift: SchemaDrift = None,
    wait: Wait = 0.0,
) -> int:
    """Print what makes cron, systemd or Slurm run this harvest, here, at set times.

    Nothing is installed. The paths are those of this installation and of this directory.
    """
    from harvest.cli.actions.schedule import print_entry  # late: help needs none of it

    options = RunOptions(
        file=recipe,
        sources=source,
        sinks=sink,
        settings=settings,
        engine=engine,
        workers=workers,
        on_error=on_error,
        max_rejects=max_rejects,
        deleted=deleted,
        keep_runs=keep_runs,
        schema_drift=schema_drift,
        wait_s=wait,
    )
    return print_entry(options, every=every, form=form, name=name)
