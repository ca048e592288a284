"""The view ``io.ranks``: what DXT traced of each process."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import types_of
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import fraction, known_sum, possible

from .declared.jobs import RANK_COLUMNS
from .frames import ORIGIN, SEGMENTS, spent_ns, traced_once
from .grouping import KEY, certainty, logs_by_job, named_run, of_scheduler, program_of


def ranks(
    dataset: DatasetReader, *, run: str | None = None, job: int | None = None
) -> pl.LazyFrame:
    """One row per log and rank with traced operations.

    Where a log traces a file in both DXT_POSIX and DXT_MPIIO, only the former counts.
    """
    wanted = named_run(dataset, run, job)
    threads = pl.col("thread").drop_nulls().n_unique()

    def compute() -> pl.DataFrame:
        logs = logs_by_job(dataset, wanted, job)
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
        return (
            per_rank.join(logs, on="origin")
            .join(certainty(dataset, logs, "DXT_POSIX", "DXT_MPIIO"), on=KEY, nulls_equal=True)
            .with_columns(
                log=ORIGIN,
                # what is left out makes a lower bound of this rank alone
                certainty=pl.when("part")
                .then(pl.concat_list(pl.lit(["lower_bound", "impossible_value"]), "certainty"))
                .otherwise("certainty")
                .list.unique(maintain_order=True),
                program=program_of(pl.col("exe")),
                median_s=pl.col("seconds").median().over("origin"),
                time_share=fraction("seconds", "run_time_s"),
            )
            .sort("run", "began", "job", "log", "rank", nulls_last=True)
            .with_columns(of_scheduler()[0])
        )

    return deferred(compute, types_of(RANK_COLUMNS))
