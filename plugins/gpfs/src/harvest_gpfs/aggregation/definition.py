"""The aggregation itself, as one lazy query that every backend runs.

``Aggregation.partial`` groups rows and sums; partial results of parts are combined by the same
sums.  Rows that are further paths of an inode (hard links) are summed like all others and taken
off again by ``surplus``: whole numbers make that exact, and nobody has to hold all inodes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import polars as pl

from ..measures import DIRECTORY
from .groupings import GROUPINGS, Grouping, Setting
from .metrics import METRICS, Metric, Part
from .scans import Step

__all__ = ["Aggregation", "int64_of"]

_ONE_GROUP = "all rows"
"""Key of the one group that there is where nothing is grouped by."""


@attrs.frozen
class Aggregation(Step):
    """What to group by and what to sum: a step (see ``scans``) over the rows of one scan.

    by: names of groupings; metrics: names of metrics.
    setting: what the groupings refer to.
    directories: whether rows of directories take part.
    """

    by: tuple[str, ...]
    metrics: tuple[str, ...]
    setting: Setting = attrs.field(factory=Setting)
    directories: bool = True

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """What it groups by."""
        return tuple(GROUPINGS[name] for name in self.by)

    @property
    def measured(self) -> tuple[Metric, ...]:
        """What it sums."""
        return tuple(METRICS[name] for name in self.metrics)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The columns of partial results beside the keys."""
        return tuple({part.name: part for m in self.measured for part in m.parts}.values())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the record type that it needs."""
        needed = [c for grouping in self.groupings for c in grouping.columns]
        needed += [c for metric in self.measured for c in metric.columns]
        return tuple(dict.fromkeys([*needed, *(() if self.directories else ("kind",))]))

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The parts of each group of some rows."""
        return self._grouped(rows, self.parts)

    def surplus(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """A partial result that takes off rows which ``partial`` counted and should not have."""
        taken = tuple(part for part in self.parts if not part.of_path)
        off = self._grouped(rows, taken).with_columns(-pl.col(part.name) for part in taken)
        nothing = [part.nothing() for part in self.parts if part.of_path]
        return off.with_columns(nothing).select(*self._keys, *(part.name for part in self.parts))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        """Partial results as one, a row for each group."""
        together = pl.concat(partials)
        return together.group_by(self._keys).agg(part.combined() for part in self.parts)

    def folded(self, finer: Aggregation, partial: pl.DataFrame) -> pl.DataFrame | None:
        """The partial result, from one of smaller groups; None where that does not say enough."""
        ours, theirs = self.setting, finer.setting
        enough = {part.name for part in self.parts} <= {part.name for part in finer.parts}
        if self.directories != finer.directories:
            enough &= finer.directories and "kind" in finer.by
        keys: list[pl.Expr] = [] if self.by else [pl.lit(0, pl.Int8).alias(_ONE_GROUP)]
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
        rows = rows if self.directories == finer.directories else _without_directories(rows)
        return rows.group_by(keys).agg(part.combined() for part in self.parts).collect()

    def result(self, partial: pl.DataFrame) -> pl.DataFrame:
        """Keys and metrics of each group, sorted by the keys, nulls last.

        partial: a combined partial result of all rows.
        Sums of values have 128 bits.
        """
        if not self.by and partial.is_empty():
            one = pl.DataFrame({_ONE_GROUP: [0]}, schema={_ONE_GROUP: pl.Int8})
            partial = one.with_columns(part.nothing() for part in self.parts)
        if DIRECTORY in self.by:
            partial = self.combine([level.lazy() for level in self._levels(partial)]).collect()
        merging = [g.label(self.setting).alias(g.name) for g in self.groupings if g.merges]
        if merging:
            partial = self.combine([partial.lazy().with_columns(merging)]).collect()
        partial = partial.sort(self._keys, nulls_last=True)
        if DIRECTORY in self.by:
            partial = partial.with_columns(_depth().alias("depth"))
        labels = [g.label(self.setting).alias(g.name) for g in self.groupings if not g.merges]
        keys = [
            name for key in self.by for name in ((key, "depth") if key == DIRECTORY else (key,))
        ]
        return partial.with_columns(labels).select(
            *keys, *(metric.value().alias(metric.name) for metric in self.measured)
        )

    @property
    def _keys(self) -> list[str]:
        return list(self.by) or [_ONE_GROUP]

    def _grouped(self, rows: pl.LazyFrame, parts: Sequence[Part]) -> pl.LazyFrame:
        if not self.directories:
            rows = _without_directories(rows)
        keys = [g.key(self.setting).alias(g.name) for g in self.groupings]
        if not keys:
            keys = [pl.lit(0, pl.Int8).alias(_ONE_GROUP)]
        return rows.group_by(keys).agg(part.aggregate() for part in parts)

    def _levels(self, partial: pl.DataFrame) -> list[pl.DataFrame]:
        """The groups under each of their directories: those at depth 0, at depth 1 and so on."""
        outside = partial.filter(pl.col(DIRECTORY).is_null())
        return [
            outside,
            *(
                partial.filter(_depth() >= depth).with_columns(_first_names(depth))
                for depth in range(self.setting.depth + 1)
            ),
        ]


def int64_of(schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """The columns of a result as views and files have them."""
    return {n: pl.Int64() if kind == pl.Int128 else kind for n, kind in schema.items()}


def _without_directories(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.filter(pl.col("kind").ne_missing(pl.lit("directory")))


def _first_names(depth: int) -> pl.Expr:
    """The first so many names of a group's directory."""
    return pl.col(DIRECTORY).str.split("/").list.head(depth).list.join("/")


def _depth() -> pl.Expr:
    """How many directories below the root a group's directory is; null outside of the root."""
    slashes = pl.col(DIRECTORY).str.count_matches("/", literal=True).cast(pl.Int64)
    return pl.when(pl.col(DIRECTORY) == "").then(0).otherwise(slashes + 1).cast(pl.Int64)
