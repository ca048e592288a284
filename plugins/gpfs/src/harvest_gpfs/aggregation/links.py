"""Hard links: which rows are further paths of an inode that is counted already.

A scan lists an inode once per path.  It counts once, at its first path in the order of bytes, so
that results add up to the whole whatever they are grouped by.

- Directories and rows with ``nlink`` 1 (or 0) stand for themselves.
- All other rows, those of lists without ``nlink`` too, are candidates.  Inodes that occur more
  than once among them are found by counting, in passes over the inode column that take a share of
  the inodes each; only the rows of these inodes are then read and compared.
- Two rows are the same object where inode, generation and snapshot agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import attrs
import polars as pl

from .groupings import NO_DIRECTORY
from .scans import Counts, Rows, Step

IDENTITY = ("inode", "generation", "snapshot_id")
"""The columns that identify an object within a scan."""

LEAST_INODES = 4_000_000
"""Inodes counted in one pass, at least; each takes about 64 bytes."""

MOST_PASSES = 32
"""Passes over the rows, where memory does not force more."""

LEAST_ROWS = 500_000
"""Rows of inodes with several paths that are compared at once, at least."""

_BYTES_PER_INODE = 64
_BYTES_PER_ROW = 1_000


def candidate(*, everything: bool = False) -> pl.Expr:
    """Whether a row may be one of several paths of an object; every row may, where that is said."""
    if everything:
        return pl.col("inode").is_not_null()
    several = pl.col("nlink").is_null() | (pl.col("nlink") > 1)
    return several & NO_DIRECTORY


def passes_for(rows: int, *, least: int, bytes_each: int, budget: int) -> int:
    """Into how many shares rows are divided, an odd number.

    least: rows that are always taken at once; bytes_each: what a row takes; budget: bytes that
    may be used.  Odd, since inode numbers are often given out in even steps.
    """
    share = min(max(least, math.ceil(rows / MOST_PASSES)), max(budget // bytes_each, least // 8))
    passes = max(1, math.ceil(rows / share))
    return passes + 1 - passes % 2


@attrs.frozen
class Candidates(Step):
    """How many rows may be one of several paths."""

    everything: bool = False

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        test = candidate(everything=self.everything)
        return rows.select(test.cast(pl.Int64).sum().alias("rows"))

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        return partial.select(pl.col("rows").sum())


@attrs.frozen
class _Repeated(Counts):
    """The inodes of one share that occur more than once among the candidates, and how often."""

    share: int
    shares: int
    everything: bool = False

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        rows = rows.filter(candidate(everything=self.everything))
        if self.shares > 1:
            rows = rows.filter(pl.col("inode") % self.shares == self.share)
        return super().partial(rows)

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        return partial.filter(pl.col("rows") > 1)


@attrs.frozen
class _RowsOf(Step):
    """The candidate rows of some inodes."""

    inodes: pl.Series
    columns: tuple[str, ...]
    everything: bool = False
    # few rows, found fastest by statistics and late materialisation
    on_device: ClassVar[bool] = False

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        rows = rows.filter(candidate(everything=self.everything))
        return rows.filter(pl.col("inode").is_in(self.inodes.implode())).select(self.columns)


def repeated_inodes(
    rows: Rows, count: int, budget: int, *, everything: bool = False
) -> pl.DataFrame:
    """Inodes that occur more than once among the candidates, and in how many rows.

    count: of candidates; budget: bytes that may be used.
    everything: takes every row for a candidate, whatever its link count.
    """
    shares = passes_for(count, least=LEAST_INODES, bytes_each=_BYTES_PER_INODE, budget=budget)
    found = [rows.reduce(_Repeated("inode", share, shares, everything)) for share in range(shares)]
    return pl.concat(found).sort("inode")


def linked_rows(
    rows: Rows,
    repeated: pl.DataFrame,
    columns: Sequence[str],
    budget: int,
    *,
    everything: bool = False,
) -> Iterator[pl.DataFrame]:
    """The rows of objects that may have several paths, in portions with all rows of an inode.

    columns: those wanted beside IDENTITY and path; the rows are sorted by all of them, so that
    rows of an object follow each other, its first path first.
    """
    wanted = tuple(dict.fromkeys((*IDENTITY, "path", *columns)))
    total = int(repeated["rows"].sum())
    if not total:
        return
    shares = passes_for(total, least=LEAST_ROWS, bytes_each=_BYTES_PER_ROW, budget=budget)
    for share in range(shares):
        inodes = repeated.filter(pl.col("inode") % shares == share)["inode"]
        if len(inodes):
            found = rows.reduce(_RowsOf(inodes, wanted, everything))
            yield found.sort(wanted, nulls_last=True)


def first_paths() -> pl.Expr:
    """Of rows as ``linked_rows`` gives them, whether each is the first of its object."""
    same = [pl.col(name).eq_missing(pl.col(name).shift(1)) for name in IDENTITY]
    return ~pl.all_horizontal(same) | (pl.int_range(pl.len()) == 0)
