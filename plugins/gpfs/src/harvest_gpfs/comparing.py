"""``harvest_gpfs.churn``: what happened between two scans that lie in two places."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from .aggregation.files import find, scan
from .aggregation.groupings import Setting
from .aggregation.listing import Listing, common_root, list_scans
from .aggregation.on_polars import PolarsRows
from .aggregation.scans import LATEST, pick

__all__ = ["churn"]


def churn(
    old: str | Path,
    new: str | Path,
    *,
    old_scan: str = LATEST,
    new_scan: str = LATEST,
    root: str | None = None,
    top_depth: int = 1,
    settings: Mapping[str, Any] | None = None,
    scratch: str | Path | None = None,
) -> pl.DataFrame:
    """What was created, deleted, modified, accessed and renamed, per top-level directory.

    old, new: datasets, directories of Parquet files or files of ``gpfs.file``; or policy lists,
        which are converted first.  old_scan, new_scan: which of several scans in them is meant.
    root: where top-level directories begin; the longest directory that all paths lie in unless
        given.  top_depth: how many directories below it ``top`` has.
    settings: of the source gpfs, for lists.  scratch: where lists are converted to; the system's
        directory for temporary files unless given.

        churn("scans/20260111", "scans/20260118")     # top, created, created_bytes, ...

    The columns are those of the view ``gpfs.churn`` without the scans' names.
    Raises UsageError for what does not exist, HarvestError for what cannot be read.
    """
    from .views_churn import compared

    with tempfile.TemporaryDirectory(prefix="harvest-churn-", dir=scratch) as folder:
        rows = [
            PolarsRows(scan(find(_converted(Path(item), Path(folder) / name, settings))))
            for name, item in (("old", old), ("new", new))
        ]
        before = pick(list_scans(rows[0]), old_scan)
        after = pick(list_scans(rows[1]), new_scan)
        earlier, later = rows[0].of(before), rows[1].of(after)
        common = root if root is not None else common_root(earlier, later)
        within = Listing(later, after, common).prepared(["top"], Setting(top_depth=top_depth))
        return compared(earlier, later, before.rows + after.rows, within)


def _converted(path: Path, target: Path, settings: Mapping[str, Any] | None) -> Path:
    """A list as Parquet; anything else as it is."""
    from .converting import convert
    from .source import GpfsSource

    if path.is_file() and path.suffix != ".parquet" and GpfsSource.detect(path) is not None:
        convert(path, target, settings=settings)
        return target
    return path
