"""Classes of size and of age: where they begin and end, and what they are called.

A histogram over fixed classes is exact and mergeable: counts and bytes of each class are whole
numbers, so that parts add up to the same histogram in whatever order they are taken.
"""

from __future__ import annotations

import operator
import re
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar, Final, Self

import attrs
import polars as pl

from harvest import UsageError

from ..measures import AGES, SIZES

_UNITS: Final = ("", *"KMGTPE")
_SIZE: Final = re.compile(r"(\d{1,19})\s*([KMGTPE]?)(?:i?B)?", re.IGNORECASE)
_AGE: Final = re.compile(r"(\d{1,6})\s*([dwy]?)", re.IGNORECASE)
_DAYS: Final = {"": 1, "d": 1, "w": 7, "y": 365}


def parse_size(text: str | int) -> int:
    """Bytes of ``4096``, ``4K``, ``1MiB``: K, M, G, T, P, E are powers of 1,024.

    >>> parse_size("64K")
    65536

    Raises UsageError for another text, or more than an int64 holds.
    """
    found = _SIZE.fullmatch(str(text).strip())
    if found:
        number = int(found[1]) << 10 * _UNITS.index(found[2].upper())
        if number < 2**63:
            return number
    raise UsageError(f"{text!r} is not a size", remedy="write bytes, or 64K, 1M, 4G, 1T")


def parse_age(text: str | int) -> int:
    """Days of ``30d``, ``8w``, ``2y`` or a plain number of days; a year is 365 days.

    >>> parse_age("2y")
    730

    Raises UsageError for another text.
    """
    found = _AGE.fullmatch(str(text).strip())
    if found:
        days = int(found[1]) * _DAYS[found[2].lower()]
        if days < 200_000:
            return days
    raise UsageError(f"{text!r} is not an age", remedy="write 30d, 8w or 2y")


def _size_text(number: int) -> str:
    """Bytes in the largest unit that divides them: ``64 KiB``, ``1,000 B``."""
    power = 0
    while power < len(_UNITS) - 1 and number and number % 1024 == 0:
        number //= 1024
        power += 1
    return f"{number:,} {_UNITS[power]}{'iB' if power else 'B'}"


def _age_text(days: int) -> str:
    number, unit = (days, "day") if days % 365 else (days // 365, "year")
    return f"{number} {unit}{'s' if number > 1 else ''}"


@attrs.frozen
class Bins:
    """Classes: one before all others, up to each edge, above the last.

    edges: upper ends; an edge belongs to the class below it.
    usual: the edges unless others are given; read, write: an edge from text, and as people read it.
    first: the name of the first class, and where that begins.
    """

    edges: tuple[int, ...]

    usual: ClassVar[str]
    what: ClassVar[str]
    read: ClassVar[Any]
    write: ClassVar[Any]
    first: ClassVar[tuple[str, int | None]]

    @classmethod
    def parse(cls, text: str | None = None) -> Self:
        """From edges with commas; raises UsageError for another text."""
        text = cls.usual if text is None else text
        edges = tuple(map(cls.read, text.split(",")))
        if len(edges) > 100 or edges[0] < 1 or list(edges) != sorted(set(edges)):
            raise UsageError(
                f"{text!r} are not classes of {cls.what}",
                remedy="give up to 100 upper ends above zero that rise, separated by commas",
            )
        return cls(edges)

    @property
    def labels(self) -> list[str]:
        texts = [self.write(edge) for edge in self.edges]
        inner = [f"{low} to {high}" for low, high in pairwise(texts)]
        return [self.first[0], f"up to {texts[0]}", *inner, f"above {texts[-1]}"]

    @property
    def bounds(self) -> list[tuple[int | None, int | None]]:
        """Above which value a class begins and where it ends, by its number."""
        return [(self.first[1], 0), *zip((0, *self.edges), (*self.edges, None), strict=False)]


class SizeBins(Bins):
    """Classes of size in bytes, the first of what is empty."""

    usual, what, read, write = SIZES, "size", staticmethod(parse_size), staticmethod(_size_text)
    first = ("empty", 0)

    def number(self, size: pl.Expr) -> pl.Expr:
        """The number of a size's class (Int8); null where the size is."""
        return reduce(operator.add, ((size > edge).cast(pl.Int8) for edge in (0, *self.edges)))


class AgeBins(Bins):
    """Classes of age in days of 24 hours before a moment, the first of what is in its future."""

    usual, what, read, write = AGES, "age", staticmethod(parse_age), staticmethod(_age_text)
    first = ("in the future", None)

    def number(self, time: pl.Expr, now: datetime) -> pl.Expr:
        """The number of a time's class (Int8), seen from ``now``; null where the time is."""
        moments = (now - timedelta(days=days) for days in self.edges)
        not_after = (time <= now, *(time < moment for moment in moments))
        return reduce(operator.add, (test.cast(pl.Int8) for test in not_after))
