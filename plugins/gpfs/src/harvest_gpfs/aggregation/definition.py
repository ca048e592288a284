"""Metrics, and the aggregation itself: one lazy query for every backend.

A metric is computed from *parts*: columns that a backend sums, or of which it takes the minimum or
maximum. Partial results are combined in the same way. Sums of bytes are stored as two halves, so
that they cannot overflow silently. Heat is a float in the list; it is cut to whole billionths,
since a sum of floats depends on the order.

``Aggregation.partial`` groups and sums rows. Rows of further paths of an inode (hard links), and
rows that repeat a path, are summed like all others, and ``surplus`` subtracts them again. Integers
make this exact, and no process needs to hold all inodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import attrs
import polars as pl

from ..measures import DIRECTORY, HEAT_UNIT
from .groupings import GROUPINGS, NO_DIRECTORY, Grouping, Setting, known_size
from .scans import Step

_ONE_GROUP: Final = "all rows"
"""Key of the single group without groupings."""

_ONE: Final = pl.lit(0, pl.Int8).alias(_ONE_GROUP)


@attrs.frozen
class Aggregation(Step):
    """Groupings and sums by name: a step (see ``scans``) over the rows of one scan.

    directories: whether rows of directories are included.
    """

    by: tuple[str, ...]
    metrics: tuple[str, ...]
    setting: Setting = attrs.field(factory=Setting)
    directories: bool = True

    @property
    def groupings(self) -> list[Grouping]:
        return [GROUPINGS[name] for name in self.by]

    @property
    def measured(self) -> list[Metric]:
        return [METRICS[name] for name in self.metrics]

    @property
    def parts(self) -> tuple[Part, ...]:
        """Columns of partial results, without the keys."""
        return tuple({part.name: part for m in self.measured for part in m.parts}.values())

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the record type that are needed."""
        needed = [c for grouping in self.groupings for c in grouping.columns]
        needed += [c for metric in self.measured for c in metric.columns]
        return tuple(dict.fromkeys([*needed, *(() if self.directories else ("kind",))]))

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return self._grouped(rows, self.parts)

    def surplus(self, rows: pl.LazyFrame, *, of_path: bool = False) -> pl.LazyFrame:
        """Compute a partial result that subtracts rows which ``partial`` counted too often.

        of_path: subtract from the sums of paths, instead of the sums of objects.
        """
        taken = [part for part in self.parts if part.how == "sum" and part.of_path == of_path]
        return self._grouped(rows, taken).with_columns(-pl.col(part.name) for part in taken)

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        together = pl.concat(partials, how="diagonal")
        return together.group_by(self._keys).agg(part.combined() for part in self.parts)

    def merged(self, finer: Aggregation, partial: pl.DataFrame) -> pl.DataFrame | None:
        """Merge a finer partial result into the groups of this one; None if it lacks something."""
        ours, theirs = self.setting, finer.setting
        enough = {part.name for part in self.parts} <= {part.name for part in finer.parts}
        if self.directories != finer.directories:
            enough &= finer.directories and "kind" in finer.by
        keys = [] if self.by else [_ONE]
        for grouping in self.groupings:
            if grouping.name in finer.by:
                keys.append(pl.col(grouping.name))
                enough &= grouping.key(ours).meta == grouping.key(theirs).meta
            else:
                keys.append(_first_names(ours.top_depth).alias(grouping.name))
                same_root = (ours.root, ours.covered) == (theirs.root, theirs.covered)
                enough &= grouping.name == "top" and DIRECTORY in finer.by and same_root
                enough &= ours.top_depth <= theirs.depth
        if not enough:
            return None
        rows = partial.lazy()
        rows = rows if self.directories == finer.directories else rows.filter(NO_DIRECTORY)
        return rows.group_by(keys).agg(part.combined() for part in self.parts).collect()

    def result(self, partial: pl.DataFrame) -> pl.DataFrame:
        """Compute keys and metrics of each group, sorted by the keys, nulls last.

        partial: the combined partial result of all rows.
        Sums of values have 128 bits.
        """
        if not self.by and partial.is_empty():
            partial = partial.select(_ONE, *(part.combined() for part in self.parts))
        if DIRECTORY in self.by:
            # the groups at each directory level: depth 0, depth 1 and so on
            deepest = partial.select(_depth().max().fill_null(0)).item()
            depths, levels = range(min(self.setting.depth, deepest) + 1), partial.lazy()
            inside = [levels.filter(_depth() >= d).with_columns(_first_names(d)) for d in depths]
            outside = levels.filter(pl.col(DIRECTORY).is_null())
            partial = self.combine([outside, *inside]).collect()
        merging = [g.label(self.setting).alias(g.name) for g in self.groupings if g.merges]
        if merging:
            partial = self.combine([partial.lazy().with_columns(merging)]).collect()
        partial = partial.sort(self._keys, nulls_last=True)
        keys: list[pl.Expr] = []
        for grouping in self.groupings:
            name = grouping.name
            label = pl.col(name) if grouping.merges else grouping.label(self.setting)
            keys += [label.alias(name), *([_depth().alias("depth")] if name == DIRECTORY else [])]
        return partial.select(*keys, *(m.value.alias(m.name) for m in self.measured))

    @property
    def _keys(self) -> list[str]:
        return list(self.by) or [_ONE_GROUP]

    def _grouped(self, rows: pl.LazyFrame, parts: Sequence[Part]) -> pl.LazyFrame:
        if not self.directories:
            rows = rows.filter(NO_DIRECTORY)
        keys = [g.key(self.setting).alias(g.name) for g in self.groupings]
        return rows.group_by(keys or [_ONE]).agg(part.aggregate() for part in parts)


