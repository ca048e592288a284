"""Pieces of HTML for notebooks, in which everything that comes from data is escaped.

The notebook's own style decides on fonts and colours, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .texts import printable_line

__all__ = ["bullets", "joined", "paragraph", "table"]

_CELL = "vertical-align:baseline;padding:.2em .6em"
_LEFT = f"text-align:left;{_CELL}"
_RIGHT = f"text-align:right;white-space:nowrap;{_CELL}"


def paragraph(text: Any, *, strong: bool = False) -> str:
    """A paragraph of plain text."""
    shown = _text(text)
    return f"<p><strong>{shown}</strong></p>" if strong else f"<p>{shown}</p>"


def bullets(items: Iterable[Any]) -> str:
    """A list of plain texts; nothing where there are none."""
    shown = "".join(f"<li>{_text(item)}</li>" for item in items)
    return f"<ul>{shown}</ul>" if shown else ""


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[str] = ()
) -> str:
    """A table of plain texts; nothing where it has no rows.

    right: columns that are aligned right, as numbers are.
    """
    styles = [_RIGHT if column in right else _LEFT for column in columns]
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{style}">{_text(cell)}</td>'
            for style, cell in zip(styles, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    head = "".join(
        f'<th scope="col" style="{style}">{_text(column)}</th>'
        for style, column in zip(styles, columns, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def details(summary: Any, content: str) -> str:
    """Pieces that a reader unfolds; nothing where there are none."""
    if not content:
        return ""
    return f"<details><summary>{_text(summary)}</summary>{content}</details>"


def joined(*pieces: str) -> str:
    """Pieces one below the other, in an element of their own."""
    return f"<div>{''.join(pieces)}</div>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return escape(printable_line(str(value)))
