"""``harvest look`` and ``harvest show``: what is in a directory, and what is in a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.commands.options import DatasetPath, Json

__all__ = ["look", "show"]


def look(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A directory, or a file.")],
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="OUT", help="Harvest all of it into Parquet at OUT."),
    ] = None,
    json: Json = False,
) -> int:
    """Say what a directory is made of, and which command harvests it.

    Every file below it is looked at. With --run, the command is executed.
    """
    from harvest.cli.actions.look import look_at  # late: help needs none of it

    return look_at(path, run, json=json)


def show(dataset: DatasetPath, json: Json = False) -> int:
    """Say what a dataset holds, and which views and reports it can serve."""
    from harvest.cli.actions.show import show_dataset  # late: help needs none of it

    return show_dataset(dataset, json=json)
