"""A report as one HTML page: nothing is fetched, everything from data is escaped."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from harvest.toolkit.texts import printable_line

from .cells import group_starts, numeric, rows_of_text
from .draw import COLOURS, need, to_inline_svg, to_png
from .model import Notes, Plot, Section, Table
from .write import to_csv

if TYPE_CHECKING:
    from .report import Report

__all__ = ["to_html"]

TEMPLATE = Path(__file__).with_name("page.html.j2")


def to_html(report: Report) -> str:
    """The page.  Raises HarvestError where jinja2 or matplotlib is not installed."""
    jinja2 = need("jinja2", "writing a page")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["line"] = printable_line
    template = environment.from_string(TEMPLATE.read_text("utf-8"))
    page: str = template.render(
        report=report,
        sections=[_section(section, report) for section in report.sections],
        evidence=_evidence(report),
        colours=COLOURS,
    )
    return page + "\n"


BRIEF = 26
"""Characters up to which a column's texts are kept on one line."""


def _kinds(table: Table, texts: Sequence[Sequence[str]]) -> list[str]:
    """For each column how it is set: ``number``, ``time``, ``brief`` (never broken) or freely."""
    longest = [max(map(len, cells), default=0) for cells in zip(*texts, strict=True)]
    longest = longest or [0] * len(table.columns)
    timed = [kind.is_temporal() for kind in table.data.dtypes]
    return [
        "number" if right else "time" if time else "brief" if length <= BRIEF else ""
        for right, time, length in zip(numeric(table), timed, longest, strict=True)
    ]


def _evidence(report: Report) -> list[dict[str, Any]]:
    """For each finding, the command that gives its evidence, and a table of its first rows."""
    shown = []
    for number, found in enumerate(report.verdict.found if report.verdict else ()):
        table = Table(f"finding-{number}", found.evidence.first)
        texts = list(rows_of_text(table))
        shown.append(
            {
                "found": found,
                "command": found.evidence.command(report.location),
                "names": found.evidence.first.columns,
                "rows": [list(zip(row, _kinds(table, texts), strict=True)) for row in texts],
            }
        )
    return shown


def _section(section: Section, report: Report) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": section.name, "title": section.title}
    if isinstance(section, Table):
        texts, starts = list(rows_of_text(section)), group_starts(section)
        kinds = _kinds(section, texts)
        return shown | {
            "kind": "table",
            "columns": list(zip(section.columns, kinds, strict=True)),
            "rows": [
                (start, list(zip(row, kinds, strict=True)))
                for start, row in zip(starts, texts, strict=True)
            ],
            "terms": [(c.label, c.doc) for c in section.columns if c.doc],
            "note": section.note,
            "file": f"{report.name}.{section.name}.csv",
            "data": "data:text/csv;charset=utf-8," + quote(to_csv(section)),
        }
    if isinstance(section, Plot):
        from markupsafe import Markup  # jinja2's, of the extra

        # markup that draw.py built element by element, with every attribute escaped
        svg = Markup(to_inline_svg(section, f"{section.name}--caption"))  # noqa: S704
        return shown | {
            "kind": "plot",
            "svg": svg,
            "alt": section.alt,
            "file": f"{report.name}.{section.name}.png",
            "data": "data:image/png;base64," + base64.b64encode(to_png(section)).decode(),
        }
    if isinstance(section, Notes):
        return shown | {"kind": "notes", "items": list(section.items)}
    raise TypeError(f"{section!r} is not a section of a report")
