"""``harvest run``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import RunOptions, takes_run_options
from harvest.errors import UsageError

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be read; write nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Read everything again, changed or not.")]
PrintConfig = Annotated[
    bool, typer.Option("--print-config", help="Print all this as a recipe and stop.")
]
Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="Print nothing but errors, and how many rejects.")
]
JsonAccount = Annotated[
    bool, typer.Option("--json", help="Print the account as JSON on standard output.")
]


@takes_run_options()
def run(
    options: RunOptions,
    dry_run: DryRun = False,
    force: Force = False,
    print_config: PrintConfig = False,
    json: JsonAccount = False,
    quiet: Quiet = False,
) -> int:
    """Read sources, write them to sinks; skip what is unchanged.

    Exit codes: 0 done; 1 failed, nothing committed; 2 wrong usage; 3 committed with rejects;
    4 more rejects than --max-rejects, nothing committed; 5 committed, an export failed;
    130 interrupted.
    """
    from harvest.commands.outcome import print_recipe, run_recipe  # late: help needs none of it

    asked = {"--dry-run": dry_run, "--print-config": print_config, "--json": json}
    for option in asked if quiet else ():
        if asked[option]:
            raise UsageError(f"{option} prints and --quiet does not", remedy="give one of them")
    if print_config:
        return print_recipe(options)
    recipe = options.recipe()
    result = run_recipe(
        recipe, dry_run=dry_run, force=force, wait_s=options.wait_s, json=json, quiet=quiet
    )
    return 0 if dry_run else int(result.exit_code)
