"""``harvest schedule``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from harvest.cli.options import (
    Deleted,
    EngineName,
    KeepRuns,
    MaxRejects,
    OnError,
    RecipeFile,
    SchemaDrift,
    Settings,
    Sinks,
    Sources,
    Wait,
    Workers,
    recipe_from,
)

__all__ = ["schedule"]


def schedule(
    recipe: RecipeFile = None,
    source: Sources = None,
    sink: Sinks = None,
    settings: Settings = None,
    every: Annotated[
        str,
        typer.Option(
            metavar="TIMES",
            help='15m, 6h, 1d, 1w or a cron expression such as "15 3 * * 1-5".',
        ),
    ] = "1d",
    form: Annotated[
        str,
        typer.Option(metavar="FORM", help="cron, systemd (service and timer) or slurm (scrontab)."),
    ] = "cron",
    name: Annotated[
        str, typer.Option(metavar="NAME", help="What the units or the job are called.")
    ] = "harvest",
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
    from harvest.cli.outcome import say
    from harvest.errors import UsageError
    from harvest.pipeline.choose import name_sources
    from harvest.pipeline.prepare import prepare_sinks, prepare_sources
    from harvest.pipeline.record import without_secrets
    from harvest.plugins.registry import manager
    from harvest.schedule import FORMS, Entry
    from harvest.schedule.times import Times

    if form not in FORMS:
        raise UsageError(f"there is no form {form!r}", remedy=f"use {', '.join(FORMS)}")
    plugins = manager()
    options = {
        "engine": engine,
        "workers": workers,
        "on_error": on_error,
        "max_rejects": max_rejects,
        "deleted": deleted,
        "keep_runs": keep_runs,
        "schema_drift": schema_drift,
    }
    whole = recipe_from(recipe, plugins, sources=source, sinks=sink, settings=settings, **options)
    # what is wrong is better told now than by a mail at night
    named, choices = name_sources(whole, plugins)
    say(choices)
    prepare_sources(named, plugins)
    prepare_sinks(whole, plugins)
    plugins.engine(whole.engine)
    own = recipe_from(None, plugins, sources=source, sinks=sink, settings=settings)
    if without_secrets(own, plugins) != own:
        raise UsageError(
            "the options hold a password or another secret, which others could read there",
            remedy="keep it in a file that only you can read: a recipe or a password file",
        )

    def words() -> Iterator[str]:
        yield "run"
        if recipe is not None:
            yield os.path.abspath(recipe)  # noqa: PTH100 - no link is followed
        for option, values in (("--source", source), ("--sink", sink), ("--set", settings)):
            for value in values or ():
                yield f"{option}={value}"
        for key, given in options.items():
            if given is not None:
                yield f"--{key.replace('_', '-')}={given}"
        if wait:
            yield f"--wait={wait:g}"

    entry = Entry(
        name=name,
        times=Times.parse(every),
        program=_program(),
        arguments=tuple(words()),
        directory=str(Path.cwd()),
    )
    print(FORMS[form](entry), end="")
    return 0


def _program() -> tuple[str, ...]:
    """The words that start this installation's harvest."""
    python = os.path.abspath(sys.executable)  # noqa: PTH100 - an environment is a link
    command = Path(python).with_name("harvest")
    return (str(command),) if command.is_file() else (python, "-m", "harvest")
