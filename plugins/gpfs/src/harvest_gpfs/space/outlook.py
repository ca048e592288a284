"""Forecasts of when groups reach a capacity or their quotas, by a straight line over all scans.

The line is fitted by least squares. Intervals have a confidence of 90 %: for the slope by Student's
t, for the time by the prediction band of a new point (Fieller's interval, as in calibration).
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import bytes_in_words, count_in_words
from harvest_toolkit.frames import deferred

from ..aggregation.groupings import parse_size, read_names
from ..aggregation.scans import label_of
from ..views.common import declared_types, grouped_types
from .plugin import FORECAST, QUOTAS, TREND
from .quotas import Quota, read_quotas

_FULL: Final = ("full_time", "earliest_time", "latest_time")
_CENTURY: Final = 36_525.0


@attrs.frozen(eq=False)
class History:
    """Sums of groups by scan, from ``gpfs.growth``.

    names: keys of groups; measure: kind of bytes: allocated or size.
    times: time of each scan with a time and bytes, oldest first; None for a single list without it.
    sums: lists of scans, bytes and objects, a row for each group, first those of the last scan.
    rows: row of each group in ``sums``.
    """

    names: tuple[str, ...]
    measure: str
    times: dict[str, datetime | None]
    sums: pl.DataFrame
    rows: dict[tuple[Any, ...], int]

    @classmethod
    def of(
        cls, dataset: DatasetReader, by: Sequence[str], measure: str | None, **more: Any
    ) -> Self:
        """Compute from a dataset; more: settings of ``gpfs.growth``."""
        names = tuple(dict.fromkeys(by))
        rows = dataset.view("gpfs.growth", by=names, **more).collect()
        timed = rows.filter(pl.col("scan_time").is_not_null())
        timed = rows if timed.is_empty() and rows["scan"].n_unique() == 1 else timed
        if measure is None:
            said = timed.group_by("scan").agg(pl.col("allocated_bytes").is_not_null().any())
            measure = "allocated" if said["allocated_bytes"].all() else "size"
        timed = timed.with_columns(bytes=pl.col(f"{measure}_bytes"))
        # ignore scans without bytes or groups
        known = [pl.col(name).is_not_null().any().over("scan") for name in ("bytes", *names)]
        timed = timed.filter(known).sort("scan_time", descending=True, maintain_order=True)
        times = dict(reversed(timed.select("scan", "scan_time").rows()))
        # without names, all rows are of one group
        grouped = timed.group_by(names or pl.lit(0), maintain_order=True)
        sums = grouped.agg(pl.col("scan", "bytes", "inodes"))
        keys = sums.drop("scan", "bytes", "inodes").rows()
        rows_of = {key[: len(names)]: number for number, key in enumerate(keys)}
        return cls(names, measure, times, sums.select("scan", "bytes", "inodes"), rows_of)

    def groups(self) -> list[tuple[Any, ...]]:
        """Return the groups of the last scan, the largest first."""
        if not self.times:
            return []
        last = list(self.times)[-1]
        firsts = self.sums.select(pl.all().list.first()).rows()
        found = zip(self.rows, firsts, strict=True)
        sizes = {group: size for group, (scan, size, _) in found if scan == last}
        return sorted(sizes, key=lambda group: (sizes[group] is None, -(sizes[group] or 0)))

    def trend(self, group: tuple[Any, ...], limit: int | None) -> dict[str, Any]:
        """Compute the columns ``TREND`` and ``outlook``, and those that begin with ``used``."""
        known: dict[str, Any] = {}
        if (row := self.rows.get(group)) is not None:
            scans, *sums = self.sums.row(row)
            known = dict(zip(scans, zip(*sums, strict=True), strict=True))
        # a scan that lacks the group has 0 bytes and objects of it
        held = [(time, *known.get(scan, (0, 0))) for scan, time in self.times.items()]
        points = [(time, size) for time, size, _ in held if size is not None]
        used, inodes = (held[-1][1], held[-1][2]) if held else (None, None)
        labels = [label_of(time) for time, _ in points if time is not None]
        said: dict[str, Any] = dict.fromkeys(column.name for column in TREND)
        said |= {"used_bytes": used, "used_inodes": inodes, "scans": len(points) or None}
        said["used_share"] = used / limit if limit and used is not None else None
        if labels:
            said |= {"first_scan": labels[0], "last_scan": labels[-1]}
        last = points[-1][0] if points else None
        placed = [((t - last).total_seconds() / 86_400, size) for t, size in points if t and last]
        line = Line.through(placed)
        if line is not None and last is not None:
            said["bytes_per_day"] = line.slope
            said["least_per_day"], said["most_per_day"] = line.slopes or (None, None)
            if limit is not None and used is not None and used < limit:
                first, late = line.between(limit)
                first = None if first is None else max(0.0, first)
                for name, days in zip(_FULL, (line.reaches(limit), first, late), strict=True):
                    if days is not None and days < _CENTURY:
                        said[name] = last + timedelta(days=max(0.0, days))
        return {**said, "measure": self.measure, "outlook": outlook(said, limit, last)}


def outlook(said: dict[str, Any], limit: int | None, last: datetime | None) -> str:
    """Describe in words when the trend reaches a limit."""
    used, rate = said["used_bytes"], said["bytes_per_day"]
    if used is None:
        return "unknown: the list does not record it"
    if limit is not None and used >= limit:
        return "full"
    if rate is None:
        return "no trend: harvest two scans with a time"
    change = f"{'grows' if rate > 0 else 'shrinks'} by {bytes_in_words(abs(rate))} a day"
    if rate == 0:
        change = "does not change"
    if limit is None:
        low, high = said["least_per_day"], said["most_per_day"]
        slopes = "" if low is None else f" ({bytes_in_words(low)} to {bytes_in_words(high)})"
        return f"{change}{slopes}"
    full, first, late = (_days(said[name], last) for name in _FULL)
    if full is None:
        end = f"; full in {first} at the earliest" if first else ""
        end = "; may be full any day" if first == "0 days" else end
        return (f"{change}: not full within a century" if rate > 0 else change) + end
    if said["earliest_time"] is None and said["least_per_day"] is None:
        return f"full in about {full}; two scans give no interval"
    return f"full in about {full} ({first or '?'} to {late or 'never'})"


def _days(time: datetime | None, last: datetime | None) -> str | None:
    if time is None or last is None:
        return None
    return count_in_words(round((time - last) / timedelta(days=1)), "day")


_T95: Final = (
    *(6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812),
    *(1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725),
)
"""Quantiles 0.95 of Student's t for 1, 2, ... degrees of freedom."""


