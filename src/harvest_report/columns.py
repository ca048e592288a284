"""Choose which columns of records a terminal shows, and how wide.

Numbers are never shortened, nor are notes, which continue in further lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import attrs
import polars as pl
from rich.cells import cell_len

from harvest.toolkit.layout import GAP, fit, fold, shorten

from .values import exact, leading

LEAST = 24
"""Fewest characters of a shortened text."""
SQUEEZED = 12
"""The same where all columns are shown."""
LINES_OF_A_HEADING = 3
LONGEST_NOTE = 600
"""Characters of the longest note; a longer text is a script or a document."""

_PART = re.compile(r"[^_\s]*_+|\S+\s*")
"""Parts of a heading, which may be broken behind underscores and spaces."""


@attrs.frozen(kw_only=True, eq=False)
class Texts:
    """A column of the terminal with its heading and its full texts."""

    heading: str
    texts: Sequence[str]
    form: str | None
    dtype: pl.DataType

    @property
    def natural(self) -> int:
        """The width of the widest text, heading included."""
        return max(map(cell_len, (*self.heading.split("\n"), *self.texts)))

    def shortened(self, width: int) -> Self:
        """Shorten the texts to ``width``, unless different ones would look the same."""
        texts = [shorten(text, width, self.form) for text in self.texts]
        return self if len(set(texts)) < len(set(self.texts)) else attrs.evolve(self, texts=texts)


@attrs.frozen(kw_only=True, eq=False)
class Cells(Texts):
    """A column of records."""

    name: str
    values: list[Any]

    @property
    def is_prose(self) -> bool:
        """Whether the column holds notes, which are never shortened."""
        return (
            self.dtype == pl.String
            and self.form is None
            and any(text.count(" ") > 1 for text in self.texts)
            and max(map(len, self.texts)) <= LONGEST_NOTE
        )

    @property
    def is_single(self) -> bool:
        """Whether all rows have the same value, not only the same text."""
        return len(set(self.texts)) == 1 and len(set(map(exact, self.values))) == 1

    def least(self, wanted: int) -> int:
        """Return the least width of the column; a text has at least ``wanted`` characters."""
        longest = max(map(cell_len, self.texts), default=0)
        words = max((cell_len(word) for text in self.texts for word in text.split()), default=0)
        kept = min(longest, max(wanted, min(words, LEAST)))
        if self.dtype.is_numeric() or self.dtype.is_temporal():
            kept = longest
        return min(self.natural, max(kept, self._narrowest_heading()))

    def _narrowest_heading(self) -> int:
        """Return the least width at which the heading has at most three lines."""
        parts = max(map(cell_len, _PART.findall(self.heading)), default=0)
        widths = range(parts, cell_len(self.heading) + 1)
        return next(w for w in widths if len(self.heading_lines(w)) <= LINES_OF_A_HEADING)

    def heading_lines(self, width: int) -> list[str]:
        """Break the heading behind ``_`` and at spaces into lines of at most ``width``."""
        lines = [""]
        for part in _PART.findall(self.heading):
            if lines[-1] and cell_len(lines[-1] + part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
        return [piece for line in lines for piece in fold(line.rstrip(), width)]

    def narrowed(self, width: int) -> Cells:
        """Return the column shortened to ``width``.

        Notes are wrapped instead, and so are different texts that would look the same.
        """
        kept = self.dtype.is_numeric() or self.is_prose or max(map(cell_len, self.texts)) <= width
        return self if kept else self.shortened(width)


def needed(widths: Sequence[int]) -> int:
    """Return the width of a table with columns of these widths."""
    return sum(widths) + GAP * (len(widths) - 1)


_Column = TypeVar("_Column", bound=Texts)


def split(
    columns: Sequence[_Column],
    fits: Callable[[Sequence[_Column]], bool],
    alone: Callable[[_Column], bool] = lambda _: False,
) -> list[list[_Column]]:
    """Split columns into tables that fit, each beginning with the columns that name a row.

    alone: whether a column that does not fit next to the first one is a table of its own.
    """
    named, first = list(columns[: leading([c.texts for c in columns])]), [columns[0]]
    parts = [first]
    for column in columns[1:]:
        apart = alone(column)
        begins = [parts[-1]] if apart or column in named else [parts[-1], named]
        fitting = (begin for begin in begins if fits([*begin, column]))
        begin = next(fitting, [] if apart else first)
        if begin == parts[-1]:
            parts[-1] = [*begin, column]
        else:
            parts.append([*begin, column])
    return parts


def parted(cells: Sequence[Cells], room: int) -> list[tuple[list[Cells], list[int]]]:
    """Split columns into tables with widths; no tables when one has no room next to the first."""

    def fits(part: Sequence[Cells]) -> bool:
        return needed([c.least(SQUEEZED) for c in part]) <= room

    def widths(part: Sequence[Cells]) -> list[int]:
        least = [c.least(SQUEEZED) for c in part]
        return fit([c.natural for c in part], least, room - GAP * (len(part) - 1))

    parts = split(cells, fits)
    if len(cells) > 1 and not all(map(fits, parts)):
        return []
    return [(part, widths(part)) for part in parts]


def chosen(
    cells: Sequence[Cells], room: int, *, exactly: bool = False
) -> tuple[list[Cells], list[int]]:
    """Choose the columns that fit, and their widths; the first columns get the remaining room.

    These are the first columns; the last of them make room for columns that distinguish rows.
    """
    least = {c.name: c.natural if exactly else c.least(LEAST) for c in cells}
    if cells and not exactly:
        least[cells[0].name] = cells[0].least(room // 2)
    shown = _first(cells, [], least, room)
    kept: list[Cells] = []
    while (more := _distinguishing(shown, [c for c in cells if c not in shown])) is not None:
        tried = _first(cells, [*kept, more], least, room)
        if more not in tried or len(_rows(tried)) <= len(_rows(shown)):
            break
        kept.append(more)
        shown = tried
    widths = [min(least[c.name], room) for c in shown]
    left = room - needed(widths)
    for index, column in enumerate(shown):
        given = min(left, column.natural - widths[index])
        widths[index] += given
        left -= given
    return shown, widths


def _first(
    cells: Sequence[Cells], kept: Sequence[Cells], least: dict[str, int], room: int
) -> list[Cells]:
    """Return the first column, the ``kept`` ones, and as many others as fit, in order."""
    taken = list(cells[:1])
    for column in (*kept, *cells[1:]):
        if column not in taken and needed([least[c.name] for c in (*taken, column)]) <= room:
            taken.append(column)
    return [c for c in cells if c in taken]


def _rows(cells: Sequence[Cells]) -> set[tuple[str, ...]]:
    return set(zip(*(c.texts for c in cells), strict=True))


def _distinguishing(shown: Sequence[Cells], hidden: Sequence[Cells]) -> Cells | None:
    """Return the hidden column that distinguishes most of the rows that look the same."""
    if not shown or len(_rows(shown)) == len(shown[0].texts):
        return None
    rows = {c: len(_rows([*shown, c])) for c in hidden}
    best = max(hidden, key=rows.__getitem__, default=None)
    return best if best is not None and rows[best] > len(_rows(shown)) else None
