"""``harvest detect`` and ``harvest preview``: looking before harvesting."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.commands import Exact, Json, Settings, SettingsAsBefore, Wide, complete

__all__ = ["detect", "preview"]


def detect(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Files, directories or pipes; - is standard input."),
    ],
    json: Json = False,
) -> int:
    """Say which sources can read a path, and how sure they are.

    Ends with 1 when a path is recognised by none.
    """
    from harvest_look.preview import print_sources  # late: help needs none of it

    return print_sources(paths, json=json)


def preview(
    source: Annotated[
        str,
        typer.Option(
            "-s",
            "--source",
            metavar="NAME:LOCATION",
            help="What to read; NAME:- is standard input. NAME may be a FILE.py.",
            autocompletion=complete.sources,
        ),
    ],
    rows: Annotated[
        int,
        typer.Option("-n", "--rows", "--limit", min=1, metavar="N", help="Rows per record type."),
    ] = 5,
    settings: Settings = None,
    before: SettingsAsBefore = None,
    exact: Exact = False,
    wide: Wide = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """Show the first rows of a source; nothing is written."""
    from harvest_look.preview import print_first_rows  # late: help needs none of it

    given = [*(settings or ()), *(before or ())]
    return print_first_rows(source, rows, given, json=json, exact=exact, wide=wide)