@attrs.frozen
class Line:
    """A fitted line.

    n: number of points; mean_x, mean_y: their means; spread: residual standard deviation.
    sxx: sum of squared distances from ``mean_x``.
    """

    n: int
    mean_x: float
    mean_y: float
    slope: float
    spread: float
    sxx: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Self | None:
        """Fit a line through points; None for fewer than two different x."""
        n = len(points)
        if len({x for x, _ in points}) < 2:
            return None
        mean_x, mean_y = (math.fsum(values) / n for values in zip(*points, strict=True))
        sxx = math.fsum((x - mean_x) ** 2 for x, _ in points)
        slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / sxx
        rest = math.fsum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
        return cls(n, mean_x, mean_y, slope, math.sqrt(rest / (n - 2)) if n > 2 else 0.0, sxx)

    @property
    def slopes(self) -> tuple[float, float] | None:
        """Interval of the slope; None for fewer than three points."""
        if self.n < 3:
            return None
        off = self._width / math.sqrt(self.sxx)
        return self.slope - off, self.slope + off

    def reaches(self, level: float) -> float | None:
        """Return where the line reaches a higher level; None if it does not rise."""
        return self.mean_x + (level - self.mean_y) / self.slope if self.slope > 0 else None

    def between(self, level: float) -> tuple[float | None, float | None]:
        """Return the earliest and the latest x at which a new point may reach a level.

        The earliest is None if no rise leads to the level; the latest is None if there may be no
        rise. Both are None for fewer than three points.
        """
        if self.n < 3:
            return None, None
        up, wide = level - self.mean_y, self._width
        a = self.slope**2 - wide**2 / self.sxx
        c = up**2 - wide**2 * (1 + 1 / self.n)
        b = up * self.slope
        if a > 0 and self.slope <= 0:
            return None, None
        if a == 0:
            return (self.mean_x + c / (2 * b) if b > 0 else None), None
        root = math.sqrt(max(0.0, b**2 - a * c))
        low, high = sorted(((b - root) / a, (b + root) / a))
        if a < 0:
            return self.mean_x + (high if c > 0 else 0.0), None
        return self.mean_x + low, self.mean_x + high

    @property
    def _width(self) -> float:
        degrees = self.n - 2
        t = _T95[degrees - 1] if degrees <= len(_T95) else 1.645 + 1.6 / degrees
        return t * self.spread


