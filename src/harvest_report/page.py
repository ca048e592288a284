"""Render a report as HTML, for a page or a notebook; loads nothing, and escapes all data."""

from __future__ import annotations

import base64
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rich.cells import cell_len

from harvest.toolkit import html
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line

from .draw import COLOURS, draw, to_inline_svg, to_png
from .extra import need
from .interactive import as_data, digest, item, scripts
from .model import Notes, Plot, Section, Table
from .units import in_fitting_units
from .values import group_starts, numeric, rows_of_text
from .write import to_csv

if TYPE_CHECKING:
    from .report import Report


def to_html(report: Report, *, interactive: bool = True) -> str:
    """Render a whole page; raises HarvestError when jinja2 or matplotlib is not installed."""
    return _rendered("page.html.j2", report, whole=True, interactive=interactive)


def to_fragment(report: Report) -> str:
    """Render an element for a notebook, with its own style and the notebook's colours.

    Without the extra ``report`` it has only tables and texts.
    """
    if all(importlib.util.find_spec(library) for library in ("jinja2", "matplotlib")):
        return _rendered("notebook.html.j2", report, whole=False, interactive=False)
    return _plain(report)


def _rendered(name: str, report: Report, *, whole: bool, interactive: bool) -> str:
    """Fill a template; whole: for a page of its own, with data to download."""
    jinja2 = need("jinja2", "writing a page")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = printable_line
    environment.filters["prose"] = _prose
    picture, how = report.picture, {"whole": whole, "interactive": interactive}
    first = None if picture is None else _section(picture, report, **how)
    sections = [
        _section(section, report, **how) for section in report.sections if section is not picture
    ]
    alive = any(each.get("item") for each in (first or {}, *sections))
    markup = need("markupsafe", "writing a page").Markup
    text: str = environment.get_template(name).render(
        report=report,
        picture=first,
        sections=sections,
        scripts=[(markup(each), markup(digest(each))) for each in (scripts() if alive else ())],
        dark=as_data(dict(COLOURS.values())),
        evidence=_evidence(report),
        colours=COLOURS,
        whole=whole,
        # a notebook may hold several reports
        prefix="" if whole else f"{report.name}--",
    )
    return text + "\n"


_WHOLE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T_]\d\d:\d\d(?::\d\d)?)?|[-+]?\d[\d.,]* (?:%|[KMGTPE]iB\b)"
)
"""Dates, shares and amounts, which a line break must not split."""


def _prose(text: str) -> Any:
    """Escape a text, and keep each date and amount in it on one line."""
    markup = need("markupsafe", "writing a page").Markup
    escaped = str(markup.escape(printable_line(text)))
    return markup(_WHOLE.sub(r'<span class="whole">\g<0></span>', escaped))


def _plain(report: Report) -> str:
    """Render tables and texts without jinja2 and matplotlib."""
    pieces = [html.paragraph(report.title, strong=True), *map(html.paragraph, report.intro)]
    pieces.insert(1, html.bullets(report.tiles))
    if report.verdict is not None:
        pieces.append(report.verdict._repr_html_())
    for section in report.sections:
        if isinstance(section, Plot):
            continue
        pieces.append(html.paragraph(section.title, strong=True))
        if isinstance(section, Notes):
            pieces.append(html.bullets(section.items))
            continue
        section = in_fitting_units(section)
        names = [column.heading for column in section.columns]
        right = [name for name, number in zip(names, numeric(section), strict=True) if number]
        pieces.append(html.table(names, rows_of_text(section), right=right))
        pieces.append(html.paragraph(section.note) if section.note else "")
    if report.plots:
        count = count_in_words(len(report.plots), "plot")
        pieces.append(html.paragraph(f"{count}: to see them, install hpc-harvest[report]"))
    return html.joined(*pieces)


BRIEF = 26
"""Longest texts of a column, in characters, that stay on one line."""
BROAD = 28.0
"""Width in em from which a table is wider than a small screen."""


def _laid_out(table: Table, heads: Sequence[str]) -> dict[str, Any]:
    """Return the cells of a table with the styles of their columns, and its estimated width.

    A style is ``number``, ``time``, ``brief`` (never broken) or ``""``.  Digits are wide, and
    headings are bold.
    """
    texts = list(rows_of_text(table))
    columns = list(zip(*texts, strict=True)) or [()] * len(heads)
    styles: list[str] = []
    width = 0.0
    for head, cells, right, dtype in zip(
        heads, columns, numeric(table), table.data.dtypes, strict=True
    ):
        brief = max(map(len, cells), default=0) <= BRIEF
        style = "number" if right else "time" if dtype.is_temporal() else "brief" if brief else ""
        longest = max(map(cell_len, cells), default=0) * 0.65
        words = max(map(cell_len, head.split()), default=0) * 0.72
        widest = (longest if style else min(longest, 18.0)) * (1.0 if styles else 1.1)
        width += 1.3 + max(words, widest)
        styles.append(style)
    return {
        "styles": styles,
        "rows": [list(zip(row, styles, strict=True)) for row in texts],
        "ems": f"{max(width, 1.0):.1f}",
        "broad": width > BROAD,
    }


def _evidence(report: Report) -> list[dict[str, Any]]:
    """Return for each finding the command for its evidence, and a table of the first rows."""
    shown = []
    for number, found in enumerate(report.verdict.found if report.verdict else ()):
        table = Table(f"finding-{number}", found.evidence.first)
        names, command = table.data.columns, found.evidence.command(report.location)
        said = {"found": found, "command": command, "names": names}
        shown.append(said | _laid_out(table, names))
    return shown


def _section(section: Section, report: Report, *, whole: bool, interactive: bool) -> dict[str, Any]:
    """Return a section's values for the template; whole: with the data to download."""
    shown: dict[str, Any] = {"name": section.name, "title": section.title}
    if isinstance(section, Table):
        fitting = in_fitting_units(section)
        made = _laid_out(fitting, [column.heading for column in fitting.columns])
        return shown | {
            **made,
            "kind": "table",
            "columns": list(zip(fitting.columns, made["styles"], strict=True)),
            "rows": list(zip(group_starts(section), made["rows"], strict=True)),
            "terms": [(c.label, c.doc) for c in section.columns if c.doc],
            "note": section.note,
            "file": f"{report.name}.{section.name}.csv",
            "data": "data:text/csv;charset=utf-8," + quote(to_csv(section)) if whole else "",
        }
    if isinstance(section, Plot):
        caption = f"{'' if whole else report.name + '--'}{section.name}--caption"
        png = ""
        if whole:  # draws both from one figure; the calls below reuse them
            draw(section, "svg", "png")
            png = "data:image/png;base64," + base64.b64encode(to_png(section)).decode()
        marks = section.marks if interactive else None
        height = max(260, round(section.size[1] * 80))
        return shown | {
            "kind": "plot",
            "item": item(marks(), height) if marks else "",
            "svg": to_inline_svg(section, caption),
            "alt": section.alt,
            "file": f"{report.name}.{section.name}.png",
            "data": png,
        }
    return shown | {"kind": "notes", "items": list(section.items)}
