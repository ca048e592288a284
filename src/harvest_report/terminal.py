"""A report, and findings, on a terminal, within its width."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harvest.findings import Verdict
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line

from .grid import grids
from .model import Notes, Plot, Table

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


def show_verdict(verdict: Verdict, console: Console, dataset: str, *, fold: bool = False) -> None:
    """Print findings, the worst first, each with what to try and where its evidence is.

    fold: break commands too, which are then no longer ready to be copied.
    """
    summary = _filled(verdict.summary(), "", console)
    summary.stylize("bold")
    console.print(summary)
    for found in verdict.found:
        console.print()
        severity = found.finding.severity.upper()
        said = _filled(f"{severity}  {printable_line(found.finding.text)}", "", console)
        said.stylize("bold", 0, len(severity))
        console.print(said)
        _term("sure", found.certainty_in_words(), console)
        _term("try", found.rule.advice, console)
        command = printable_line(found.evidence.command(dataset))
        if fold:
            _term("see", command, console)
        else:
            console.print(Text("  see  ", style="dim") + Text(command), soft_wrap=True)
        _term("rule", f"{found.rule.name}; rests on: {found.rule.reference}", console)
    for number, gap in enumerate(verdict.gaps()):
        if not number:
            console.print()
        said = _filled(printable_line(gap), "", console)
        said.stylize("italic")
        console.print(said)


def _term(name: str, text: str, console: Console) -> None:
    shown = _filled(f"  {name:<5}{printable_line(text)}", " " * 7, console)
    shown.stylize("dim", 0, 7)
    console.print(shown)


def _filled(line: str, indent: str, console: Console) -> Text:
    """A line broken to the console's width, its further lines indented."""
    return Text(
        textwrap.fill(line, console.width, subsequent_indent=indent, break_on_hyphens=False)
    )
