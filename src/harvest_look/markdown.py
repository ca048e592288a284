"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_CODE = re.compile(r"`([^`]*\|[^`]*)`")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table and an empty one after it; nothing for no rows."""
    lines = [_line(row) for row in rows]
    return [_line(header), "|" + "---|" * len(header), *lines, ""] if lines else []


def _line(cells: Sequence[str]) -> str:
    shown = (_CODE.sub(_code, " ".join(cell.split())).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _code(found: re.Match[str]) -> str:
    """Code with a bar as HTML: renderers do not agree whether a bar in code is to be escaped."""
    return f"<code>{escape(found[1], quote=False).replace('|', '&#124;')}</code>"


def prose(text: str) -> str:
    """Text in which ``map<string, string>`` is not HTML, except where it is code already."""
    pieces = text.split("`")  # odd ones are code
    pieces[::2] = [piece.replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)
