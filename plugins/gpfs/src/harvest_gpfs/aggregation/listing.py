"""One scan: its rows, and results that are computed once.

A scan lists an inode once per path. An object is counted once, at its first path in byte order, so
that results add up to the total for any groupings.

- Directories and rows with ``nlink`` 1 (or 0) have only one path. Such an object has several rows
  only if the scan has several lists that overlap.
- All other rows, including those of lists without ``nlink``, are candidates; in a scan of several
  lists, every row is. Repeated inodes among candidates are found by counting, in passes over the
  inode column that take a share of the inodes each. Only the rows of these inodes are then read and
  compared.
- Two rows are the same object if the columns of ``IDENTITY`` are equal, and either their paths, or
  both objects may have several. Of rows that repeat a path, the first counts.
"""

import math
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Self

import attrs
import polars as pl

from harvest import DatasetReader, UsageError

from .definition import METRICS, Aggregation
from .groupings import GROUPINGS, NO_DIRECTORY, Setting
from .on_polars import PolarsRows
from .scans import LATEST, Counts, Extent, Rows, Scan, Step, label_of, pick

IDENTITY = ("inode", "generation", "snapshot_id", "create_time")
"""Columns that identify an object within a scan.

Lists of several file systems with one time are one scan. Their inodes and generations are often the
same numbers; the times at which objects were created are not.
"""

CANDIDATE: Final = (pl.col("nlink").is_null() | (pl.col("nlink") > 1)) & NO_DIRECTORY
"""Test whether a row may be one of several paths of an object."""

ONLY_PATH: Final = pl.when(~CANDIDATE).then("path").alias("only_path")
"""The path of an object that has only one: it is part of its identity. Null for other objects."""

REPEATS: Final = (pl.int_range(pl.len()) > 0) & pl.all_horizontal(
    pl.col(name).eq_missing(pl.col(name).shift(1)) for name in (*IDENTITY, "path")
)
"""Test whether a row repeats a path of its object, in rows from ``linked_rows``."""

FIRST_PATH: Final = (
    ~REPEATS & pl.when(~REPEATS).then(pl.struct(*IDENTITY, ONLY_PATH)).is_first_distinct()
)
"""Test whether a row is the first one of its object, in rows from ``linked_rows``."""

LEAST_INODES = 4_000_000
"""Minimum number of inodes counted in one pass; each takes about 64 bytes."""

MOST_PASSES = 32
"""Maximum number of passes over the rows, unless memory requires more."""

LEAST_LINKED_ROWS = 500_000
"""Minimum number of rows of inodes with several paths that are compared together."""

_BYTES_PER_INODE = 64
_BYTES_PER_ROW = 1_000

BUDGET = 256 << 20
"""Default bytes of memory for finding hard links."""

MOST_KEPT = 200_000
"""Maximum number of cached rows of objects with several paths, with all columns, and of sums."""

_ALL: Final = ("nlink", *(c for w in (GROUPINGS, METRICS) for g in w.values() for c in g.columns))


def list_scans(rows: Rows) -> list[Scan]:
    """Return all scans, oldest first; lists without a time come before them, sorted by name."""
    counts = rows.reduce(Counts("scan_time")).sort("scan_time")
    timed = counts.drop_nulls("scan_time").iter_rows()
    scans = [Scan(label_of(time), time, None, count) for time, count in timed]
    if not counts["scan_time"].null_count():
        return scans
    untimed = rows.reduce(Counts("origin", pl.col("scan_time").is_null())).sort("origin")
    return [Scan(origin, None, origin, count) for origin, count in untimed.iter_rows()] + scans


def several_scans(dataset: DatasetReader, sql: str) -> Iterator[str]:
    """Warn that a query over ``gpfs.file`` counts the files of every scan.

    A query that contains ``scan_time`` or ``origin`` selects its scan itself.
    """
    if re.search(r"\b(scan_time|origin)\b", sql, re.IGNORECASE):
        return
    scans = list_scans(PolarsRows(dataset["gpfs.file"]))
    if len(scans) > 1:
        last = scans[-1]
        column = "scan_time" if last.time is not None else "origin"
        name = last.label.replace("'", "''")
        yield (
            f"gpfs.file has {len(scans)} scans, and this query counts rows of all of them; for the "
            f"last scan only, add: where {column} = '{name}'"
        )


