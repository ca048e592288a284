"""What ``harvest report`` does: shows a report of a dataset, or writes it to files."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from harvest.commands.asking import answer
from harvest.commands.progress import working
from harvest.commands.settings import key_values
from harvest.commands.tables import print_json
from harvest.plugins import manager
from harvest_report import Report
from harvest_report.terminal import show

from .asked import named

__all__ = ["show_report"]


def show_report(
    name: str,
    dataset: Path | None,
    output: str | None,
    settings: list[str] | None,
    only: str | None,
    *,
    json: bool,
) -> int:
    """Print a report over a dataset, or write it to a file or directory."""
    _, dataset = named("report", name, dataset, manager())
    with working(f"building {name}"):
        given = key_values(settings)
        made = answer(dataset, lambda opened: opened.report(name, **given))
        if only is not None:
            made = made.only(only)
        written = [] if output is None else made.write(output)
    for path in written:
        print(f"{name} written to {path}")
    if json:
        print_json(made.to_dict())
    elif output is None:
        console = Console(highlight=False)
        if console.is_terminal and isinstance(made, Report):
            show(made, console)
        else:
            sys.stdout.write(made.text(console.width))
    return 0
