"""Memory of workers, as captures sampled it: how full they were, and what they moved to disk."""

from __future__ import annotations

import polars as pl

from harvest_toolkit.frames import count_if_known, fraction, known_sum

from ..frames import Frames


def memory_use(frames: Frames) -> pl.LazyFrame:
    """One row per run whose workers were sampled.

    Columns: run; sampled_workers: of which memory and limit are known; spilled_bytes: written to
    disk for want of memory; spilling_workers: how many did; memory_peak_share, memory_peak_worker:
    of the worker that came closest to its limit, and its memory then as a share of that.
    """
    one = ["run", "worker"]
    worker = pl.col("worker").filter(pl.col("share").is_not_null())
    limits = pl.concat(
        [
            frames["dask.process"].select("run", "memory_limit_bytes", worker="address"),
            frames["dask.worker"].select("run", "memory_limit_bytes", worker="worker"),
        ]
    )
    limit = limits.group_by(one).agg(limit=pl.col("memory_limit_bytes").max())
    return (
        frames["dask.worker_sample"]
        .filter(pl.col("role") == "worker", pl.col("address").is_not_null())
        # counts since the process began: a worker that came back counts anew
        .group_by("run", "origin", worker="address")
        .agg(
            # workers that count no spills may still hold results on disk
            spilled=pl.max_horizontal(pl.col("spill_bytes").max(), pl.col("spilled_bytes").max()),
            memory=pl.col("memory_bytes").max(),
        )
        .join(limit, on=one, how="left")
        .with_columns(share=fraction("memory", "limit"))
        .sort("share", "worker", descending=[True, False], nulls_last=True)
        .group_by("run", maintain_order=True)
        .agg(
            sampled_workers=worker.n_unique().cast(pl.Int64),
            spilled_bytes=known_sum("spilled"),
            spilling_workers=count_if_known(pl.col("spilled") > 0),
            memory_peak_share=pl.col("share").first(),
            memory_peak_worker=worker.first(),
        )
        .with_columns(pl.when(pl.col("sampled_workers") > 0).then("sampled_workers"))
    )
