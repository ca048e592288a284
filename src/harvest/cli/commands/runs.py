"""``harvest runs`` and ``rollback``: the runs that wrote a dataset, and going back to one."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import DatasetPath, Json, Wait

__all__ = ["rollback", "runs"]


def runs(
    dataset: DatasetPath,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Show all that is known of this run.")
    ] = None,
    keep_runs: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Keep N states before the present one from now on; remove older ones at once.",
        ),
    ] = None,
    wait: Wait = 0.0,
    json: Json = False,
) -> int:
    """List the runs that wrote a dataset, and which of their states are kept."""
    from harvest.cli.actions.runs import show_runs  # late: help needs none of it

    return show_runs(dataset, run, keep_runs, wait, json=json)


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
    from harvest.cli.actions.runs import restore  # late: help needs none of it

    return restore(dataset, run, wait)
