"""The views ``gpfs.change`` and ``gpfs.churn``: growth and changes between two scans."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.choices import choices
from harvest_toolkit.frames import deferred, kept

from ..aggregation.groupings import Setting, parse_age
from ..aggregation.listing import Listing, common_root, list_scans
from ..aggregation.on_polars import PolarsRows
from ..aggregation.scans import ALL, LATEST, Scan, pick
from .common import declared_types, grouped_types, named, no_scan, rows_of
from .listed import CHANGE, CHURN, GROUPS
from .pairs import flows, summed


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
    """Build the view ``gpfs.change``, without rows unless two scans are named or have a time.

    more: may contain ``from``, which is a Python keyword.
    """
    names = tuple(dict.fromkeys(by))
    setting = named(passwd, group, top_depth=top_depth)
    schema = grouped_types(CHANGE, names)
    found = list_scans(rows_of(dataset))
    timed = [scan for scan in found if scan.time is not None]
    if to is None and over is None and not more and len(timed) < 2:
        return pl.LazyFrame(schema=schema)
    before, after = span(found, more.get("from"), to, over)

    def compute() -> pl.DataFrame:
        # compare two scans only once, for all queries
        rows, plain = rows_of(dataset), Setting(top_depth=top_depth)
        found, within = kept(
            dataset,
            ("gpfs.change", before.label, after.label, root, top_depth),
            lambda: changes_of((rows, before), (rows, after), GROUPS, root, plain),
        )
        within = attrs.evolve(
            within, user_names=setting.user_names, group_names=setting.group_names
        )
        table = _grown(summed(found, names, within), names)
        return _in_both(table, found, names).with_columns(
            old_scan=pl.lit(before.label), new_scan=pl.lit(after.label)
        )

    return deferred(compute, schema)


def span(
    scans: Sequence[Scan], since: str | None, to: str | None, over: str | None
) -> tuple[Scan, Scan]:
    """Choose the earlier and the later scan.

    Raises UsageError if settings contradict each other, or if there are fewer than two scans.
    """
    if since is not None and over is not None:
        said = f"from={since!r} and over={over!r} both set the earlier scan"
        raise UsageError(said, remedy="give one of them")
    earlier, after = ends(scans, since, to, "from=, to=")
    time = after.time
    if over is None or time is None:
        return earlier[0], after
    wanted = time - timedelta(days=parse_age(over))
    # of two equally near scans, take the earlier one
    return min(earlier, key=lambda scan: abs((scan.time or time) - wanted)), after


def _in_both(table: pl.DataFrame, flows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Set columns of changes to null if one of the scans does not record the groups."""
    for side, there, suffix in (("old", "was", ""), ("new", "is", "_new")):
        other = "new" if side == "old" else "old"
        objects = flows.filter(there)
        if objects.is_empty() or all(objects[f"{name}{suffix}"].count() for name in names):
            continue
        if not all(flows[f"{name}{'' if suffix else '_new'}"].count() for name in names):
            continue  # no scan records the groups: all objects are in one group
        kept = (*names, f"{other}_inodes", f"{other}_bytes")
        table = table.filter(pl.col(f"{other}_inodes") > 0).with_columns(
            pl.lit(None, kind).alias(name)
            for name, kind in table.schema.items()
            if name not in kept
        )
    return table


def _grown(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    old, growth = pl.col("old_bytes"), pl.col("new_bytes") - pl.col("old_bytes")
    is_new, is_gone = (pl.col(f"{side}_inodes") == 0 for side in ("old", "new"))
    state = pl.when(is_new).then(pl.lit("new")).when(is_gone).then(pl.lit("gone"))
    table = table.with_columns(
        state=state.otherwise(pl.lit("kept")),
        inodes_change=pl.col("new_inodes") - pl.col("old_inodes"),
        growth_bytes=growth,
        growth_percent=pl.when(old > 0).then(growth / old * 100),
    )
    down = [True, *[False] * len(names)]
    return table.sort("growth_bytes", *names, descending=down, nulls_last=True)


def churn(
    dataset: DatasetReader,
    top_depth: int,
    old: str | None = None,
    new: str | None = None,
    root: str | None = None,
) -> pl.LazyFrame:
    """Build the view ``gpfs.churn``."""
    schema = declared_types(CHURN)
    if "gpfs.file" not in dataset:
        return deferred(no_scan, schema)
    rows = rows_of(dataset)
    earlier, after = ends(list_scans(rows), old, new, "old=, new=")
    setting = named(top_depth=top_depth)
    return deferred(lambda: compare((rows, earlier[-1]), (rows, after), root, setting), schema)


def compare(
    old: tuple[PolarsRows, Scan], new: tuple[PolarsRows, Scan], root: str | None, setting: Setting
) -> pl.DataFrame:
    """Compare two scans; each is given with rows that contain it."""
    found, within = changes_of(old, new, ["top"], root, setting)
    return summed(found, ["top"], within).with_columns(
        old_scan=pl.lit(old[1].label), new_scan=pl.lit(new[1].label)
    )


def changes_of(
    old: tuple[PolarsRows, Scan],
    new: tuple[PolarsRows, Scan],
    keys: Sequence[str],
    root: str | None,
    setting: Setting,
) -> tuple[pl.DataFrame, Setting]:
    """Compute the flows between two scans (see ``pairs``) and the common setting."""
    (old_rows, before), (new_rows, after) = old, new
    earlier, later = old_rows.of(before), new_rows.of(after)
    common = root if root is not None else common_root(earlier, later)
    within = Listing(later, after, common).prepared(keys, setting)
    return flows(earlier, later, before.rows + after.rows, keys, within), within


def ends(
    scans: Sequence[Scan], first: str | None, last: str | None, words: str
) -> tuple[list[Scan], Scan]:
    """Choose the candidates for the earlier scan, oldest first, and the later scan.

    first, last: names of scans. Without a first, the candidates are all scans before the last;
        without a last, it is the latest. words: how to set both, for messages.
    Raises UsageError if there are not two scans.
    """
    if ALL in (first, last):
        raise UsageError("all is not one scan to compare with", remedy=f"name one: {words}")
    after = pick(scans, LATEST if last is None else last)
    if first is None:
        found = [s for s in scans if s.time and after.time and s.time < after.time]
    else:
        found = [pick(scans, first)]
    there = choices("there is", [scan.label for scan in scans])
    if after in found:
        said = f"this scan would be compared with itself; {there}"
        raise UsageError(said, where=after.label, remedy="name two different scans")
    if not found:
        said = f"no earlier scan to compare with; {there}"
        remedy = f"harvest another scan into the dataset, or name both: {words}"
        raise UsageError(said, where=after.label, remedy=remedy)
    return found, after
