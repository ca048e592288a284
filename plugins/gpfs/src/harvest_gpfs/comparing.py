"""``harvest_gpfs.churn``: compare two scans that are stored in two places."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from harvest import UsageError

from .aggregation.files import find, scan
from .aggregation.groupings import Setting
from .aggregation.listing import list_scans
from .aggregation.on_polars import PolarsRows
from .aggregation.scans import LATEST, pick
from .converting import convert
from .source import GpfsSource
from .views.change import compare, ends


def churn(
    old: str | Path,
    new: str | Path,
    *,
    old_scan: str | None = None,
    new_scan: str | None = None,
    root: str | None = None,
    top_depth: int = 1,
    settings: Mapping[str, Any] | None = None,
    scratch: str | Path | None = None,
) -> pl.DataFrame:
    """Count created, deleted, modified, accessed and renamed objects by top-level directory.

    old, new: datasets, directories of Parquet files or files of ``gpfs.file``; or policy lists,
        which are converted first.
    old_scan, new_scan: the scan to use of each; default: the latest. If both are the same dataset,
        the default is its latest two scans.
    root: directory that contains the top-level directories; default: the deepest one of all paths.
    top_depth: depth of ``top`` below root.  settings: of the source gpfs, for lists.
    scratch: directory for converted lists; default: the system's temporary directory.

        churn("scans/20260111", "scans/20260118")     # top, created, created_bytes, ...

    The columns are those of the view ``gpfs.churn``; ``old_scan`` and ``new_scan`` name the scans.
    Raises UsageError for a missing input, and if both scans are the same; HarvestError for an
    unreadable input.
    """
    setting = Setting(top_depth=top_depth)
    with tempfile.TemporaryDirectory(prefix="harvest-churn-", dir=scratch) as folder:
        earlier = _rows(Path(old), Path(folder) / "old", settings)
        if Path(old).expanduser().resolve() == Path(new).expanduser().resolve():
            befores, after = ends(list_scans(earlier), old_scan, new_scan, "old=, new=")
            return compare((earlier, befores[-1]), (earlier, after), root, setting)
        later = _rows(Path(new), Path(folder) / "new", settings)
        before = pick(list_scans(earlier), old_scan or LATEST)
        after = pick(list_scans(later), new_scan or LATEST)
        # without a time this is unknown: a list may have been replaced under its name
        same_time = before.time is not None and before.time == after.time
        if same_time and _origins(earlier.of(before)) == _origins(later.of(after)):
            said = "both places have the same scan, which would be compared with itself"
            remedy = "name another one by old_scan or new_scan"
            raise UsageError(said, where=after.label, remedy=remedy)
        return compare((earlier, before), (later, after), root, setting)


def _origins(rows: PolarsRows) -> set[str]:
    query = rows.frame.select(pl.col("origin").cast(pl.String).unique())
    return set(query.collect(engine="streaming")["origin"].to_list())


def _rows(path: Path, target: Path, settings: Mapping[str, Any] | None) -> PolarsRows:
    """Load the rows of a dataset or of Parquet files; convert a list into ``target`` first."""
    if path.is_file() and path.suffix != ".parquet" and GpfsSource.detect(path) is not None:
        convert(path, target, settings=settings)
        path = target
    return PolarsRows(scan(find(path)))
