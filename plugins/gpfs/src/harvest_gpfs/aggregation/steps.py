"""What is done to rows, said once: a partial result per part, and how partial results combine.

Every question to a scan is a :class:`Step`.  A backend decides how it runs: polars over all rows
at once (in memory, streaming, on a GPU), or each part on its own with the partial results combined
in a tree.  Sums of whole numbers, smallest and largest values do not depend on how rows are
divided, so every backend comes to the same result.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar, Protocol

import attrs
import polars as pl

from .scans import Scan

__all__ = ["Counts", "Extent", "Rows", "Step", "Untimed"]


class Step(abc.ABC):
    """A question to rows; picklable, since it may be put to parts in other processes.

    on_device: whether a GPU can do it.
    """

    on_device: ClassVar[bool] = True

    @abc.abstractmethod
    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The partial result of some rows."""

    @abc.abstractmethod
    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        """Partial results of several parts as that of all of them."""

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        """The result, from the partial result of all rows: unless said otherwise, that itself."""
        return partial


class Rows(Protocol):
    """The rows of ``gpfs.file`` that are asked, and the backend that answers."""

    def reduce(self, step: Step) -> pl.DataFrame:
        """The result of a step over all rows."""

    def of(self, scan: Scan) -> Rows:
        """The rows of one scan alone."""


@attrs.frozen
class Counts(Step):
    """The values of a column, and the number of rows of each.

    by: the column.
    """

    by: str

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.group_by(self.by).agg(pl.len().cast(pl.Int64).alias("rows"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).group_by(self.by).agg(pl.col("rows").sum())


class Untimed(Counts):
    """The same of the rows that have no scan_time."""

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return super().partial(rows.filter(pl.col("scan_time").is_null()))


@attrs.frozen
class Extent(Step):
    """The first and the last path in the order of their bytes; null without rows.

    apart_from: a path that is left out.
    """

    apart_from: str | None = None

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        if self.apart_from is not None:
            rows = rows.filter(pl.col("path") != self.apart_from)
        return rows.select(pl.col("path").min().alias("first"), pl.col("path").max().alias("last"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).select(pl.col("first").min(), pl.col("last").max())