_BY: Final = {"user": "uid", "group": "gid", "fileset": "fileset"}


def quotas(
    dataset: DatasetReader,
    quotas: Path | None = None,
    measure: str | None = None,
    passwd: Path | None = None,
    group: Path | None = None,
) -> pl.LazyFrame:
    """Build the view ``gpfs.quotas``, the fullest first."""
    given = None if quotas is None else read_quotas(quotas)
    numbers = {
        kind: {name: number for number, name in reversed(read_names(path, file).items())}
        for kind, path, file in (("user", passwd, "passwd"), ("group", group, "group"))
    }
    schema = declared_types(QUOTAS)

    def compute() -> pl.DataFrame:
        if given is None:
            raise UsageError("no file of quotas", remedy="set quotas=FILE")
        known: dict[tuple[str, ...], History] = {}
        rows = []
        for quota in given:
            by = (_BY[quota.kind], *(("fileset",) if quota.fileset else ()))
            if by not in known:
                known[by] = History.of(dataset, by, measure)
            whose: Any = quota.name
            if quota.kind != "fileset":
                whose = numbers[quota.kind].get(whose, quota.number)
            rows.append(attrs.asdict(quota) | _used(known[by], quota, whose))
        return pl.DataFrame(rows, schema).sort(
            "used_share", "kind", "name", descending=[True, False, False], nulls_last=True
        )

    return deferred(compute, schema)


def _used(history: History, quota: Quota, whose: Any) -> dict[str, Any]:
    nothing, kind, soft = {"measure": history.measure}, quota.kind, quota.soft_bytes
    if whose is None:
        return nothing | {"outlook": f"unknown: the number of the {kind} is not given"}
    if not history.times:
        groups = "s, ".join((kind, *history.names[1:]))
        return nothing | {"outlook": f"unknown: no scan records {groups}s and their bytes"}
    group = (whose, quota.fileset) if quota.fileset else (whose,)
    said = history.trend(group, quota.hard_bytes or soft)
    if said["outlook"] != "full" and soft and (said["used_bytes"] or 0) >= soft:
        said["outlook"] = f"over the soft limit; {said['outlook']}"
    if (most := quota.hard_inodes) and (said["used_inodes"] or 0) >= most:
        said["outlook"] = f"no file can be added; {said['outlook']}"
    return said


def forecast(
    dataset: DatasetReader,
    by: Sequence[str],
    capacity: str | None = None,
    measure: str | None = None,
    **more: Any,
) -> pl.LazyFrame:
    """Build the view ``gpfs.forecast``: one row, or one for each group of the last scan."""
    limit = None if capacity is None else parse_size(capacity)
    schema = grouped_types(FORECAST, tuple(dict.fromkeys(by)))

    def compute() -> pl.DataFrame:
        history = History.of(dataset, by, measure, **more)
        rows = [
            dict(zip(history.names, group, strict=True), capacity_bytes=limit)
            | history.trend(group, limit)
            for group in history.groups()
        ]
        return pl.DataFrame(rows, schema)

    return deferred(compute, schema)
