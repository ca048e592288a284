"""A report on a terminal, within its width."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line

from .grid import grids
from .model import Notes, Plot, Table
from .verdict import show_verdict

if TYPE_CHECKING:
    from .report import Report


def to_text(report: Report, width: int = 80) -> str:
    """The report as plain text, lines no longer than ``width``."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, color_system=None, legacy_windows=False)
    show(report, console, fold=True)
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def show(report: Report, console: Console, *, fold: bool = False) -> None:
    """Print the report: tables in full, plots as a line that says how to get them.

    fold: break everything to the width, commands included.
    """
    console.print(Text(printable_line(report.title), style="bold underline"))
    for paragraph in report.intro:
        console.print()
        console.print(Text(printable_line(paragraph)))
    if report.verdict is not None:
        console.print()
        show_verdict(report.verdict, console, report.location, fold=fold)
    for section in report.sections:
        if isinstance(section, Table):
            _table(section, console)
        elif isinstance(section, Notes):
            _notes(section, console)
    _plots(report.plots, console)


def _table(table: Table, console: Console) -> None:
    console.print()
    console.print(Text(printable_line(table.title), style="bold"))
    if not table.rows.height:
        console.print(Text("no rows", style="italic"))
        return
    for number, grid in enumerate(grids(table, console.width)):
        if number:
            console.print()
        console.print(grid)
    if table.note:
        console.print(Text(printable_line(table.note), style="italic"))


def _notes(notes: Notes, console: Console) -> None:
    console.print()
    console.print(Text(printable_line(notes.title), style="bold"))
    grid = RichTable.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column()
    for item in notes.items:
        grid.add_row("•", Text(printable_line(item)))
    console.print(grid)


def _plots(plots: list[Plot], console: Console) -> None:
    if not plots:
        return
    console.print()
    names = ", ".join(plot.name for plot in plots)
    count = count_in_words(len(plots), "plot")
    console.print(Text(f"{count}: {names}. To see them, write a page: -o report.html"))
