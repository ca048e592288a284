"""``harvest show``, ``runs`` and ``rollback``: what a dataset holds, of which runs, going back."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import DatasetPath, Json, Wait

__all__ = ["rollback", "runs", "show"]


def show(dataset: DatasetPath, json: Json = False) -> int:
    """Say what a dataset holds, and which views and reports it can serve."""
    from harvest.cli.actions.show import show_dataset  # late: help needs none of it

    return show_dataset(dataset, json=json)


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
