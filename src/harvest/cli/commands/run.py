"""``harvest run``."""

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
    SchemaDrift,
    Settings,
    Sinks,
    Sources,
    Wait,
    Workers,
    recipe_from,
)

__all__ = ["run"]


def run(
    recipe: RecipeFile = None,
    source: Sources = None,
    sink: Sinks = None,
    settings: Settings = None,
    engine: EngineName = None,
    workers: Workers = None,
    on_error: OnError = None,
    max_rejects: MaxRejects = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="ROWS", help="Rows per source at most.")
    ] = None,
    deleted: Deleted = None,
    keep_runs: KeepRuns = None,
    schema_drift: SchemaDrift = None,
    wait: Wait = 0.0,
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
    from harvest.cli.outcome import print_plan, print_result, say
    from harvest.cli.progress import display
    from harvest.pipeline.runner import execute
    from harvest.plugins.registry import manager

    plugins = manager()
    whole = recipe_from(
        recipe,
        plugins,
        sources=source,
        sinks=sink,
        settings=settings,
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
        from harvest.pipeline.choose import name_sources
        from harvest.pipeline.record import without_secrets

        whole, choices = name_sources(whole, plugins, absent=True)
        say(choices)
        shown = without_secrets(whole, plugins)
        if shown != whole:
            print("# passwords and other secrets are hidden; give them anew to run this recipe")
        print(shown.to_toml(), end="")
        return 0

    with display() as observer:
        result = execute(
            whole, plugins, force=force, dry_run=dry_run, wait_s=wait, observer=observer
        )
    say(result.choices)
    if dry_run:
        print_plan(result.plan, json=json, scripts=result.scripts)
        return 0
    print_result(result, whole, json=json)
    return int(result.exit_code)
