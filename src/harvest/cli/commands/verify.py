"""``harvest verify``: is it whole?"""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import (
    DatasetPath,
    Json,
    SettingsAgain,
    Wait,
    plugin_settings,
    refuse_without,
)
from harvest.errors import ConfigError
from harvest.recipes.recipe import DELETED
from harvest.toolkit.completion import words


def verify(
    dataset: DatasetPath,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Restore a damaged manifest; read damaged parts again."),
    ] = False,
    deleted: Annotated[
        str,
        typer.Option(
            metavar="keep|drop",
            help="With --repair, damaged rows whose input is gone: keep (as they are) or drop.",
            autocompletion=words(*DELETED),
        ),
    ] = "keep",
    give_up: Annotated[
        bool,
        typer.Option(
            "--give-up",
            help="With --repair, do without kept states and records of runs that are lost.",
        ),
    ] = False,
    settings: SettingsAgain = None,
    wait: Wait = 0.0,
    json: Json = False,
) -> int:
    """Check a dataset: checksums, rows, schemas, records, kept states, what does not belong.

    --repair restores the manifest and copies, and reads damaged parts again from their inputs. A
    kept state, or the record of a run, has no copy: what is lost of these stays a problem until
    --give-up lets it go. A run that is at work is named; what its commit has yet to finish is no
    problem. Ends with 1 when there is a problem, or one is left after --repair.
    """
    from harvest.cli.actions.verify import print_problems, print_repair  # late: help needs none
    from harvest.dataset.repair import repair as mend

    if not repair:
        drops = deleted != "keep"
        given = {"--set": settings, "--wait": wait, "--deleted": drops, "--give-up": give_up}
        refuse_without("--repair", given)
        return print_problems(dataset, json=json)
    if deleted not in DELETED:
        raise ConfigError(f"deleted {deleted!r} is unknown", remedy="use keep or drop")
    done = mend(
        dataset,
        settings=plugin_settings(settings),
        deleted=deleted,
        give_up=give_up,
        wait_s=wait,
    )
    return print_repair(dataset, done, dropped=deleted == "drop", json=json)
