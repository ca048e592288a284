"""One scan: its rows, and results about them that are computed once.

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
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

import attrs
import polars as pl

from harvest import UsageError

from .definition import METRICS, Aggregation
from .groupings import GROUPINGS, NO_DIRECTORY, Setting
from .on_polars import PolarsRows
from .scans import LATEST, Counts, Extent, Rows, Scan, Step, Untimed, label_of, pick

IDENTITY = ("inode", "generation", "snapshot_id")
"""The columns that identify an object within a scan."""

LEAST_INODES = 4_000_000
"""Inodes counted in one pass, at least; each takes about 64 bytes."""

MOST_PASSES = 32
"""Passes over the rows, where memory does not force more."""

LEAST_LINKED_ROWS = 500_000
"""Least number of rows of inodes with several paths that are compared together."""

_BYTES_PER_INODE = 64
_BYTES_PER_ROW = 1_000

BUDGET = 256 << 20
"""Bytes that finding hard links may use unless more are allowed."""

MOST_KEPT = 200_000
"""Rows of objects with several paths that are kept at most, with what anybody may ask of them; and
of sums."""

_ALL: Final = ("nlink", *(c for w in (GROUPINGS, METRICS) for g in w.values() for c in g.columns))


def list_scans(rows: Rows) -> list[Scan]:
    """All scans, oldest first; before them lists without a time, by name."""
    counts = rows.reduce(Counts("scan_time")).sort("scan_time")
    timed = counts.drop_nulls("scan_time").iter_rows()
    scans = [Scan(label_of(time), time, None, count) for time, count in timed]
    if not counts["scan_time"].null_count():
        return scans
    untimed = rows.reduce(Untimed("origin")).sort("origin").iter_rows()
    return [Scan(origin, None, origin, count) for origin, count in untimed] + scans


def common_root(*listings: Rows) -> str:
    """The longest directory that all paths lie in, with a slash at its end.

    Empty where paths have no directory in common, not even ``/``.  A directory that is listed
    itself and holds all other paths is the root too.
    """
    edges = _edges(listings, None)
    if edges is None:
        return "/"
    common = _common(edges)
    if edges[0] == common != edges[1]:
        # the first path begins all others: is it their directory, or the beginning of a name?
        others = _edges(listings, common)
        if others is not None and _common(others).startswith(common.rstrip("/") + "/"):
            return common.rstrip("/") + "/"
    return common[: common.rfind("/") + 1]


def _edges(listings: Sequence[Rows], apart_from: str | None) -> tuple[str, str] | None:
    found = pl.concat([rows.reduce(Extent(apart_from)) for rows in listings])
    first, last = found["first"].min(), found["last"].max()
    return None if first is None else (str(first), str(last))


def _common(edges: tuple[str, str]) -> str:
    """What the first and the last text begin with, and all between them, since they are sorted."""
    return os.path.commonprefix(edges)  # noqa: RUF071 - characters are meant, and not directories


@attrs.frozen(eq=False)
class Listing:
    """The rows of one scan.

    rows: those of this scan; scan: its name.
    given_root, given_now: settings of the user.
    budget: bytes that finding hard links may use.
    found: what was found out about the rows; listings of the same rows share it.
    """

    rows: Rows
    scan: Scan
    given_root: str | None = None
    given_now: datetime | None = None
    budget: int = BUDGET
    found: dict[str, Any] = attrs.field(factory=dict)

    @classmethod
    def of(cls, rows: Rows, wish: str = LATEST, **given: Any) -> Listing:
        """The scan that is wished for (see ``scans.pick``); given: further fields."""
        scan = pick(list_scans(rows), wish)
        return cls(rows.of(scan), scan, **given)

    @property
    def root(self) -> str:
        """The directory that top-level directories are counted from, with a slash at its end."""
        if self.given_root is not None:
            return self.given_root.rstrip("/") + "/" if self.given_root else ""
        if "root" not in self.found:
            self.found["root"] = common_root(self.rows)
        return str(self.found["root"])

    @property
    def now(self) -> datetime:
        """The time that ages count from: the one given, else that of the scan.

        Raises UsageError where neither is known: the clock would give another result each day.
        """
        now = self.given_now or self.scan.time
        if now is None:
            raise UsageError(
                "ages are counted from the time of the scan, which this list does not say",
                where=self.scan.label,
                remedy="give it: now=2026-01-11",
            )
        return now

    def linked(self, columns: Sequence[str], *, everything: bool = False) -> Iterator[pl.DataFrame]:
        """Rows of objects that may have several paths, in portions; see ``linked_rows``."""
        known = self.found.setdefault("linked", {})
        if everything not in known:
            count = self.rows.reduce(Candidates(everything)).item()
            # as many candidates: the same ones
            same = [each for each in known.values() if each[0] == count]
            known[everything] = same[0] if same else (count, *self._linked(count, everything))
        _, rows, repeated = known[everything]
        return linked_rows(rows, repeated, columns, self.budget, everything=everything)

    def _linked(self, count: int, everything: bool) -> tuple[Rows, pl.DataFrame]:
        """Inodes of several rows among so many candidates, and rows with these inodes."""
        repeated = repeated_inodes(self.rows, count, self.budget, everything=everything)
        if not 0 < repeated["rows"].sum() <= MOST_KEPT:
            return self.rows, repeated
        every = linked_rows(self.rows, repeated, _ALL, self.budget, everything=everything)
        return PolarsRows(pl.concat(every).lazy()), repeated

    def prepared(self, by: Sequence[str], setting: Setting) -> Setting:
        """The setting with root and time filled in, where a grouping needs them."""
        needs = {GROUPINGS[name].needs for name in by}
        if "root" in needs:
            covered = self.given_root is None
            setting = attrs.evolve(setting, root=self.root, covered=covered)
        return attrs.evolve(setting, now=self.now) if "now" in needs else setting

    def aggregate(
        self,
        by: Sequence[str],
        metrics: Sequence[str],
        setting: Setting | None = None,
        *,
        directories: bool = True,
    ) -> pl.DataFrame:
        """The result of an aggregation over this scan, hard links counted once.

        Taken from the sums of an earlier one where its groups are made of that one's.
        """
        setting = self.prepared(by, setting or Setting())
        task = Aggregation(tuple(by), tuple(metrics), setting, directories)
        summed: list[tuple[Aggregation, pl.DataFrame]] = self.found.setdefault("summed", [])
        for finer, sums in summed:
            if (partial := task.merged(finer, sums)) is not None:
                return task.result(partial)
        partials = [self.rows.reduce(task)]
        if any(not part.of_path for part in task.parts):
            partials += [
                task.surplus(portion.filter(~first_paths()).lazy()).collect()
                for portion in self.linked(task.columns)
            ]
        sums = task.combine([partial.lazy() for partial in partials]).collect()
        if sums.height <= MOST_KEPT:
            summed.append((task, sums))
        return task.result(sums)


def candidate(*, everything: bool = False) -> pl.Expr:
    """Whether a row may be one of several paths of an object; every row may, where that is said."""
    if everything:
        return pl.col("inode").is_not_null()
    several = pl.col("nlink").is_null() | (pl.col("nlink") > 1)
    return several & NO_DIRECTORY


def passes_for(rows: int, *, least: int, bytes_each: int, budget: int) -> int:
    """The number of shares of rows, an odd one.

    least: rows that are always taken together; bytes_each: what a row takes; budget: bytes that
    may be used.  Odd, since inode numbers are often given out in even steps.
    """
    share = min(max(least, math.ceil(rows / MOST_PASSES)), max(budget // bytes_each, least // 8))
    passes = max(1, math.ceil(rows / share))
    return passes + 1 - passes % 2


@attrs.frozen
class Candidates(Step):
    """The number of rows that may be one of several paths."""

    everything: bool = False

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        test = candidate(everything=self.everything)
        return rows.select(test.cast(pl.Int64).sum().alias("rows"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials)

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

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials)


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

    columns: wanted in addition to IDENTITY and path; the rows are sorted by all of them, so that
    rows of an object follow each other, its first path first.
    """
    wanted = tuple(dict.fromkeys((*IDENTITY, "path", *columns)))
    total = int(repeated["rows"].sum())
    if not total:
        return
    shares = passes_for(total, least=LEAST_LINKED_ROWS, bytes_each=_BYTES_PER_ROW, budget=budget)
    for share in range(shares):
        inodes = repeated.filter(pl.col("inode") % shares == share)["inode"]
        if len(inodes):
            found = rows.reduce(_RowsOf(inodes, wanted, everything))
            yield found.sort(wanted, nulls_last=True)


def first_paths() -> pl.Expr:
    """Of rows as ``linked_rows`` gives them, whether each is the first of its object."""
    same = [pl.col(name).eq_missing(pl.col(name).shift(1)) for name in IDENTITY]
    return ~pl.all_horizontal(same) | (pl.int_range(pl.len()) == 0)
