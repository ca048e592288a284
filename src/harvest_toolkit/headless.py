"""Recognize CSV files without a header by trying known column orders on their first lines.

Imports little, so that planning stays fast::

    JOBS = Order({"id": r"\\d+", "elapsed": r"\\d+:\\d\\d:\\d\\d|"}, telling=("elapsed",))

    if fit := fitting(path, [JOBS]):
        ctx.note(fit.note)
        for table, block in tables(path, fit.names, header=False):
            yield table
    else:
        raise SourceError(f"no export{misfit(path, [JOBS])}", where=str(path))

An order fits when nine of ten lines have its columns with values of the expected form.  When no
value of line 1 has the expected form, line 1 is a header with other names, and no order fits.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from harvest import SourceError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import excerpt

from .csv_header import HEADER_BYTES
from .lines import BOM
from .live import unpacked

__all__ = ["Fit", "Order", "fitting", "misfit"]

LINES: Final = 100
"""Lines checked of each file."""
SHARE: Final = 0.9
"""Share of these lines that must fit."""
_NAME_THEM: Final = "write the names of its columns into a first line"

_Row = tuple[int, list[str]]
"""The number of a line, and its fields."""


@attrs.frozen
class Order:
    """A known order of columns.

    columns: patterns of the values by column name, without blanks around them; an empty pattern
        matches any text.  A name may be empty, as that of pandas' index.
    telling: columns of which at least one must hold a value in some line.  Where patterns allow
        empty fields, lines without such a value would fit too many orders.
    name: words for a file in this order.
    """

    columns: Mapping[str, str]
    telling: tuple[str, ...] = ()
    name: str = ""

    @property
    def words(self) -> str:
        """Names of the columns, for a sentence."""
        return ", ".join(name or "(index)" for name in self.columns)

    def fault(self, row: Sequence[str], *, cut: bool = False) -> str:
        """Return why a row does not fit; empty when it fits.

        cut: whether reading stopped within the row; then only the fields before its last must fit.
        """
        if cut and len(row) <= len(self.columns):
            row = row[:-1]
        elif len(row) != len(self.columns):
            return f"it has {count_in_words(len(row), 'field')}"
        for (name, shape), value in zip(self.columns.items(), row, strict=False):
            if shape and not re.fullmatch(shape, value):
                return f"{name or '(index)'} is {excerpt(value)!r}"
        return ""

    def resembles(self, row: Sequence[str]) -> bool:
        """Whether some value of a row has the expected form, so that the row cannot be a header."""
        return any(
            value and shape and re.fullmatch(shape, value)
            for shape, value in zip(self.columns.values(), row, strict=False)
        )

    def is_known_by(self, rows: Sequence[Sequence[str]]) -> bool:
        """Whether some fitting row has a value in a ``telling`` column."""
        places = [place for place, name in enumerate(self.columns) if name in self.telling]
        return not places or any(row[place] for row in rows for place in places if place < len(row))


@attrs.frozen
class Fit:
    """An order that fits, with the count of lines that fit and of lines checked."""

    order: Order
    lines: int
    looked_at: int

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.order.columns)

    @property
    def reason(self) -> str:
        """Reason for a ``Detection``."""
        return (
            f"rows without a header, in the order {self.order.words}: {self.lines:,} of "
            f"{count_in_words(self.looked_at, 'line')} looked at fit"
        )

    @property
    def note(self) -> str:
        """Note for the user who harvests the file."""
        return (
            f"it has no header: its columns were taken as {self.order.words}, the one known order "
            f"that its first lines fit ({self.lines:,} of {self.looked_at:,}); where that is "
            f"wrong, {_NAME_THEM}"
        )


def fitting(path: Path, orders: Sequence[Order]) -> Fit | None:
    """Return the order that the first lines of a file fit; None when none or several fit."""
    try:
        found = list(_fits(*_first_rows(path), orders))
    except SourceError:
        return None  # ``misfit`` raises the error
    return found[0] if len(found) == 1 else None


def misfit(path: Path, orders: Sequence[Order]) -> str:
    """Return why no order was chosen, as the end of a sentence; empty when line 1 is a header.

    Raises SourceError if the file is compressed and cannot be unpacked.
    """
    rows, cut = _first_rows(path)
    if several := list(_fits(rows, cut, orders)):
        fits = " as well as ".join(fit.order.words for fit in several)
        return f", and without a header its lines fit {fits}: {_NAME_THEM}"
    near = [order for order in orders if rows and order.resembles(rows[0][1])]
    if not near:
        return ""
    # among equals, prefer the order with as many columns as line 1 has fields
    near.sort(key=lambda order: len(order.columns) != len(rows[0][1]))
    best = min(near, key=lambda order: sum(bool(order.fault(row, cut=cut)) for _, row in rows))
    odd = [(number, fault) for number, row in rows if (fault := best.fault(row, cut=cut))]
    if not odd:
        return f", and nothing in its lines shows that they are {best.words}: {_NAME_THEM}"
    number, fault = odd[0]
    return (
        f", and taken as lines without a header, {len(rows) - len(odd):,} of {len(rows):,} looked "
        f"at fit the order {best.words} (line {number:,}: {fault}): {_NAME_THEM}"
    )


def _fits(rows: Sequence[_Row], cut: bool, orders: Sequence[Order]) -> Iterator[Fit]:
    for order in orders if rows else ():
        good = [row[:-1] if cut else row for _, row in rows if not order.fault(row, cut=cut)]
        if (
            len(good) >= SHARE * len(rows)
            and order.resembles(rows[0][1])
            and order.is_known_by(good)
        ):
            yield Fit(order, len(good), len(rows))


def _first_rows(path: Path) -> tuple[list[_Row], bool]:
    """Return the first lines that are not blank, and whether the only one is cut off.

    A line that is cut off where reading stopped is left out unless it is the only one.
    """
    with unpacked(path, str(path)) as file:
        head = file.read(HEADER_BYTES)
        more = bool(file.read(1))
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    reader = csv.reader(io.StringIO(text, newline=""))
    rows: list[_Row] = []
    try:
        for row in reader:
            if any(row):
                rows.append((reader.line_num, [value.strip() for value in row]))
            if len(rows) > LINES:
                return rows[:LINES], False
    except csv.Error:
        return [], False  # no row fits no order
    return (rows[:-1], False) if more and len(rows) > 1 else (rows, more)
