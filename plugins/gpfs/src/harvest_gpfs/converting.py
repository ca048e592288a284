"""From lists to Parquet: a dataset of the sink parquet, or sorted files in hive directories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import harvest
import harvest_gpfs
from harvest import HarvestError, UsageError

LAYOUTS: Final = ("flat", "hive")
"""``flat``: DIR/gpfs.file/*.parquet, a dataset.  ``hive``: DIR/top=.../date=.../*.parquet."""


def convert(
    lists: str | Path | Sequence[str | Path],
    target: str | Path,
    *,
    layout: str = "flat",
    root: str | None = None,
    top_depth: int = 1,
    settings: Mapping[str, Any] | None = None,
    engine: str | None = None,
    engine_settings: Mapping[str, Any] | None = None,
    workers: int | None = None,
    max_rejects: int | None = None,
    observer: Any = None,
    dry_run: bool = False,
) -> Any:
    """Convert policy lists, or directories of them, to Parquet; gives the run's result.

    target: for ``flat`` a dataset, which a second call brings up to date; for ``hive`` a directory
        that is not there yet.  There, rows are sorted by path, and lie in directories by top-level
        directory and by the day of the scan (``acquisition date``).
    root: where top-level directories begin; the longest directory that all paths lie in unless
        given.  top_depth: how many directories below it ``top`` has.  Both for ``hive`` alone.
    settings: of the source gpfs, such as ``{"show": "..."}``.
    engine, engine_settings, workers: where the lists are read, as for ``harvest.run``.
    max_rejects: nothing is converted when there are more.
    observer: follows the progress, as in ``harvest.run``.
    dry_run: only plan.

        convert("scan.list", "out", workers=8)
        convert("scan.list", "sorted", layout="hive", top_depth=2)

    A conversion to ``hive`` that was cut short goes on where it was: what was read is kept in
    ``.NAME.converting`` beside the target until it is complete.

    Raises UsageError for what cannot be asked, HarvestError for what stops it.
    """
    out, hive = Path(target).expanduser().absolute(), layout == "hive"
    if layout not in LAYOUTS:
        raise UsageError(f"no layout {layout!r}", remedy="choose one of " + ", ".join(LAYOUTS))
    if not hive and (root is not None or top_depth != 1):
        raise UsageError(
            "root and top_depth are for the layout hive", remedy="leave them out, or choose it"
        )
    if hive and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise HarvestError(
            "there is something already",
            where=str(out),
            remedy="choose another target, or remove it",
        )
    dataset = out.with_name(f".{out.name}.converting") if hive else out
    given = [lists] if isinstance(lists, (str, Path)) else list(lists)
    result = harvest.run(
        [f"gpfs:{os.fspath(item)}" for item in given],
        f"parquet:{dataset}",
        settings={
            "gpfs": dict(settings or {}),
            **({engine: dict(engine_settings)} if engine and engine_settings else {}),
        },
        engine=engine,
        workers=workers,
        max_rejects=max_rejects,
        observer=observer,
        dry_run=dry_run,
        # what was converted from other lists, in an attempt cut short, is not wanted
        deleted="drop" if hive else None,
    )
    if hive and not dry_run:
        harvest_gpfs.write_hive(dataset, out, root=root, top_depth=top_depth)
        shutil.rmtree(dataset)
    return result
