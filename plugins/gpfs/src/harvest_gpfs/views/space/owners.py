"""The view ``gpfs.owners``: a row per owner with what the rules on a scan look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import types_of
from harvest_toolkit.frames import fraction, sum_or_none

from ...aggregation.bins import parse_age, parse_size
from ...aggregation.groupings import GROUPINGS, Setting
from ...aggregation.scans import label_of
from ..common import INT, SUMS, asked, of_scan, part_sum
from . import OWNER_COLUMNS

__all__ = ["owners"]

_KNOWN: Final = (
    *("cold_known_inodes", "cold_known_bytes", "small_known_inodes", "future_known_inodes"),
)
_ALL: Final = ("data_inodes", "data_bytes", *_KNOWN)
"""What is summed up over all owners, too."""


def owners(
    dataset: DatasetReader,
    cold: str,
    below: str,
    scan: str,
    now: str | None = None,
    passwd: Path | None = None,
    to: str | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.owners``: what each owner has, the one of most bytes first.

    ``unknown``: whether the passwd file given lacks the owner; null where none is given.
    ``cold_``, ``small_``, ``future_`` and ``data_`` sums leave directories out, and objects of
    unknown kind.  What is cold or in the future is null where nothing says when the scan was made.
    ``known`` sums are of what is known to be cold or not, and so on: what shares are of.
    to: the scan, as ``gpfs.change`` names the later one.
    """
    limits: dict[str, Any] = {"cold_days": parse_age(cold), "small_below": parse_size(below)}
    found, setting = asked(dataset, scan if to is None else to, now=now, passwd=passwd, **limits)
    reference = found.given_now or found.scan.time
    flags = ("small",) if reference is None else ("small", "cold", "future")

    def compute() -> pl.DataFrame:
        table = found.aggregate(["uid", "kind", *flags], [*SUMS, "files", "unknown_size"], setting)
        return _totals(_per_owner(table), setting, named_ones=passwd is not None)

    said = None if reference is None else label_of(reference)
    return of_scan(found, types_of(OWNER_COLUMNS), compute, now=said)


def _per_owner(table: pl.DataFrame) -> pl.DataFrame:
    """Sums by owner, from sums by owner, kind and flags."""
    data = pl.col("kind") != "directory"
    parts: dict[str, pl.Expr] = {}
    for flag in ("cold", "small", "future"):
        # what is known to have a flag or not: what its shares are of
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
        *(sum_or_none(name).alias(name) for name in (*SUMS, "files")),
        part_sum("inodes", data).alias("data_inodes"),
        part_sum("size_bytes", data).alias("data_bytes"),
        *(value.alias(name) for name, value in parts.items()),
    )


def _totals(table: pl.DataFrame, setting: Setting, *, named_ones: bool) -> pl.DataFrame:
    """Owners with their names and their shares of the whole, the largest first."""
    uid = pl.col("uid")
    # of objects without an owner nobody knows whether the passwd file has him
    unknown = ~uid.is_in(list(setting.user_names)) if named_ones else pl.lit(None, pl.Boolean)
    return (
        table.with_columns(
            uid.alias("user"),
            unknown.alias("unknown"),
            sum_or_none("size_bytes").alias("all_bytes"),
            *(_of_all(pl.col(name)).alias(f"all_{name}") for name in _ALL),
        )
        .with_columns(
            GROUPINGS["user"].label(setting).alias("user"),
            share=fraction("size_bytes", "all_bytes"),
            cold_share=fraction("cold_size_bytes", "cold_known_bytes"),
            small_share=fraction("small_inodes", "small_known_inodes"),
        )
        .sort("size_bytes", "uid", descending=[True, False], nulls_last=True)
    )


def _of_all(values: pl.Expr) -> pl.Expr:
    """The sum; null where some have what is not known, and the others have none."""
    return pl.when((values.null_count() == 0) | (values.sum() > 0)).then(values.sum())
