"""Views of one scan: who and what uses the space, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from harvest import DatasetReader

from ...measures import DIRECTORY
from ..common import aggregated_schema, asked, exclusive, largest_first, of_scan

__all__ = ["directories", "usage"]


def usage(
    dataset: DatasetReader, by: Sequence[str], metrics: Sequence[str], scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.usage``: sums of one scan by groups, largest first."""
    names, measured = exclusive(by), tuple(dict.fromkeys(metrics))
    found, setting = asked(dataset, scan, names, **where)

    def compute() -> pl.DataFrame:
        table = found.aggregate(names, measured, setting)
        return largest_first(table, *(n for n in ("size_bytes", "inodes") if n in measured))

    return of_scan(found, aggregated_schema(names, measured), compute)


def directories(
    dataset: DatasetReader, depth: int, metrics: Sequence[str], scan: str, root: str | None = None
) -> pl.LazyFrame:
    """The view ``gpfs.directories``: each directory with all that lies below it, by path."""
    by, measured = [DIRECTORY], tuple(dict.fromkeys(metrics))
    found, setting = asked(dataset, scan, by, root=root, depth=depth)
    schema = aggregated_schema(by, measured)
    return of_scan(found, schema, lambda: found.aggregate(by, measured, setting))