def _first_names(depth: int) -> pl.Expr:
    return pl.col(DIRECTORY).str.split("/").list.head(depth).list.join("/")


def _depth() -> pl.Expr:
    """Count the directory levels below the root; null outside the root."""
    slashes = pl.col(DIRECTORY).str.count_matches("/", literal=True).cast(pl.Int64)
    return pl.when(pl.col(DIRECTORY) == "").then(0).otherwise(slashes + 1).cast(pl.Int64)


_HALF: Final = 1 << 28
"""Factor that splits a number into two halves; their sums are exact for over 1e10 rows."""

_MOST_HEAT: Final = 2.0**33
"""Upper limit of heat that an int64 can hold in units of heat.

Larger values count as unknown, as do impossible ones: negative or not finite.
"""

How = Literal["sum", "min", "max"]


@attrs.frozen(eq=False)
class Part:
    """A column of partial results.

    value: expression for each row, None for 1; how: reduction of the values in a group.
    of_path: whether every row counts, including further paths of an inode.
    """

    name: str
    value: pl.Expr | None = None
    how: How = "sum"
    of_path: bool = False

    def aggregate(self) -> pl.Expr:
        """Reduce the rows of a group."""
        if self.value is None:
            return pl.len().cast(pl.Int64).alias(self.name)
        return self.combined(self.value.cast(pl.Int64) if self.how == "sum" else self.value)

    def combined(self, values: pl.Expr | None = None) -> pl.Expr:
        """Reduce partial results of the same group, or the given values."""
        values = pl.col(self.name) if values is None else values
        reduced = {"sum": values.sum, "min": values.min, "max": values.max}[self.how]()
        return reduced.alias(self.name)


@attrs.frozen(eq=False)
class Metric:
    """A column of a result, computed from parts; ``measures`` has its description."""

    name: str
    parts: tuple[Part, ...]
    value: pl.Expr

    @property
    def columns(self) -> list[str]:
        """Columns of the record type that are needed."""
        values = [part.value for part in self.parts if part.value is not None]
        return [column for value in values for column in value.meta.root_names()]


_PATHS: Final = Part("paths", of_path=True)
_INODES: Final = Part("inodes")
_KIND, _SIZE, _ALLOCATED = pl.col("kind"), known_size("size_bytes"), known_size("allocated_bytes")
_HEAT: Final = pl.when(
    pl.col("heat").is_finite() & pl.col("heat").is_between(0, _MOST_HEAT, closed="left")
).then(pl.col("heat"))
_WARM_BYTES: Final = (
    pl.when(_HEAT > 0).then(_SIZE).when(_HEAT.is_not_null() & _SIZE.is_not_null()).then(0)
)


def _plain(part: Part) -> Metric:
    return Metric(part.name, (part,), pl.col(part.name))


def _count(name: str, test: pl.Expr, of: pl.Expr) -> Metric:
    """Define a count of objects that pass a test: null if no object in the group has a value."""
    known = _known(of)
    return Metric(name, (Part(name, test), known, _INODES), _if_known(known, pl.col(name)))


def _sum(name: str, value: pl.Expr) -> Metric:
    """Define a sum of integers: null if no object in the group has a value."""
    high, low = Part(f"{name}/high", value // _HALF), Part(f"{name}/low", value % _HALF)
    known = Part(f"{name}/known", value.is_not_null())
    whole = pl.col(high.name).cast(pl.Int128) * _HALF + pl.col(low.name)
    return Metric(name, (high, low, known, _INODES), _if_known(known, whole))


def _known(of: pl.Expr) -> Part:
    """Count the objects with a value that is computed from one column."""
    return Part(f"{of.meta.root_names()[0]}/known", of.is_not_null())


def _if_known(known: Part, value: pl.Expr) -> pl.Expr:
    return pl.when((pl.col(known.name) > 0) | (pl.col("inodes") == 0)).then(value)


def _unknown(name: str, of: pl.Expr) -> Metric:
    known = _known(of)
    return Metric(name, (known, _INODES), pl.col("inodes") - pl.col(known.name))


def _kind(name: str, kind: str) -> Metric:
    return _count(name, _KIND.eq_missing(pl.lit(kind)), _KIND)


_ALL: Final = (
    _plain(_PATHS),
    _plain(_INODES),
    _kind("files", "file"),
    _kind("directories", "directory"),
    _kind("symlinks", "symlink"),
    _kind("others", "other"),
    _unknown("unknown_kind", _KIND),
    Metric("hard_links", (_PATHS, _INODES), pl.col("paths") - pl.col("inodes")),
    _sum("size_bytes", _SIZE),
    _sum("allocated_bytes", _ALLOCATED),
    _unknown("unknown_size", _SIZE),
    _unknown("unknown_allocated", _ALLOCATED),
    Metric("with_heat", (_known(_HEAT),), pl.col("heat/known")),
    _count("warm", _HEAT > 0, _HEAT),
    _sum("warm_bytes", _WARM_BYTES),
    _sum("heat_units", (_HEAT * HEAT_UNIT).cast(pl.Int64)),
    _plain(Part("hottest", _HEAT, "max", of_path=True)),
    _plain(Part("oldest_access_time", pl.col("access_time"), "min", of_path=True)),
    _plain(Part("newest_access_time", pl.col("access_time"), "max", of_path=True)),
    _plain(Part("oldest_modify_time", pl.col("modify_time"), "min", of_path=True)),
    _plain(Part("newest_modify_time", pl.col("modify_time"), "max", of_path=True)),
)

METRICS: Final = {metric.name: metric for metric in _ALL}
