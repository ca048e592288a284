"""``harvest verify`` and ``harvest rejects``: is it whole, and what was not read?"""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands import complete
from harvest.commands.options import DatasetPath, Json, SettingsAsBefore, Wait
from harvest.commands.settings import plugin_settings, refuse_without
from harvest.errors import ConfigError
from harvest.recipes.recipe import DELETED
from harvest.toolkit.completion import words

SettingsAgain = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME.KEY=VALUE",
        help="A setting for reading again, on top of those of the first time. Repeatable.",
        autocompletion=complete.settings,
    ),
]


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
    before: SettingsAsBefore = None,
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

    settings = [*(settings or ()), *(before or ())]
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


def rejects(
    dataset: DatasetPath,
    rows: Annotated[
        int, typer.Option("-n", "--rows", min=1, metavar="N", help="Rejects shown.")
    ] = 20,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Read inputs with rejects again, after a fix."),
    ] = False,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only rejects of this source.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only rejects whose reason holds this.")
    ] = None,
    settings: SettingsAgain = None,
    before: SettingsAsBefore = None,
    wait: Wait = 0.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print all, one JSON object per line.")
    ] = False,
) -> int:
    """Show the input units that could not be read, and why; or try to read them again.

    With --replay the partitions that have rejects are read again as a whole, and committed; ends
    with 3 when rejects remain.
    """
    from harvest.cli.actions.rejects import print_rejects, print_replay  # late: help needs none
    from harvest.dataset import open as open_dataset
    from harvest.dataset.repair import replay as read_again

    settings = [*(settings or ()), *(before or ())]
    if not replay:
        refuse_without("--replay", {"--set": settings, "--wait": wait})
        return print_rejects(dataset, rows, source, reason, json=json)
    done = read_again(
        open_dataset(dataset),
        source=source,
        reason=reason,
        settings=plugin_settings(settings),
        wait_s=wait,
    )
    return print_replay(done, json=json)
