"""What can be counted and summed, in whole numbers alone.

A metric is made of *parts*: columns that a backend sums (or takes the smallest or largest of) and
that partial results are combined by in the same way.  Its value is computed from the parts at the
end.  Sums of bytes are kept in two halves, so that they cannot overflow unseen; heat, a float in
the list, is cut to whole billionths, since a sum of floats depends on its order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

import attrs
import polars as pl

from harvest import UsageError

__all__ = ["DEFAULT", "HALF", "HEAT_UNIT", "METRICS", "Metric", "Part", "metrics_of"]

HALF: Final = 1 << 28
"""Where a number is cut in two: sums of both halves are exact for more than 1e10 rows."""

HEAT_UNIT: Final = 1_000_000_000
"""Heat is summed in units of 1 / HEAT_UNIT."""

_MOST_HEAT: Final = 2.0**33
"""Up to this an int64 holds a heat in its units; more, or no finite number, counts as unknown."""

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
    halves: the name of a sum that is carried in two halves, which the value is made of.
    """

    name: str
    doc: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    value: Callable[[], pl.Expr]
    halves: str | None = None


_PATHS = Part("paths", of_path=True)
_INODES = Part("inodes")


def _plain(name: str, doc: str, columns: tuple[str, ...], part: Part) -> Metric:
    return Metric(name, doc, columns, (part,), lambda: pl.col(part.name))


def _kind(name: str, kind: str, doc: str) -> Metric:
    part = Part(name, lambda: pl.col("kind").eq_missing(pl.lit(kind)))
    return _count(name, doc + "; null where the kind of none is known.", part, "kind")


def _count(name: str, doc: str, part: Part, of: str) -> Metric:
    """A count of objects by a column: null in a group of which no object has a value there."""
    known = _known(of, _heat if of == "heat" else lambda: pl.col(of))
    some = (pl.col(known.name) > 0) | (pl.col("inodes") == 0)
    return Metric(
        name, doc, (of,), (part, known, _INODES), lambda: pl.when(some).then(pl.col(part.name))
    )


def _sum(name: str, doc: str, columns: tuple[str, ...], value: Callable[[], pl.Expr]) -> Metric:
    """A sum of whole numbers: null in a group of which no object has one."""
    parts = (
        Part(f"{name}/high", lambda: value() // HALF),
        Part(f"{name}/low", lambda: value() % HALF),
        _known(name, value),
        _INODES,
    )
    return Metric(name, doc, columns, parts, lambda: _whole(name), halves=name)


def _known(name: str, value: Callable[[], pl.Expr]) -> Part:
    return Part(f"{name}/known", lambda: value().is_not_null())


def _whole(name: str) -> pl.Expr:
    known = (pl.col(f"{name}/known") > 0) | (pl.col("inodes") == 0)
    return pl.when(known).then(pl.col(f"{name}/high") * HALF + pl.col(f"{name}/low"))


def _unknown(name: str, doc: str, of: str) -> Metric:
    parts = (_known(of, lambda: pl.col(of)), _INODES)
    return Metric(name, doc, (of,), parts, lambda: pl.col("inodes") - pl.col(f"{of}/known"))


def _edge(name: str, doc: str, column: str, how: How) -> Metric:
    dtype = pl.Float64() if column == "heat" else pl.Datetime("us", "UTC")
    return _plain(name, doc, (column,), Part(name, lambda: pl.col(column), how, True, dtype))


def _heat() -> pl.Expr:
    heat = pl.col("heat")
    return pl.when(heat.is_finite() & (heat.abs() < _MOST_HEAT)).then(heat)


def _heat_units() -> pl.Expr:
    return (_heat() * HEAT_UNIT).cast(pl.Int64)


def _warm() -> pl.Expr:
    return _heat() > 0


def _warm_bytes() -> pl.Expr:
    size = pl.col("size_bytes")
    return pl.when(_warm()).then(size).when(_heat().is_not_null() & size.is_not_null()).then(0)


_ALL = (
    _plain("paths", "Paths listed.", ("inode",), _PATHS),
    _plain(
        "inodes", "Objects, each once however many paths it has: at the first.", ("inode",), _INODES
    ),
    _kind("files", "file", "Objects that are files"),
    _kind("directories", "directory", "Objects that are directories"),
    _kind("symlinks", "symlink", "Objects that are symbolic links"),
    _kind("others", "other", "Objects of another kind, such as sockets"),
    _unknown("unknown_kind", "Objects whose kind the list does not say.", "kind"),
    Metric(
        "hard_links",
        "Further paths of objects that are counted at their first path, wherever that lies.",
        ("inode",),
        (_PATHS, _INODES),
        lambda: pl.col("paths") - pl.col("inodes"),
    ),
    _sum(
        "size_bytes",
        "Logical size of the objects, as far as it is known; null where it is of none.",
        ("size_bytes",),
        lambda: pl.col("size_bytes"),
    ),
    _sum(
        "allocated_bytes",
        "Allocated size of the objects, as far as it is known; null where it is of none.",
        ("allocated_bytes",),
        lambda: pl.col("allocated_bytes"),
    ),
    _unknown("unknown_size", "Objects whose size the list does not say.", "size_bytes"),
    _unknown("unknown_allocated", "Objects whose allocated size is not known.", "allocated_bytes"),
    _plain(
        "with_heat",
        "Objects whose heat the list says.",
        ("heat",),
        _known("heat", _heat),
    ),
    _count(
        "warm",
        "Objects with a heat above zero; null where the heat of none is known.",
        Part("warm", _warm),
        "heat",
    ),
    _sum(
        "warm_bytes",
        "Logical size of the objects with a heat above zero; null where heat and size are "
        "known of none.",
        ("heat", "size_bytes"),
        _warm_bytes,
    ),
    _sum(
        "heat_units",
        f"Sum of the heat in units of 1/{HEAT_UNIT:,}, each object's cut to whole units; null "
        "where it is known of none.",
        ("heat",),
        _heat_units,
    ),
    _edge("hottest", "Largest heat of any path; null where it is known of none.", "heat", "max"),
    _edge("oldest_access_time", "Earliest last access of any path.", "access_time", "min"),
    _edge("newest_access_time", "Latest access of any path.", "access_time", "max"),
    _edge("oldest_modify_time", "Earliest last modification of any path.", "modify_time", "min"),
    _edge("newest_modify_time", "Latest modification of any path.", "modify_time", "max"),
)

METRICS: Final = {metric.name: metric for metric in _ALL}
"""All metrics by name."""

DEFAULT: Final = ("inodes", "files", "directories", "hard_links", "size_bytes", "allocated_bytes")
"""The metrics of a result unless others are asked for."""


def metrics_of(names: str | Sequence[str]) -> tuple[Metric, ...]:
    """Metrics by name, from a list or a text with commas; raises UsageError for an unknown one."""
    listed = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
    for name in listed:
        if name not in METRICS:
            raise UsageError(f"no metric {name!r}", remedy="there are " + ", ".join(METRICS))
    return tuple(METRICS[name] for name in dict.fromkeys(listed))
