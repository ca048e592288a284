"""``harvest rollback``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import DatasetPath, Wait


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
    from harvest.dataset import open as open_dataset  # late: help needs none of it

    made = open_dataset(dataset).rollback(run, wait_s=wait)
    if made is None:
        print(f"the state of run {run} is in force already")
        return 0
    rows = sum(open_dataset(dataset).record_types.values())
    print(f"back at the state of run {run}: {rows:,} rows; recorded as run {made}")
    return 0
