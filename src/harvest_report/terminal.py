"""Print reports and findings on a terminal, within its width."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harvest.findings import Found, Verdict
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line

from .grid import grids
from .model import Notes, Plot, Table

if TYPE_CHECKING:
    from .report import Report


def to_text(report: Report, width: int = 80) -> str:
    """Return the report as plain text with lines of at most ``width`` characters."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, color_system=None, legacy_windows=False)
    show(report, console)
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def show(report: Report, console: Console) -> None:
    """Print the key numbers, findings and tables of a report, and how to get its plots."""
    console.print(Text(printable_line(report.title), style="bold underline"))
    if report.tiles:
        console.print()
        for tile in report.tiles:
            _filled(printable_line(str(tile)), console)
    if report.verdict is not None:
        console.print()
        show_verdict(report.verdict, console, report.verdict.command(report.location))
    for paragraph in report.intro:
        console.print()
        console.print(Text(printable_line(paragraph)))
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
    grid = RichTable.grid("", "", padding=(0, 1))
    for item in notes.items:
        grid.add_row("•", Text(printable_line(item)))
    console.print(grid)


def _plots(plots: list[Plot], console: Console) -> None:
    if not plots:
        return
    console.print()
    names = ", ".join(plot.name for plot in plots)
    count = count_in_words(len(plots), "plot")
    console.print(Text(f"{count}: {names}. To see plots, write a page: -o report.html"))


def show_verdict(verdict: Verdict, console: Console, asked: str) -> None:
    """Print the headline, detail and advice of all findings, the worst first.

    asked: the command that prints them; the hints add ``--show`` to it.
    """
    _filled(verdict.summary(), console, "bold")
    for number, found in enumerate(verdict.found, start=1):
        console.print()
        _headline(number, found, console)
        caveats = found.caveats()
        detail = f"{found.finding.detail} ({caveats})" if caveats else found.finding.detail
        if detail:
            _filled(printable_line(detail.strip()), console, indent="   ")
        advice = f"next: {found.advice} [{found.rule.name}]"
        _filled(printable_line(advice), console, indent="   ")
    if verdict.found:
        console.print()
        _filled(f"Evidence of a finding: {asked} --show N, or RULE", console)
    if gaps := len(verdict.unjudged) + len(verdict.partly):
        console.print()
        checks = count_in_words(gaps, "check")
        _filled(f"{checks} without all data: {asked} --show gaps", console)


def show_finding(number: int, found: Found, console: Console, dataset: str) -> None:
    """Print one finding in full, with the first rows of its evidence and the command for all."""
    _headline(number, found, console)
    for name, text in (
        ("", found.finding.detail),
        ("next: ", found.advice),
        ("certainty: ", found.certainty_in_words()),
        ("rule: ", f"{found.rule.name}. {found.rule.doc}"),
        ("source: ", found.rule.reference),
    ):
        if text:
            _filled(f"{name}{printable_line(text)}", console, indent="   ")
    first, rows = found.evidence.first, found.evidence.rows
    more = f", the first {first.height}" if first.height < rows else ""
    title = f"Evidence: {count_in_words(rows, 'row')} of {found.evidence.view}{more}"
    _table(Table("evidence", first, title=title), console)
    console.print()
    # one line, so that it can be copied
    console.print(Text(printable_line(found.evidence.command(dataset))), soft_wrap=True)


def show_gaps(verdict: Verdict, console: Console) -> None:
    """Print why checks lack all or some of their data."""
    _filled(verdict.summary(), console, "bold")
    for gap in verdict.gaps():
        console.print()
        _filled(printable_line(gap), console)


def _headline(number: int, found: Found, console: Console) -> None:
    severity = found.finding.severity.upper()
    _filled(f"{number}. {severity}  {printable_line(found.finding.headline)}", console, "bold")


def _filled(line: str, console: Console, style: str = "", *, indent: str = "") -> None:
    """Print a line, wrapped to the console's width."""
    width = max(1, console.width - len(indent))
    text = textwrap.indent(textwrap.fill(line, width, break_on_hyphens=False), indent)
    console.print(Text(text, style=style))
