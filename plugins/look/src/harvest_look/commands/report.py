"""``harvest report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completion

__all__ = ["report"]


def report(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A report; all are listed without.",
            autocompletion=completion.reports,
        ),
    ] = None,
    dataset: Annotated[
        Path | None, typer.Argument(metavar="DATASET", help="What a sink wrote.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|DIR",
            help="Write .html, .csv (the main table), .tex, .json, .txt, .png or .svg; "
            "or all of it to a directory.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the report. Repeatable.",
            autocompletion=completion.own_settings,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="SECTION", help="One table or plot alone, by its name."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """List the reports, or show one over a dataset, or write it to a file or directory."""
    if name is None:
        from harvest.plugins import manager
        from harvest_look.asked import print_declared  # late: help needs none of it

        print_declared("report", list(manager().reports.values()), json=json)
        return 0
    from harvest_look.report import show_report  # late: a list needs no polars

    return show_report(name, dataset, output, settings, only, json=json)
