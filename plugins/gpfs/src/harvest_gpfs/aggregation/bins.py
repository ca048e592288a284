"""Classes of size and of age: where they begin and end, and what they are called.

A histogram over fixed classes is exact and mergeable: counts and bytes of each class are whole
numbers, so that parts add up to the same histogram in whatever order they are taken.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise

import attrs
import polars as pl

from harvest import UsageError

from ..measures import AGES, SIZES

__all__ = ["AgeBins", "SizeBins", "parse_age", "parse_size"]

_UNITS = "KMGTPE"
_SIZE = re.compile(r"(\d{1,19})\s*([KMGTPE]?)(?:i?B)?", re.IGNORECASE)
_AGE = re.compile(r"(\d{1,6})\s*([dwy])", re.IGNORECASE)
_DAYS = {"d": 1, "w": 7, "y": 365}


def parse_size(text: str | int) -> int:
    """Bytes of ``4096``, ``4K``, ``1MiB``: K, M, G, T, P, E are powers of 1,024.

    >>> parse_size("64K")
    65536

    Raises UsageError for another text, or more than an int64 holds.
    """
    found = _SIZE.fullmatch(str(text).strip())
    if found:
        number = int(found[1]) << 10 * (_UNITS.find(found[2].upper()) + 1 if found[2] else 0)
        if number < 2**63:
            return number
    raise UsageError(f"{text!r} is not a size", remedy="write bytes, or 64K, 1M, 4G, 1T")


def parse_age(text: str | int) -> int:
    """Days of ``30d``, ``8w``, ``2y`` or a plain number of days; a year is 365 days.

    >>> parse_age("2y")
    730

    Raises UsageError for another text.
    """
    plain = str(text).strip()
    found = _AGE.fullmatch(plain + "d" if plain.isdigit() else plain)
    if found:
        days = int(found[1]) * _DAYS[found[2].lower()]
        if days < 200_000:
            return days
    raise UsageError(f"{text!r} is not an age", remedy="write 30d, 8w or 2y")


def size_text(number: int) -> str:
    """Bytes in the largest unit that divides them: ``64 KiB``, ``1,000 B``."""
    power = 0
    while power < len(_UNITS) and number and number % 1024 == 0:
        number //= 1024
        power += 1
    return f"{number:,} {_UNITS[power - 1] + 'iB' if power else 'B'}"


def _age_text(days: int) -> str:
    if days % 365 == 0:
        years = days // 365
        return f"{years} year{'s' if years > 1 else ''}"
    return f"{days} day{'s' if days > 1 else ''}"


def _rising(values: Iterable[int], text: str, what: str) -> tuple[int, ...]:
    edges = tuple(values)
    if not edges or len(edges) > 100 or edges[0] < 1 or list(edges) != sorted(set(edges)):
        raise UsageError(
            f"{text!r} are not classes of {what}",
            remedy="give up to 100 upper ends above zero that rise, separated by commas",
        )
    return edges


def _between(edges: list[str]) -> list[str]:
    """The names of classes that these edges divide."""
    inner = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"up to {edges[0]}", *inner, f"above {edges[-1]}"]


@attrs.frozen
class SizeBins:
    """Classes of size: 0 (empty), up to each edge, above the last.

    edges: upper ends in bytes; an edge belongs to the class below it.
    """

    edges: tuple[int, ...]

    @classmethod
    def parse(cls, text: str = SIZES) -> SizeBins:
        """From ``4K,1M,1G``; raises UsageError for another text."""
        return cls(_rising((parse_size(part) for part in text.split(",")), text, "size"))

    @property
    def labels(self) -> list[str]:
        """The name of each class, by its number."""
        return ["empty", *_between([size_text(edge) for edge in self.edges])]

    @property
    def bounds(self) -> list[tuple[int, int | None]]:
        """Above how many bytes a class begins and where it ends, by its number."""
        return [(0, 0), *zip((0, *self.edges), (*self.edges, None), strict=False)]

    def number(self, size: pl.Expr) -> pl.Expr:
        """The number of a size's class (Int8); null where the size is."""
        above = [(size > edge).cast(pl.Int8) for edge in (0, *self.edges)]
        return reduce(operator.add, above)


@attrs.frozen
class AgeBins:
    """Classes of age before a moment: in the future of it, up to each edge, above the last.

    edges: upper ends in days of 24 hours; an edge belongs to the class below it.
    """

    edges: tuple[int, ...]

    @classmethod
    def parse(cls, text: str = AGES) -> AgeBins:
        """From ``30d,1y``; raises UsageError for another text."""
        return cls(_rising((parse_age(part) for part in text.split(",")), text, "age"))

    @property
    def labels(self) -> list[str]:
        """The name of each class, by its number."""
        return ["in the future", *_between([_age_text(edge) for edge in self.edges])]

    @property
    def bounds(self) -> list[tuple[int | None, int | None]]:
        """Above how many days a class begins and where it ends, by its number."""
        return [(None, 0), *zip((0, *self.edges), (*self.edges, None), strict=False)]

    def number(self, time: pl.Expr, now: datetime) -> pl.Expr:
        """The number of a time's class (Int8), seen from ``now``; null where the time is."""
        moments = [now, *(now - timedelta(days=days) for days in self.edges)]
        not_after = [
            (time <= moments[0]).cast(pl.Int8),
            *((time < moment).cast(pl.Int8) for moment in moments[1:]),
        ]
        return reduce(operator.add, not_after)
