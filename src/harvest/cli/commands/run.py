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
    RunOptions,
    SchemaDrift,
    Settings,
    Sinks,
    Sources,
    Wait,
    Workers,
)

__all__ = ["run"]

Limit = Annotated[int | None, typer.Option(min=1, metavar="ROWS", help="Rows per source at most.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be read; write nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Read everything again, changed or not.")]
PrintConfig = Annotated[
    bool, typer.Option("--print-config", help="Print all this as a recipe and stop.")
]
JsonAccount = Annotated[
    bool, typer.Option("--json", help="Print the account as JSON on standard output.")
]


def run(
    recipe: RecipeFile = None,
    source: Sources = None,
    sink: Sinks = None,
    settings: Settings = None,
    engine: EngineName = None,
    workers: Workers = None,
    on_error: OnError = None,
    max_rejects: MaxRejects = None,
    limit: Limit = None,
    deleted: Deleted = None,
    keep_runs: KeepRuns = None,
    schema_drift: SchemaDrift = None,
    wait: Wait = 0.0,
    dry_run: DryRun = False,
    force: Force = False,
    print_config: PrintConfig = False,
    json: JsonAccount = False,
) -> int:
    """Read sources, write them to sinks; skip what is unchanged.

    Exit codes: 0 done; 1 failed, nothing committed; 2 wrong usage; 3 committed with rejects;
    4 more rejects than --max-rejects, nothing committed; 130 interrupted.
    """
    from harvest.cli.actions.run import print_recipe, run_once  # late: help needs none of it

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
        limit=limit,
        wait_s=wait,
    )
    if print_config:
        return print_recipe(options)
    return run_once(options, dry_run=dry_run, force=force, json=json)
