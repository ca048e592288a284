"""``harvest report``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A report; all are listed without.")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Argument(metavar="[DATASET]", help="What a sink wrote.")
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
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the report. Repeatable."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="SECTION", help="One table or plot alone, by its name."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """List the reports, or show one over a dataset, or write it to a file or directory."""
    from harvest.cli.settings import key_values, print_declared
    from harvest.cli.tables import print_json
    from harvest.dataset import open as open_dataset
    from harvest.errors import UsageError
    from harvest.plugins.registry import manager

    if name is None:
        print_declared("report", list(manager().reports.values()), json=json)
        return 0
    manager().report(name)
    if dataset is None:
        raise UsageError("which dataset?", remedy=f"write: harvest report {name} DATASET")
    made = open_dataset(dataset).report(name, **key_values(settings))
    if only is not None:
        made = made.only(only)
    if output is not None:
        for path in made.write(output):
            print(f"{name} written to {path}")
    if json:
        print_json(made.to_dict())
    elif output is None:
        from rich.console import Console

        from harvest.report.terminal import show

        console = Console(highlight=False)
        if console.is_terminal:
            show(made, console)
        else:
            sys.stdout.write(made.text(console.width))
    return 0
