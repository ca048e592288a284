"""Views of sums: by owner, directory, pool, scan, age, size and part."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import deferred, fitted, fraction

from ..aggregation.groupings import GROUPINGS, AgeBins, Setting, SizeBins, parse_age, parse_size
from ..aggregation.listing import Listing, common_root, list_scans
from ..aggregation.scans import label_of
from ..measures import DIRECTORY, HEAT_UNIT
from . import common
from . import sums as declared
from .common import INT, SUMS, TEXT, asked, exclusive, largest_first, listing, of_scan, part_sum


def usage(
    dataset: DatasetReader, by: Sequence[str], metrics: Sequence[str], scan: str, **where: Any
) -> pl.LazyFrame:
    """Build the view ``gpfs.usage``."""
    names, measured = exclusive(by), tuple(dict.fromkeys(metrics))
    found, setting = asked(dataset, scan, names, **where)

    def compute() -> pl.DataFrame:
        table = found.aggregate(names, measured, setting)
        return largest_first(table, *(n for n in ("size_bytes", "inodes") if n in measured))

    types = common.declared_types(declared.USAGE)
    return of_scan(found, {name: types[name] for name in (*names, *measured)}, compute)


def directories(
    dataset: DatasetReader, depth: int, metrics: Sequence[str], scan: str, root: str | None = None
) -> pl.LazyFrame:
    """Build the view ``gpfs.directories``, sorted by path."""
    by, measured = [DIRECTORY], tuple(dict.fromkeys(metrics))
    found, setting = asked(dataset, scan, by, root=root, depth=depth)
    types = common.declared_types(declared.DIRECTORIES)
    shown = {name: types[name] for name in (DIRECTORY, "depth", *measured)}
    return of_scan(found, shown, lambda: found.aggregate(by, measured, setting))


def extensions(dataset: DatasetReader, scan: str) -> pl.LazyFrame:
    """Build the view ``gpfs.extensions``, sorted by bytes, largest first."""
    found = common.listing(dataset, scan)

    def compute() -> pl.DataFrame:
        return largest_first(found.aggregate(["extension"], SUMS, directories=False), "size_bytes")

    return of_scan(found, common.declared_types(declared.EXTENSIONS), compute)


_WARMTH: Final = ("inodes", "size_bytes", "with_heat", "warm", "warm_bytes")


def heat(dataset: DatasetReader, by: Sequence[str], scan: str) -> pl.LazyFrame:
    """Build the view ``gpfs.heat``, without directories."""
    names = exclusive(by)
    found, setting = asked(dataset, scan, names)

    def compute() -> pl.DataFrame:
        metrics = (*_WARMTH, "heat_units", "hottest")
        table = found.aggregate(names, metrics, setting, directories=False)
        mean = fraction("heat_units", pl.col("with_heat") * float(HEAT_UNIT))
        return largest_first(table.with_columns(mean_heat=mean), "warm_bytes")

    return of_scan(found, common.grouped_types(declared.HEAT, names), compute)


_UNTIMED: Final = "(time unknown)"
_SUMS: Final = ("inodes", "files", "directories", "size_bytes", "allocated_bytes")
_CHANGES: Final = {"inodes": "inodes_change", "size_bytes": "size_change_bytes"}


def growth(
    dataset: DatasetReader, by: Sequence[str], root: str | None = None, **more: Any
) -> pl.LazyFrame:
    """Build the view ``gpfs.growth``.

    A list without a time cannot be ordered and has no changes. A group that disappears gets a row
    of zeros. If only one of two scans records groups, changes between them are unknown.
    """
    names, setting = exclusive(by), common.named(**more)
    schema = {"scan": TEXT, **common.grouped_types(declared.GROWTH, names)}

    def compute() -> pl.DataFrame:
        rows = common.rows_of(dataset)
        # use one root for all scans, or a directory would have different names in them
        whole = root if root is not None or "top" not in names else common_root(rows)
        tables, before, since = [pl.DataFrame(schema=schema)], None, "(first scan)"
        for scan in list_scans(rows):
            sums = Listing(rows.of(scan), scan, whole).aggregate(names, _SUMS, setting)
            table = _changed(sums, before, names).with_columns(
                scan=pl.lit(scan.label),
                scan_time=pl.lit(scan.time, common.TIME),
                since=pl.lit(since if scan.time is not None else _UNTIMED),
            )
            tables.insert(1, fitted(table, schema))
            if scan.time is not None:
                before, since = sums, scan.label
        return pl.concat(tables)

    return deferred(compute, schema)


def _changed(
    table: pl.DataFrame, before: pl.DataFrame | None, names: tuple[str, ...]
) -> pl.DataFrame:
    """Add changes to the groups of a scan; groups that only the previous scan has become zeros."""
    # changes are known only if both scans record the groups, or neither does
    said = [] if before is None else [[t[n].count() > 0 for n in names] for t in (table, before)]
    if before is None or said[0] != said[1]:
        return table.with_columns(pl.lit(None, pl.Int64).alias(n) for n in _CHANGES.values())
    if names:
        held = before.filter(pl.col("inodes") > 0)
        ended = held.join(table, on=names, how="anti", nulls_equal=True)
        zeros = ended.with_columns(pl.lit(0, ended.schema[name]).alias(name) for name in _SUMS)
        table = pl.concat([table, zeros]).sort(names, nulls_last=True)
    columns = (pl.col(column).alias(name) for column, name in _CHANGES.items())
    old = before.select(*names, *columns, there=pl.lit(value=True))
    if names:
        table = table.join(old, on=names, how="left", nulls_equal=True, maintain_order="left")
    else:
        table = table.join(old, how="cross")
    return table.with_columns(
        (pl.col(column) - pl.when("there").then(name).otherwise(0)).alias(name)
        for column, name in _CHANGES.items()
    )


_ALL: Final = (
    *("data_inodes", "data_bytes", "cold_known_inodes", "cold_known_bytes"),
    *("small_known_inodes", "future_known_inodes"),
)
"""Sums over all owners."""


def owners(
    dataset: DatasetReader,
    cold: str,
    below: str,
    scan: str,
    now: str | None = None,
    passwd: Path | None = None,
    to: str | None = None,
) -> pl.LazyFrame:
    """Build the view ``gpfs.owners``, the largest first."""
    limits: dict[str, Any] = {"cold_days": parse_age(cold), "small_below": parse_size(below)}
    found, setting = asked(dataset, scan if to is None else to, now=now, passwd=passwd, **limits)
    reference = found.given_now or found.scan.time
    flags = ("small",) if reference is None else ("small", "cold", "future")

    def compute() -> pl.DataFrame:
        table = found.aggregate(["uid", "kind", *flags], [*SUMS, "files", "unknown_size"], setting)
        return _totals(_per_owner(table), setting, named=passwd is not None)

    said = None if reference is None else label_of(reference)
    return of_scan(found, common.declared_types(declared.OWNERS), compute, now=said)


def _per_owner(table: pl.DataFrame) -> pl.DataFrame:
    data = pl.col("kind") != "directory"
    parts: dict[str, pl.Expr] = {}
    for flag in ("cold", "small", "future"):
        # objects for which the flag is known: denominators of its shares
        known_names = f"{flag}_known_inodes", f"{flag}_known_bytes"
        if flag not in table.columns:
            names = (*(f"{flag}_{name}" for name in SUMS), *known_names)
            parts |= dict.fromkeys(names, pl.lit(None, INT))
            continue
        parts |= {f"{flag}_{name}": part_sum(name, pl.col(flag) & data) for name in SUMS}
        known = pl.col(flag).is_not_null() & data
        inodes = pl.col("inodes") if flag == "future" else pl.col("inodes") - pl.col("unknown_size")
        parts |= {
            name: pl.when(part_sum(inodes, known) > 0).then(part_sum(value, known))
            for name, value in zip(known_names, (inodes, pl.col("size_bytes")), strict=True)
        }
    return table.group_by("uid", maintain_order=True).agg(
        *(part_sum(name).alias(name) for name in (*SUMS, "files")),
        part_sum("inodes", data).alias("data_inodes"),
        part_sum("size_bytes", data).alias("data_bytes"),
        *(value.alias(name) for name, value in parts.items()),
    )


def _totals(table: pl.DataFrame, setting: Setting, *, named: bool) -> pl.DataFrame:
    uid = pl.col("uid")
    # for objects without an owner, membership in the passwd file is unknown
    unknown = ~uid.is_in(list(setting.user_names)) if named else pl.lit(None, pl.Boolean)
    table = table.with_columns(
        *(_of_all(pl.col(name)).alias(f"all_{name}") for name in _ALL),
        user=uid,
        unknown=unknown,
        all_bytes=part_sum("size_bytes"),
        cold_days=pl.lit(setting.cold_days, INT),
        small_below=pl.lit(setting.small_below, INT),
    ).with_columns(
        user=GROUPINGS["user"].label(setting),
        share=fraction("size_bytes", "all_bytes"),
        cold_share=fraction("cold_size_bytes", "cold_known_bytes"),
        small_share=fraction("small_inodes", "small_known_inodes"),
    )
    return table.sort("size_bytes", "uid", descending=[True, False], nulls_last=True)


def _of_all(values: pl.Expr) -> pl.Expr:
    """Sum values; null if some are unknown and the others are 0."""
    return pl.when((values.null_count() == 0) | (values.sum() > 0)).then(values.sum())


_KNOWN: Final = ("inodes", "size_bytes")
"""Sums of the objects for which membership in the part is known."""


def cold(
    dataset: DatasetReader, by: Sequence[str], age: str, scan: str, **where: Any
) -> pl.LazyFrame:
    """Build the view ``gpfs.cold``."""
    names = exclusive(by, "cold")
    found, setting = asked(dataset, scan, cold_days=parse_age(age), **where)
    types = common.grouped_types(declared.COLD, names)
    compute = partial(_of_part, found, setting, names, "cold", "size_bytes")
    return of_scan(found, types, compute, now=label_of(found.now))


def small(
    dataset: DatasetReader, by: Sequence[str], below: str, scan: str, **where: Any
) -> pl.LazyFrame:
    """Build the view ``gpfs.small``."""
    names = exclusive(by, "small")
    found, setting = asked(dataset, scan, names, small_below=parse_size(below), **where)
    types = common.grouped_types(declared.SMALL, names)
    return of_scan(found, types, partial(_of_part, found, setting, names, "small", "inodes"))


def _of_part(
    found: Listing, setting: Setting, names: Sequence[str], part: str, sum_of: str
) -> pl.DataFrame:
    """Sum a part by group, with its share of known data, the largest first."""
    table = found.aggregate([*names, part], SUMS, setting, directories=False)
    share = fraction(f"{part}_{sum_of}", f"known_{sum_of}").alias(f"{part}_share")
    return largest_first(_flagged(table, part, names), f"{part}_{sum_of}").with_columns(share)


_AGES: Final = ("access_age", "modify_age")


def policy(
    dataset: DatasetReader, policy: str, by: Sequence[str], scan: str, **where: Any
) -> pl.LazyFrame:
    """Build the view ``gpfs.policy``; data older by both times are cold in ``gpfs.cold``."""
    names = exclusive(by, *_AGES)
    bins = AgeBins.parse(policy)
    found, setting = asked(dataset, scan, ages=bins, **where)
    # replace age classes by the days that all their objects exceed; -1 for the future
    lowest = [-1 if low is None else low for low, _ in bins.bounds]

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, *_AGES], SUMS, setting, directories=False).with_columns(
            pl.col(name).replace_strict(bins.labels, lowest, default=None, return_dtype=INT)
            for name in _AGES
        )
        tables = []
        for days in bins.edges:
            # null if the age class is unknown
            access, modify = (pl.col(name) >= days for name in _AGES)
            tests = {"access": access, "modify": modify, "both": access & modify}
            for time, freed in tests.items():
                sums = _flagged(table.with_columns(freed=freed), "freed", names)
                sums = largest_first(sums, "freed_size_bytes")
                tables.append(sums.with_columns(days=pl.lit(days, INT), time=pl.lit(time)))
        return pl.concat(tables).with_columns(
            freed_share=fraction("freed_size_bytes", "known_size_bytes")
        )

    types = common.grouped_types(declared.POLICY, names)
    return of_scan(found, types, compute, now=label_of(found.now))


def _flagged(table: pl.DataFrame, flag: str, by: Sequence[str]) -> pl.DataFrame:
    """Sum groups by ``by``, and in each group the objects with a flag.

    ``known_inodes`` and ``known_size_bytes`` include objects for which the flag is known; they are
    the denominators of shares. ``untimed``: number of objects for which the flag is unknown.
    table: an aggregation of ``SUMS`` by ``by`` and ``flag``.
    """
    known = pl.col(flag).is_not_null()
    sums = (
        *(part_sum(name).alias(name) for name in SUMS),
        *(part_sum(name, pl.col(flag)).alias(f"{flag}_{name}") for name in SUMS),
        *(pl.when(known.any()).then(part_sum(n, known)).alias(f"known_{n}") for n in _KNOWN),
        pl.col("inodes").filter(~known).sum().alias("untimed"),
    )
    return table.group_by(by, maintain_order=True).agg(sums) if by else table.select(sums)


def ages(dataset: DatasetReader, ages: str, scan: str, now: str | None = None) -> pl.LazyFrame:
    """Build the view ``gpfs.ages``; a class without objects also has a row."""
    bins = AgeBins.parse(ages)
    classes = _table(bins, "age", "above_days", "up_to_days")
    found = listing(dataset, scan, now=now)

    def compute() -> pl.DataFrame:
        setting, times = Setting(ages=bins), ("access", "modify")
        tables = (_classed(found, classes, f"{time}_age", setting) for time in times)
        return pl.concat(t.with_columns(time=pl.lit(n)) for t, n in zip(tables, times, strict=True))

    types = common.declared_types(declared.AGES)
    return of_scan(found, types, compute, now=label_of(found.now))


def sizes(dataset: DatasetReader, sizes: str, scan: str) -> pl.LazyFrame:
    """Build the view ``gpfs.sizes``."""
    bins = SizeBins.parse(sizes)
    classes = _table(bins, "size", "above_bytes", "up_to_bytes")
    found = listing(dataset, scan)
    compute = partial(_classed, found, classes, "size_bin", Setting(sizes=bins))
    return of_scan(found, common.declared_types(declared.SIZES), compute)


def _table(bins: AgeBins | SizeBins, label: str, above: str, up_to: str) -> pl.DataFrame:
    rows = [(name, *bounds) for name, bounds in zip(bins.labels, bins.bounds, strict=True)]
    return pl.DataFrame(rows, schema={label: TEXT, above: INT, up_to: INT}, orient="row")


def _classed(
    found: Listing, classes: pl.DataFrame, grouping: str, setting: Setting
) -> pl.DataFrame:
    """Sum all classes in order, and last the objects without a class."""
    label = classes.columns[0]
    table = found.aggregate([grouping], SUMS, setting, directories=False)
    table = table.rename({grouping: label})
    # classes are known to be empty only if some object has a class
    some = table.is_empty() or table[label].null_count() < table.height
    empty = pl.col("inodes").is_null() & some
    every = classes.join(table, on=label, how="left", maintain_order="left").with_columns(
        pl.when(empty).then(0).otherwise(name).alias(name) for name in SUMS
    )
    return pl.concat([every, table.filter(pl.col(label).is_null())], how="diagonal")