def common_root(*listings: Rows) -> str:
    """Return the deepest directory that contains all paths, with a slash at its end.

    The result is empty if paths have no common directory, not even ``/``. A directory that is
    listed itself and contains all other paths is also the root.
    """
    edges = _edges(listings, None)
    if edges is None:
        return "/"
    common = _common(edges)
    if edges[0] == common != edges[1]:
        # the first path is a prefix of all others: check whether it is a directory of them
        others = _edges(listings, common)
        if others is not None and _common(others).startswith(common.rstrip("/") + "/"):
            return common.rstrip("/") + "/"
    return common[: common.rfind("/") + 1]


def _edges(listings: Sequence[Rows], apart_from: str | None) -> tuple[str, str] | None:
    found = pl.concat([rows.reduce(Extent(apart_from=apart_from)) for rows in listings])
    first, last = found["first"].min(), found["last"].max()
    return None if first is None else (str(first), str(last))


def _common(edges: tuple[str, str]) -> str:
    """Return the common prefix of the first and last text, and so of all sorted texts between."""
    return os.path.commonprefix(edges)  # noqa: RUF071 - characters are meant, and not directories


@attrs.frozen(eq=False)
class Listing:
    """The rows of one scan.

    rows: rows of this scan; scan: its name and time.
    given_root, given_now: settings of the user.
    budget: bytes of memory for finding hard links.
    found: cached results about the rows, shared by listings of the same rows.
    """

    rows: Rows
    scan: Scan
    given_root: str | None = None
    given_now: datetime | None = None
    budget: int = BUDGET
    found: dict[str, Any] = attrs.field(factory=dict)

    @classmethod
    def of(cls, rows: Rows, wish: str = LATEST, **given: Any) -> Self:
        """Select a scan by name (see ``scans.pick``); given: values of further fields."""
        scan = pick(list_scans(rows), wish)
        return cls(rows.of(scan), scan, **given)

    @property
    def root(self) -> str:
        """The directory that contains the top-level directories, with a slash at its end."""
        if self.given_root is not None:
            return self.given_root.rstrip("/") + "/" if self.given_root else ""
        if "root" not in self.found:
            self.found["root"] = common_root(self.rows)
        return str(self.found["root"])

    @property
    def now(self) -> datetime:
        """The reference time of ages: the given one, or the time of the scan.

        Raises UsageError if neither is known: the current time would change the result every day.
        """
        now = self.given_now or self.scan.time
        if now is None:
            raise UsageError(
                "ages are counted from the time of the scan, which this list does not say",
                where=self.scan.label,
                remedy="give it: now=2026-01-11",
            )
        return now

    @property
    def several_lists(self) -> bool:
        """Whether rows come from several lists, which may overlap."""
        if "several" not in self.found:
            edges = self.rows.reduce(Extent("origin"))
            self.found["several"] = edges["first"].item() != edges["last"].item()
        return bool(self.found["several"])

    def linked(self, columns: Sequence[str], *, everything: bool = False) -> Iterator[pl.DataFrame]:
        """Yield rows of objects that may have several rows, in portions; see ``linked_rows``."""
        known = self.found.setdefault("linked", {})
        everything = everything or self.several_lists
        among = None if everything else CANDIDATE
        if everything not in known:
            count = int(self.rows.reduce(Counts("nlink", among))["rows"].sum())
            # an equal number of candidates means that they are the same
            same = [each for each in known.values() if each[0] == count]
            known[everything] = same[0] if same else (count, *self._linked(count, among))
        _, rows, repeated = known[everything]
        return linked_rows(rows, repeated, columns, self.budget, among)

    def _linked(self, count: int, among: pl.Expr | None) -> tuple[Rows, pl.DataFrame]:
        """Find inodes with several rows among ``count`` candidates; also return rows to search."""
        budget = self.budget
        shares = passes_for(count, least=LEAST_INODES, bytes_each=_BYTES_PER_INODE, budget=budget)
        tests = [among]
        if shares > 1:
            in_share = (pl.col("inode") % shares == share for share in range(shares))
            tests = [test if among is None else among & test for test in in_share]
        found = [self.rows.reduce(Counts("inode", test, least=2)) for test in tests]
        repeated = pl.concat(found).sort("inode")
        if not 0 < repeated["rows"].sum() <= MOST_KEPT:
            return self.rows, repeated
        every = linked_rows(self.rows, repeated, _ALL, self.budget, among)
        return PolarsRows(pl.concat(every).lazy()), repeated

    def prepared(self, by: Sequence[str], setting: Setting) -> Setting:
        """Fill in root and time in the setting, if a grouping needs them."""
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
        """Aggregate this scan, with hard links and repeated rows counted once.

        If an earlier aggregation has finer groups, its sums are reused.
        """
        setting = self.prepared(by, setting or Setting())
        task = Aggregation(tuple(by), tuple(metrics), setting, directories)
        summed: list[tuple[Aggregation, pl.DataFrame]] = self.found.setdefault("summed", [])
        for finer, sums in summed:
            if (partial := task.merged(finer, sums)) is not None:
                return task.result(partial)
        partials = [self.rows.reduce(task)]
        if any(part.how == "sum" for part in task.parts):
            for portion in self.linked(task.columns):
                rows = portion.lazy()
                partials.append(task.surplus(rows.filter(~FIRST_PATH)).collect())
                if self.several_lists:
                    partials.append(task.surplus(rows.filter(REPEATS), of_path=True).collect())
        sums = task.combine([partial.lazy() for partial in partials]).collect()
        if sums.height <= MOST_KEPT:
            summed.append((task, sums))
        return task.result(sums)


