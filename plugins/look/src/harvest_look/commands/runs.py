"""``harvest runs``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import DatasetPath, Json, Wait

__all__ = ["runs"]


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
    from harvest_look.runs import show_runs  # late: help needs none of it

    return show_runs(dataset, run, keep_runs, wait, json=json)
