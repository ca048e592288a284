"""The view ``gpfs.change``: who and what grew between any two scans, and by what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.deferred import deferred
from harvest_toolkit.kept import kept

from ...aggregation.bins import parse_age
from ...aggregation.groupings import Setting
from ...aggregation.listing import list_scans
from ...aggregation.scans import Scan
from ..common import TEXT, named, rows_of, types_of
from . import GROUPS
from .churn import changes_of, ends
from .pairs import SUMS, summed

__all__ = ["change", "span"]

_GROWTH: Final = types_of(
    *("state", "old_inodes", "new_inodes", "inodes_change", "old_bytes", "new_bytes"),
    *("growth_bytes", "growth_percent"),
    *SUMS,
    *("old_scan", "new_scan"),
) | {"state": TEXT, "growth_percent": pl.Float64(), "old_scan": TEXT, "new_scan": TEXT}


def change(
    dataset: DatasetReader,
    by: Sequence[str],
    top_depth: int,
    to: str | None = None,
    over: str | None = None,
    root: str | None = None,
    passwd: Path | None = None,
    group: Path | None = None,
    **more: str,
) -> pl.LazyFrame:
    """The view ``gpfs.change``: groups and what became of their objects, the most grown first.

    from (a word of Python, hence in ``more``), to: as a scan is named; the earliest and the latest
    unless given.  over: instead of from, the scan nearest to so long before the later one.
    Directories do not count.  No rows where none is named and not two say when they were made.
    """
    names = tuple(dict.fromkeys(by))
    setting = named(passwd, group, top_depth=top_depth)
    schema = {**dict.fromkeys(names, TEXT), **_GROWTH}

    found = list_scans(rows_of(dataset))
    timed = [scan for scan in found if scan.time is not None]
    if to is None and over is None and not more and len(timed) < 2:
        return pl.LazyFrame(schema=schema)
    before, after = span(found, more.get("from"), to, over)

    def compute() -> pl.DataFrame:
        found, within = _flows(dataset, before, after, root, setting)
        table = _grown(summed(found, names, within), names)
        return _in_both(table, found, names).with_columns(
            old_scan=pl.lit(before.label), new_scan=pl.lit(after.label)
        )

    return deferred(compute, schema)


def span(
    scans: Sequence[Scan], since: str | None, to: str | None, over: str | None
) -> tuple[Scan, Scan]:
    """The scans at the beginning and the end of what is looked at.

    Raises UsageError where wishes contradict each other, or name less than two scans.
    """
    if since is not None and over is not None:
        raise UsageError(
            f"from={since!r} and over={over!r} both say where to begin", remedy="give one of them"
        )
    earlier, after = ends(scans, since, to, "from=, to=")
    time = after.time
    if over is None or time is None:
        return earlier[0], after
    wanted = time - timedelta(days=parse_age(over))
    # of two that are equally near the earlier one
    return min(earlier, key=lambda scan: abs((scan.time or time) - wanted)), after


def _flows(
    dataset: DatasetReader, before: Scan, after: Scan, root: str | None, setting: Setting
) -> tuple[pl.DataFrame, Setting]:
    """What ``summed`` takes.  Two scans are compared once, whatever is asked about them."""
    rows, plain = rows_of(dataset), Setting(top_depth=setting.top_depth)
    found, within = kept(
        dataset,
        ("gpfs.change", before.label, after.label, root, setting.top_depth),
        lambda: changes_of((rows, before), (rows, after), GROUPS, root, plain),
    )
    people = attrs.evolve(within, user_names=setting.user_names, group_names=setting.group_names)
    return found, people


def _in_both(table: pl.DataFrame, flows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Only what one scan says, where the other says of no object which group it is in."""
    for side, there, suffix in (("old", "was", ""), ("new", "is", "_new")):
        other = "new" if side == "old" else "old"
        objects = flows.filter(there)
        if objects.is_empty() or all(objects[f"{name}{suffix}"].count() for name in names):
            continue
        if not all(flows[f"{name}{'' if suffix else '_new'}"].count() for name in names):
            continue  # neither says it: all objects are one group of both
        kept = (*names, f"{other}_inodes", f"{other}_bytes")
        table = table.filter(pl.col(f"{other}_inodes") > 0).with_columns(
            pl.lit(None, kind).alias(name)
            for name, kind in table.schema.items()
            if name not in kept
        )
    return table


def _grown(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The sums of groups with their growth, the most grown first."""
    old, new = pl.col("old_bytes"), pl.col("new_bytes")
    state = (
        pl.when(pl.col("old_inodes") == 0)
        .then(pl.lit("new"))
        .when(pl.col("new_inodes") == 0)
        .then(pl.lit("gone"))
        .otherwise(pl.lit("kept"))
    )
    growth = new - old
    table = table.with_columns(
        state=state,
        inodes_change=pl.col("new_inodes") - pl.col("old_inodes"),
        growth_bytes=growth,
        growth_percent=pl.when(old > 0).then(growth / old * 100),
    )
    down = [True, *[False] * len(names)]
    return table.sort("growth_bytes", *names, descending=down, nulls_last=True)