def passes_for(rows: int, *, least: int, bytes_each: int, budget: int) -> int:
    """Return the number of passes over rows.

    least: minimum number of rows in a pass; bytes_each: memory per row; budget: bytes of memory.
    The number is odd, since inode numbers are often assigned in even steps.
    """
    share = min(max(least, math.ceil(rows / MOST_PASSES)), max(budget // bytes_each, least // 8))
    passes = max(1, math.ceil(rows / share))
    return passes + 1 - passes % 2


@attrs.frozen
class _RowsOf(Step):
    """Step that selects the rows of some inodes, of candidates or of all."""

    inodes: pl.Series
    columns: tuple[str, ...]
    among: pl.Expr | None
    # few rows: statistics and late materialisation find them fastest
    on_device: ClassVar[bool] = False

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        rows = rows if self.among is None else rows.filter(self.among)
        return rows.filter(pl.col("inode").is_in(self.inodes.implode())).select(self.columns)


def linked_rows(
    rows: Rows, repeated: pl.DataFrame, columns: Sequence[str], budget: int, among: pl.Expr | None
) -> Iterator[pl.DataFrame]:
    """Yield rows of objects that may have several paths; a portion has all rows of its inodes.

    columns: further columns. Rows are sorted by object, path, list and position, so that every
        result takes the same row of an object whose rows disagree: the first of its first path.
    """
    order = (*IDENTITY, "path", "origin", "position")
    wanted = tuple(dict.fromkeys((*order, "nlink", "kind", *columns)))
    total = int(repeated["rows"].sum())
    if not total:
        return
    shares = passes_for(total, least=LEAST_LINKED_ROWS, bytes_each=_BYTES_PER_ROW, budget=budget)
    for share in range(shares):
        inodes = repeated.filter(pl.col("inode") % shares == share)["inode"]
        if len(inodes):
            found = rows.reduce(_RowsOf(inodes, wanted, among))
            yield found.sort(order, nulls_last=True)
