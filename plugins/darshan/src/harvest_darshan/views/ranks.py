"""The view ``io.ranks``: what DXT traced of each process."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction, known_sum, possible

from .declared.jobs import RANK_COLUMNS
from .grouping import certainty, joined, over_jobs, program_of
from .layers import ORIGIN, SEGMENTS, spent_ns, traced_once


@over_jobs(RANK_COLUMNS)
def ranks(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """One row per log and rank with traced operations.

    Where a log traces a file in both DXT_POSIX and DXT_MPIIO, only the former counts.
    """
    threads = pl.col("thread").drop_nulls().n_unique()
    trace = dataset[SEGMENTS].join(logs.select("origin").lazy(), on="origin", how="semi")
    per_rank = (
        traced_once(trace)
        .group_by("origin", "rank")
        .agg(
            host=pl.col("hostname").max(),
            pid=pl.col("pid").max(),
            threads=pl.when(threads > 0).then(threads),
            operations=pl.len(),
            bytes=known_sum(possible("length")),
            seconds=known_sum(spent_ns()) / 1e9,
            part=((pl.col("length") < 0) | spent_ns().is_null()).any(),
            first_time=pl.col("start_time").min(),
            last_time=pl.col("end_time").max(),
        )
        .collect(engine="streaming")
    )
    # what is left out makes a lower bound of this rank alone
    less = pl.concat_list(pl.lit(["lower_bound", "impossible_value"]), "certainty")
    sure = pl.when("part").then(less).otherwise("certainty")
    return (
        joined(per_rank.join(logs, on="origin"), certainty(dataset, logs, "DXT_POSIX", "DXT_MPIIO"))
        .with_columns(
            log=ORIGIN,
            certainty=sure.list.unique(maintain_order=True),
            program=program_of(pl.col("exe")),
            median_s=pl.col("seconds").median().over("origin"),
            time_share=fraction("seconds", "run_time_s"),
        )
        .sort("rank", nulls_last=True)
    )
