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
from harvest_toolkit.frames import safe_sum, whole_nanoseconds

from .record_names import DASK_TYPES
from .runs import named_run, run_of

Frames: TypeAlias = Mapping[str, pl.LazyFrame]
"""Rows by name of their record type, each frame with the column ``run``."""


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


def exact_sum(seconds: pl.Expr) -> pl.Expr:
    """A sum of durations by whole nanoseconds: it does not depend on their order.

    What no duration can be, as one below 0, is left out.
    """
    whole = whole_nanoseconds(seconds)
    return (safe_sum(pl.when(whole >= 0).then(whole)) / 1e9).round(9)


def moved_bytes() -> pl.Expr:
    """Bytes of a ``dask.transfer`` row: its total, or the sum of its keys where that is empty."""
    shares = pl.col("keys").list.eval(pl.element().struct.field("size_bytes"))
    known = shares.list.eval(pl.element().is_not_null()).list.all()
    return pl.coalesce(pl.col("total_bytes"), pl.when(known).then(shares.list.sum()))
