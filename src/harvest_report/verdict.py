"""Findings on a terminal, within its width."""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

from harvest.findings import Verdict
from harvest.toolkit.texts import printable_line

__all__ = ["show_verdict"]


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
