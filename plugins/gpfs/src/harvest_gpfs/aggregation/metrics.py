"""What can be counted and summed, in whole numbers alone.

A metric is made of *parts*: columns that a backend sums (or takes the smallest or largest of) and
that partial results are combined by in the same way.  Its value is computed from the parts at the
end.  Sums of bytes are kept in two halves, so that they cannot overflow unseen; heat, a float in
the list, is cut to whole billionths, since a sum of floats depends on its order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import attrs
import polars as pl

from .. import measures
from ..measures import HEAT_UNIT
from .groupings import known_size

__all__ = ["METRICS", "Metric", "Part"]

_HALF: Final = 1 << 28
"""Where a number is cut in two: sums of both halves are exact for more than 1e10 rows."""

_MOST_HEAT: Final = 2.0**33
"""Below this an int64 holds a heat in its units.

More counts as unknown, as does what cannot be: below zero, or no finite number.
"""

How = Literal["sum", "min", "max"]


@attrs.frozen
class Part:
    """A column that partial results carry.

    value: of each row, None for 1; how: what is done to the values of a group.
    of_path: whether every row counts, also a further path of an inode that is counted already.
    dtype: of the column.
    """

    name: str
    value: Callable[[], pl.Expr] | None = None
    how: How = "sum"
    of_path: bool = False
    dtype: pl.DataType = attrs.field(factory=pl.Int64)

    def nothing(self) -> pl.Expr:
        """What changes no sum, no smallest and no largest value."""
        return pl.lit(0 if self.how == "sum" else None, self.dtype).alias(self.name)

    def aggregate(self) -> pl.Expr:
        """Over the rows of a group."""
        if self.value is None:
            return pl.len().cast(pl.Int64).alias(self.name)
        value = self.value()
        return self._reduced(value.cast(pl.Int64) if self.how == "sum" else value)

    def combined(self) -> pl.Expr:
        """Over partial results of the same group."""
        return self._reduced(pl.col(self.name))

    def _reduced(self, values: pl.Expr) -> pl.Expr:
        return {"sum": values.sum, "min": values.min, "max": values.max}[self.how]().alias(
            self.name
        )


@attrs.frozen
class Metric:
    """A column of a result.

    columns: of the record type, that its parts are computed from.
    """

    name: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    value: Callable[[], pl.Expr]

    @property
    def doc(self) -> str:
        """What it means."""
        return measures.METRICS[self.name]


_PATHS = Part("paths", of_path=True)
_INODES = Part("inodes")


def _plain(name: str, columns: tuple[str, ...], part: Part) -> Metric:
    return Metric(name, columns, (part,), lambda: pl.col(part.name))


def _kind(name: str, kind: str) -> Metric:
    return _count(name, lambda: pl.col("kind").eq_missing(pl.lit(kind)), "kind")


def _count(name: str, value: Callable[[], pl.Expr], of: str) -> Metric:
    """A count of objects by a column: null in a group of which no object has a value there."""
    known = _known(of, _heat if of == "heat" else lambda: pl.col(of))
    parts = (Part(name, value), known, _INODES)
    return Metric(name, (of,), parts, lambda: _if_known(of, pl.col(name)))


def _sum(name: str, columns: tuple[str, ...], value: Callable[[], pl.Expr]) -> Metric:
    """A sum of whole numbers: null in a group of which no object has one."""
    parts = (
        Part(f"{name}/high", lambda: value() // _HALF),
        Part(f"{name}/low", lambda: value() % _HALF),
        _known(name, value),
        _INODES,
    )
    whole = pl.col(f"{name}/high").cast(pl.Int128) * _HALF + pl.col(f"{name}/low")
    return Metric(name, columns, parts, lambda: _if_known(name, whole))


def _known(name: str, value: Callable[[], pl.Expr]) -> Part:
    return Part(f"{name}/known", lambda: value().is_not_null())


def _if_known(name: str, value: pl.Expr) -> pl.Expr:
    return pl.when((pl.col(f"{name}/known") > 0) | (pl.col("inodes") == 0)).then(value)


def _unknown(name: str, of: str) -> Metric:
    parts = (_known(of, lambda: known_size(of) if of.endswith("_bytes") else pl.col(of)), _INODES)
    return Metric(name, (of,), parts, lambda: pl.col("inodes") - pl.col(f"{of}/known"))


def _edge(name: str, column: str, how: How) -> Metric:
    dtype = pl.Float64() if column == "heat" else pl.Datetime("us", "UTC")
    value = _heat if column == "heat" else lambda: pl.col(column)
    return _plain(name, (column,), Part(name, value, how, True, dtype))


def _heat() -> pl.Expr:
    heat = pl.col("heat")
    return pl.when(heat.is_finite() & heat.is_between(0, _MOST_HEAT, closed="left")).then(heat)


def _heat_units() -> pl.Expr:
    return (_heat() * HEAT_UNIT).cast(pl.Int64)


def _warm() -> pl.Expr:
    return _heat() > 0


def _warm_bytes() -> pl.Expr:
    size = known_size("size_bytes")
    return pl.when(_warm()).then(size).when(_heat().is_not_null() & size.is_not_null()).then(0)


_ALL = (
    _plain("paths", ("inode",), _PATHS),
    _plain("inodes", ("inode",), _INODES),
    _kind("files", "file"),
    _kind("directories", "directory"),
    _kind("symlinks", "symlink"),
    _kind("others", "other"),
    _unknown("unknown_kind", "kind"),
    Metric(
        "hard_links",
        ("inode",),
        (_PATHS, _INODES),
        lambda: pl.col("paths") - pl.col("inodes"),
    ),
    _sum("size_bytes", ("size_bytes",), lambda: known_size("size_bytes")),
    _sum("allocated_bytes", ("allocated_bytes",), lambda: known_size("allocated_bytes")),
    _unknown("unknown_size", "size_bytes"),
    _unknown("unknown_allocated", "allocated_bytes"),
    _plain("with_heat", ("heat",), _known("heat", _heat)),
    _count("warm", _warm, "heat"),
    _sum("warm_bytes", ("heat", "size_bytes"), _warm_bytes),
    _sum("heat_units", ("heat",), _heat_units),
    _edge("hottest", "heat", "max"),
    _edge("oldest_access_time", "access_time", "min"),
    _edge("newest_access_time", "access_time", "max"),
    _edge("oldest_modify_time", "modify_time", "min"),
    _edge("newest_modify_time", "modify_time", "max"),
)

METRICS: Final = {metric.name: metric for metric in _ALL}
"""All metrics by name."""
