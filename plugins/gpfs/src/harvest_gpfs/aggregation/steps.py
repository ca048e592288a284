"""What is done to rows, said once: a partial result per part, and how partial results combine.

Every question to a scan is a :class:`Step`.  A backend decides how it runs: polars over all rows
at once (in memory, streaming, on a GPU), or each part on its own with the partial results combined
in a tree.  Sums of whole numbers, smallest and largest values do not depend on how rows are
divided, so every backend comes to the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs
import polars as pl

from .scans import Scan

__all__ = ["Extent", "Rows", "Scans", "Step", "Untimed"]


class Step(Protocol):
    """A question to rows; picklable, since it may be put to parts in other processes."""

    @property
    def on_device(self) -> bool:
        """Whether a GPU can do it."""

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The partial result of some rows."""

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        """Partial results of several parts as that of all of them."""

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        """The result, from the partial result of all rows."""


class Rows(Protocol):
    """The rows of ``gpfs.file`` that are asked, and the backend that answers."""

    def reduce(self, step: Step) -> pl.DataFrame:
        """The result of a step over all rows."""

    def of(self, scan: Scan) -> Rows:
        """The rows of one scan alone."""


@attrs.frozen
class Scans:
    """Which scans there are: scan_time and the number of rows of each."""

    on_device: bool = True

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.group_by("scan_time").agg(pl.len().cast(pl.Int64).alias("rows"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).group_by("scan_time").agg(pl.col("rows").sum())

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        return partial


@attrs.frozen
class Untimed:
    """The lists whose rows have no scan_time: origin and the number of rows of each."""

    on_device: bool = True

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return (
            rows.filter(pl.col("scan_time").is_null())
            .group_by("origin")
            .agg(pl.len().cast(pl.Int64).alias("rows"))
        )

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).group_by("origin").agg(pl.col("rows").sum())

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        return partial


@attrs.frozen
class Extent:
    """The first and the last path in the order of their bytes; null without rows.

    apart_from: a path that is left out.
    """

    apart_from: str | None = None
    on_device: bool = True

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        if self.apart_from is not None:
            rows = rows.filter(pl.col("path") != self.apart_from)
        return rows.select(pl.col("path").min().alias("first"), pl.col("path").max().alias("last"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).select(pl.col("first").min(), pl.col("last").max())

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        return partial
