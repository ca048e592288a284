"""Pieces of HTML for notebooks; all text from data is escaped.

The notebook's own style sets fonts and colours, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .texts import printable_line

__all__ = ["bullets", "joined", "paragraph", "table"]

_CELL = "vertical-align:baseline;padding:.2em .6em"
_LEFT = f"text-align:left;{_CELL}"
_RIGHT = f"text-align:right;white-space:nowrap;{_CELL}"


def paragraph(text: Any, *, strong: bool = False) -> str:
    """Return a paragraph of plain text."""
    shown = _text(text)
    return f"<p><strong>{shown}</strong></p>" if strong else f"<p>{shown}</p>"


def bullets(items: Iterable[Any]) -> str:
    """Return a list of plain texts; an empty string if there are none."""
    shown = "".join(f"<li>{_text(item)}</li>" for item in items)
    return f"<ul>{shown}</ul>" if shown else ""


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[str] = ()
) -> str:
    """Return a table of plain texts; an empty string if it has no rows.

    right: columns that are aligned right, such as numbers.
    """
    styles = [_RIGHT if column in right else _LEFT for column in columns]

    def line(begin: str, end: str, cells: Sequence[Any]) -> str:
        pairs = zip(styles, cells, strict=True)
        shown = "".join(f'{begin} style="{style}">{_text(cell)}{end}' for style, cell in pairs)
        return f"<tr>{shown}</tr>"

    body = "".join(line("<td", "</td>", row) for row in rows)
    head = line('<th scope="col"', "</th>", columns)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>" if body else ""


def details(summary: Any, content: str) -> str:
    """Return content that a reader can unfold; an empty string if there is none."""
    if not content:
        return ""
    return f"<details><summary>{_text(summary)}</summary>{content}</details>"


def joined(*pieces: str) -> str:
    """Join pieces vertically in one element."""
    return f"<div>{''.join(pieces)}</div>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return escape(printable_line(str(value)))
