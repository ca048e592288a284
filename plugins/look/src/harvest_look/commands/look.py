"""``harvest look``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.commands import Json

__all__ = ["look"]


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
    from harvest_look.tree import look_at  # late: help needs none of it

    return look_at(path, run, json=json)
