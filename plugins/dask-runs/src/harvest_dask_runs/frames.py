"""What all views of Dask runs stand on: rows by run, and the host in an address.

Several runs may lie in one dataset.  The files of a run lie in one directory, so the directory
of ``origin`` names the run; task keys, worker addresses and client ids are only compared
within a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import polars as pl

from harvest import DatasetReader

from .runs import DASK_TYPES, named_run, run_of

__all__ = [
    "DASK_TYPES",
    "Frames",
    "complete_sum",
    "count_if_known",
    "fraction",
    "host_of",
    "known_sum",
    "load",
    "microseconds",
    "moved_bytes",
    "run_of",
    "sentence",
    "sum_or_none",
]

Frames: TypeAlias = Mapping[str, pl.LazyFrame]
"""Rows by name of their record type, each frame with the column ``run``."""

JOB_TYPES = ("run.node", "run.directive")


def load(
    dataset: DatasetReader, names: tuple[str, ...] = DASK_TYPES, *, run: str | None = None
) -> Frames:
    """Lazy frames of the named record types with the column ``run``.

    run: keeps this run only: its directory, or the directory's name.

    Raises UsageError where the dataset holds no such run, or several.
    """
    wanted = named_run(dataset, run)
    found = {}
    for name in names:
        frame = dataset[name].with_columns(run=run_of(pl.col("origin")))
        found[name] = frame if wanted is None else frame.filter(pl.col("run") == wanted)
    return found


def host_of(address: pl.Expr) -> pl.Expr:
    """The host in ``tcp://10.0.0.1:8786`` or ``tls://[fe80::1]:8786``; null in a plain name."""
    parts = address.str.extract_groups(r"^[A-Za-z][A-Za-z0-9+.-]*://(?:\[([^\]]*)\]|([^:/\[]+))")
    return pl.coalesce(parts.struct.field("1"), parts.struct.field("2"))


def sentence(*parts: str | pl.Expr) -> pl.Expr:
    """Texts and columns joined to one text; null where a column is."""
    # pl.format would read better, but polars 1.35 panics in it on some filtered frames
    return pl.concat_str(pl.lit(part) if isinstance(part, str) else part for part in parts)


def microseconds(span: pl.Expr) -> pl.Expr:
    """Seconds of a sum of whole microseconds, so that sums do not depend on their order."""
    # a division by a constant may be done as a multiplication: the nearest float is six decimals
    return (span / 1_000_000).round(6)


def known_sum(values: str | pl.Expr) -> pl.Expr:
    """The sum of what is known; null where nothing is."""
    found = _column(values)
    return pl.when(found.is_not_null().any()).then(found.sum())


def sum_or_none(values: pl.Expr) -> pl.Expr:
    """The sum of what is known, 0 of no values; null where there are some and none is known."""
    return pl.when((values.len() == 0) | values.is_not_null().any()).then(values.sum())


def fraction(part: str | pl.Expr, whole: str | pl.Expr) -> pl.Expr:
    """What share of the whole a part is; null where the whole is 0 or not known."""
    return pl.when(_column(whole) > 0).then(_column(part) / _column(whole))


def _column(named: str | pl.Expr) -> pl.Expr:
    return pl.col(named) if isinstance(named, str) else named


def complete_sum(values: pl.Expr) -> pl.Expr:
    """The sum; null where one of the values is not known, or there are none."""
    return pl.when(values.len() > 0, values.is_not_null().all()).then(values.sum())


def count_if_known(flag: pl.Expr) -> pl.Expr:
    """How many rows have a flag; null where of none it is known."""
    return pl.when(flag.is_not_null().any()).then(flag.sum().cast(pl.Int64))


def moved_bytes() -> pl.Expr:
    """Bytes of a ``dask.transfer`` row: its total, or the sum of its keys where that is empty."""
    shares = pl.col("keys").list.eval(pl.element().struct.field("size_bytes"))
    known = shares.list.eval(pl.element().is_not_null()).list.all()
    return pl.coalesce(pl.col("total_bytes"), pl.when(known).then(shares.list.sum()))
