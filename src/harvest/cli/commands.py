"""harvest's own commands as users see them: arguments, options, help.

This module is imported for calls and for help. The work of a command is in a module next to it or
in :mod:`harvest.commands`, so that help and completion start without its libraries.
"""

from typing import Annotated

import typer

from harvest.api.spec import KINDS
from harvest.commands.options import (
    DatasetPath,
    Json,
    RunOptions,
    SettingsAgain,
    Wait,
    plugin_settings,
    refuse_without,
    takes_run_options,
)
from harvest.errors import ConfigError, UsageError
from harvest.recipes.recipe import DELETED
from harvest.toolkit.completion import option, words

DryRun = Annotated[
    bool, option("--dry-run", "Show what would be read, without reading or writing.")
]
Force = Annotated[bool, option("--force", "Read all inputs again, also unchanged ones.")]
PrintConfig = Annotated[bool, option("--print-config", "Print these options as a recipe and stop.")]
Quiet = Annotated[bool, option("-q --quiet", "Print only errors and the number of rejects.")]
JsonAccount = Annotated[bool, option("--json", "Print the result as JSON.")]


@takes_run_options()
def run(
    options: RunOptions,
    dry_run: DryRun = False,
    force: Force = False,
    print_config: PrintConfig = False,
    json: JsonAccount = False,
    quiet: Quiet = False,
) -> int:
    """Read sources and write them to sinks; skip unchanged inputs.

    Exit codes: 0 done; 1 failed, nothing committed; 2 wrong usage; 3 committed with rejects;
    4 more rejects than --max-rejects, nothing committed; 5 committed, an export failed;
    130 interrupted.
    """
    from harvest.commands.outcome import print_recipe, run_recipe  # late: help needs none of it

    asked = {"--dry-run": dry_run, "--print-config": print_config, "--json": json}
    for flag in asked if quiet else ():
        if asked[flag]:
            raise UsageError(f"{flag} and --quiet exclude each other", remedy="give one of them")
    if print_config:
        return print_recipe(options)
    recipe = options.recipe()
    result = run_recipe(
        recipe, dry_run=dry_run, force=force, wait_s=options.wait_s, json=json, quiet=quiet
    )
    return 0 if dry_run else int(result.exit_code)


Kind = Annotated[
    str | None,
    option(
        "--kind KIND",
        f"List only this kind, with descriptions: {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
        words(*KINDS),
    ),
]

app = typer.Typer(
    help="List plugins; show, check or create one.",
    invoke_without_command=True,
    no_args_is_help=False,
)


@app.callback()
def plugins(ctx: typer.Context, kind: Kind = None, json: Json = False) -> int | None:
    """List plugins; show, check or create one."""
    if ctx.invoked_subcommand is None:
        return list_plugins(kind, json=json)
    return None


@app.command("list")
def list_plugins(kind: Kind = None, json: Json = False) -> int:
    """List the installed plugins, what each offers, and how to fix those that do not load."""
    from harvest.cli.plugins import print_declared, print_plugins  # late: help needs none

    return print_plugins(json=json) if kind is None else print_declared(kind, json=json)


def verify(
    dataset: DatasetPath,
    repair: Annotated[
        bool, option("--repair", "Restore the manifest; read damaged parts again.")
    ] = False,
    deleted: Annotated[
        str,
        option(
            "--deleted keep|drop",
            "With --repair: keep or drop damaged rows whose input is gone.",
            words(*DELETED),
        ),
    ] = "keep",
    give_up: Annotated[
        bool,
        option("--give-up", "With --repair: forget kept states and records of runs that are lost."),
    ] = False,
    settings: SettingsAgain = None,
    wait: Wait = 0.0,
    json: Json = False,
) -> int:
    """Check a dataset for damage and for files that do not belong to it.

    It checks checksums, row counts, schemas, records of runs and kept states. --repair restores the
    manifest and reads damaged parts again from their inputs. Kept states and records of runs have
    no copy: a lost one stays a problem until --give-up. The unfinished work of a run in progress
    is not a problem. Exit code 1: there are problems, or some remain after --repair.
    """
    from harvest.cli.verify import print_problems, print_repair  # late: help needs none
    from harvest.dataset.repair import repair as mend

    if not repair:
        drops = deleted != "keep"
        given = {"--set": settings, "--wait": wait, "--deleted": drops, "--give-up": give_up}
        refuse_without("--repair", given)
        return print_problems(dataset, json=json)
    if deleted not in DELETED:
        raise ConfigError(f"deleted {deleted!r} is unknown", remedy="use keep or drop")
    done = mend(
        dataset, settings=plugin_settings(settings), deleted=deleted, give_up=give_up, wait_s=wait
    )
    return print_repair(dataset, done, dropped=deleted == "drop", json=json)
