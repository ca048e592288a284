"""The commands that put right what a run gave: reading rejects again, and going back."""

from __future__ import annotations

from typing import Annotated

import typer

import harvest
from harvest.commands.options import (
    DatasetPath,
    SettingsAgain,
    SettingsAsBefore,
    Wait,
    plugin_settings,
    refuse_without,
)


def rollback(
    dataset: DatasetPath,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The run whose result is to be restored.")
    ],
    wait: Wait = 0.0,
) -> int:
    """Bring a dataset back to the state that an earlier run left.

    This is recorded as a run, and can itself be rolled back. The next `harvest run` reads again
    what has changed since that state.
    """
    made = harvest.open(dataset).rollback(run, wait_s=wait)
    if made is None:
        print(f"the state of run {run} is in force already")
        return 0
    rows = sum(harvest.open(dataset).record_types.values())
    print(f"back at the state of run {run}: {rows:,} rows; recorded as run {made}")
    return 0


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
    from harvest_look.rejects import print_rejects, print_replay  # late: help needs none of it

    settings = [*(settings or ()), *(before or ())]
    if not replay:
        refuse_without("--replay", {"--set": settings, "--wait": wait})
        return print_rejects(dataset, rows, source, reason, json=json)
    done = harvest.open(dataset).replay(
        source=source,
        reason=reason,
        settings=plugin_settings(settings),
        wait_s=wait,
    )
    return print_replay(done, json=json)
