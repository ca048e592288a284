"""Lay out text in terminal columns: shorten or wrap long texts, and fit widths.

Widths are in terminal cells; some characters take two.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len

__all__ = ["GAP", "fit", "fold", "shorten", "table_lines"]

GAP = 2
"""Number of spaces between the columns of a table."""


def shorten(text: str, width: int, form: str | None = None) -> str:
    """Shorten a text to ``width``; ``…`` marks the omitted part.

    form: ``id`` keeps both ends, ``path`` the end, any other the beginning.

    >>> shorten("tcp://10.9.0.21:40101", 15, "id")
    'tcp://1…1:40101'
    >>> shorten("/gpfs/demo/scratch/run1.h5", 15, "path")
    '…cratch/run1.h5'
    """
    if cell_len(text) <= width:
        return text
    ahead = (width - 1) // 2 if form == "id" else 0 if form == "path" else width - 1
    behind = width - 1 - ahead
    return f"{_head(text, ahead)}…{_head(text[::-1], behind)[::-1]}"


def fold(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap a text into lines of at most ``width`` cells, at spaces if possible.

    indent: prefix of all lines except the first.
    """
    lines: list[str] = []
    room = width
    while cell_len(text) > room:
        head = _head(text, room) or text[0]
        space = len(head) if text[len(head)] == " " else head.rfind(" ")
        cut = space if space > 0 and head[:space].strip() else len(head)
        lines.append(text[:cut])
        text = text[cut:].lstrip(" ")
        room = max(1, width - len(indent))
    lines.append(text)
    return [lines[0], *(f"{indent}{line}" for line in lines[1:])]


def fit(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Reduce widths to fit the room together; the widest columns shrink first.

    least: minimum width of each column, even if they do not fit.

    >>> fit([21, 21, 9], [8, 8, 9], 41)
    [16, 16, 9]
    """
    widths = list(natural)
    cap = max(widths, default=0)
    while sum(widths) > room and cap > 0:
        cap -= 1
        widths = [min(n, max(cap, m)) for n, m in zip(natural, least, strict=True)]
    return widths


def table_lines(
    rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]
) -> Iterator[str]:
    """Yield the lines of a table; cells wider than their column are wrapped.

    right: for each column, whether its cells are aligned right.
    """
    for row in rows:
        cells = [
            fold(cell, width) if cell_len(cell) > width else [cell]
            for cell, width in zip(row, widths, strict=True)
        ]
        for line in zip_longest(*cells, fillvalue=""):
            padded = [
                " " * (width - cell_len(text)) + text
                if is_right
                else text + " " * (width - cell_len(text))
                for text, width, is_right in zip(line, widths, right, strict=True)
            ]
            yield (" " * GAP).join(padded).rstrip(" ")


def _head(text: str, width: int) -> str:
    """Return the longest prefix that fits the width."""
    if text.isascii():
        return text[:width]
    used = 0
    for index, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return text[:index]
    return text
