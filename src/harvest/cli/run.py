"""``harvest run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import complete

__all__ = ["run"]


def run(
    recipe: Annotated[
        Path | None,
        typer.Argument(metavar="RECIPE.toml", help="Recipe; options go on top of it."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "-s",
            "--source",
            metavar="NAME:LOCATION",
            help="What to read. Repeatable.",
            autocompletion=complete.sources,
        ),
    ] = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(
            "-k",
            "--sink",
            metavar="NAME:LOCATION",
            help="Where to. Repeatable.",
            autocompletion=complete.sinks,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "-o", "--set", metavar="NAME.KEY=VALUE", help="A plugin's setting. Repeatable."
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Where partitions run: local, ...", metavar="NAME")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. [default: as many as pay]")
    ] = None,
    on_error: Annotated[
        str | None,
        typer.Option(help="An unreadable input unit: reject (keep and go on) or fail."),
    ] = None,
    max_rejects: Annotated[
        int | None, typer.Option(min=0, help="Commit nothing when there are more rejects.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="ROWS", help="Rows per source at most.")
    ] = None,
    deleted: Annotated[
        str | None,
        typer.Option(
            help="Rows whose input is no longer there: keep (the default) or drop.",
            metavar="POLICY",
        ),
    ] = None,
    keep_runs: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Earlier states that the dataset keeps from now on, for `harvest rollback`. "
            "[default: as before, at first 1]",
        ),
    ] = None,
    schema_drift: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Columns that are not those of the dataset: evolve (the default: add and widen), "
            "freeze (what is new goes to 'extra') or reject (refuse the run).",
        ),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Wait for another run on the dataset to end."),
    ] = 0.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be read; write nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Read everything again, changed or not.")
    ] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print all this as a recipe and stop.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the account as JSON on standard output.")
    ] = False,
) -> int:
    """Read sources, write them to sinks; skip what is unchanged.

    Exit codes: 0 done; 1 failed, nothing committed; 2 wrong usage; 3 committed with rejects;
    4 more rejects than --max-rejects, nothing committed; 130 interrupted.
    """
    from harvest.plugins.manager import manager, split_location
    from harvest.run.recipe import Endpoint, Recipe, load_recipe

    from .settings import plugin_settings

    plugins = manager()
    base = load_recipe(recipe) if recipe is not None else Recipe()
    whole = base.merged(
        sources=tuple(Endpoint(*split_location(s, plugins.sources)) for s in source or ()),
        sinks=tuple(Endpoint(*split_location(k, plugins.sinks)) for k in sink or ()),
        settings=plugin_settings(settings),
        engine=engine,
        workers=workers,
        on_error=on_error,
        max_rejects=max_rejects,
        limit=limit,
        deleted=deleted,
        keep_runs=keep_runs,
        schema_drift=schema_drift,
    )
    if print_config:
        from harvest.run.record import without_secrets

        shown = without_secrets(whole, plugins)
        if shown != whole:
            print("# passwords and other secrets are hidden; give them anew to run this recipe")
        print(shown.to_toml(), end="")
        return 0

    from harvest.run.runner import execute

    from .outcome import print_plan, print_result
    from .progress import display

    with display() as observer:
        result = execute(
            whole, plugins, force=force, dry_run=dry_run, wait_s=wait, observer=observer
        )
    if dry_run:
        print_plan(result.plan, json=json, scripts=result.scripts)
        return 0
    print_result(result, whole, json=json)
    return int(result.exit_code)
