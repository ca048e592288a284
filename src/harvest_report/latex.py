"""Write the tables of a report for LaTeX, in the style of the package booktabs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harvest.toolkit.texts import printable_line

from .model import Notes, Table
from .units import in_fitting_units
from .values import MISSING, group_starts, numeric, rows_of_text

if TYPE_CHECKING:
    from .report import Report

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # behind the end of a row, LaTeX would read these as arguments
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "×": r"\ensuremath{\times}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "−": r"\ensuremath{-}",
    "µ": r"\textmu{}",
    "–": "--",
}
_LIGATURE = re.compile("-(?=-)")


def escape(text: str) -> str:
    """Escape a text, so that LaTeX prints it unchanged on one line.

    Characters outside LaTeX's input encoding stay; XeLaTeX and LuaLaTeX print them.
    """
    plain = _LIGATURE.sub("-\0", printable_line(text))
    return "".join("{}" if c == "\0" else _SPECIAL.get(c, c) for c in plain)


def to_latex(report: Report) -> str:
    """Return all tables of a report as floats, and its findings and notes as lists."""
    lines = [
        f"% {printable_line(report.title)}",
        r"% needs \usepackage{booktabs}, \usepackage{textcomp} and \usepackage[T1]{fontenc}",
        "",
    ]
    findings = [found.finding.text for found in report.verdict.found] if report.verdict else []
    for section in (Notes("findings", findings, title="Findings"), *report.sections):
        if isinstance(section, Table):
            lines += [*_table(section, report.name), ""]
        elif isinstance(section, Notes) and section.items:
            lines += [rf"\paragraph{{{escape(section.title)}}}", r"\begin{itemize}"]
            lines += [rf"  \item {escape(item)}" for item in section.items]
            lines += [r"\end{itemize}", ""]
    return "\n".join(lines)


def _table(table: Table, report: str) -> list[str]:
    table = in_fitting_units(table)
    right = numeric(table)
    heads = [escape(c.heading) for c in table.columns]
    lines = [
        r"\begin{table}[htbp]",
        r"  \centering",
        rf"  \caption{{{escape(table.title)}}}",
        rf"  \label{{tab:{report}.{table.name}}}",
        rf"  \begin{{tabular}}{{{''.join('r' if r else 'l' for r in right)}}}",
        r"    \toprule",
        f"    {' & '.join(heads)} \\\\",
        r"    \midrule",
    ]
    starts = group_starts(table)
    for number, row in enumerate(rows_of_text(table)):
        if starts[number]:
            lines.append(r"    \midrule")
        cells = (_cell(text, is_number=r) for text, r in zip(row, right, strict=True))
        lines.append(f"    {' & '.join(cells)} \\\\")
    lines += [r"    \bottomrule", r"  \end{tabular}"]
    if table.note:
        lines.append(rf"  \par\smallskip\footnotesize {escape(table.note)}")
    return [*lines, r"\end{table}"]


def _cell(text: str, *, is_number: bool) -> str:
    if text == MISSING:
        return "--"
    if is_number and text.startswith("-"):
        return f"\\ensuremath{{-}}{escape(text[1:])}"
    return escape(text)
