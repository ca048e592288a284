"""The view ``io.posix_files``: what POSIX's counters say of each file of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest.toolkit.deferred import deferred

from .counters import BINS
from .frames import TIME
from .grouping import KEY, logs_by_job, program_of

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["OPS", "by_file", "nanoseconds", "posix_files", "process_seconds"]

OPS = (("read", "READS", "READ"), ("write", "WRITES", "WRITTEN"))
"""An operation, and the two words that Darshan's counters have for it."""

SMALL = BINS[:5]
"""The bins of requests below 1 MiB."""

UNNAMED = "(not named)"
"""A file whose name is not in the log."""

POSIX_FILES: dict[str, pl.DataType] = {
    "run": pl.String(),
    "job": pl.Int64(),
    "began": TIME,
    "program": pl.String(),
    "file": pl.String(),
    "record_id": pl.UInt64(),
    "processes": pl.Int64(),
    "shared": pl.Boolean(),
    **{f"{op}s": pl.Int64() for op, *_ in OPS},
    **{f"{op}_bytes": pl.Int64() for op, *_ in OPS},
    **{f"small_{op}s": pl.Int64() for op, *_ in OPS},
    **{f"{op}_extent": pl.Int64() for op, *_ in OPS},
    **{f"{op}_s": pl.Float64() for op, *_ in OPS},
    "meta_s": pl.Float64(),
    "slowest_meta_s": pl.Float64(),
    "time_share": pl.Float64(),
    "byte_imbalance": pl.Float64(),
    "time_imbalance": pl.Float64(),
    "late_s": pl.Float64(),
    "late_share": pl.Float64(),
    "fastest_rank": pl.Int64(),
    "slowest_rank": pl.Int64(),
    **{f"{op}_spread": pl.Float64() for op, *_ in OPS},
}


def posix_files(
    dataset: DatasetReader, *, run: str | None = None, job: int | None = None
) -> pl.LazyFrame:
    """One row per job and file that POSIX counts, of each job that with most time first.

    run: keeps one run (the directory of its logs, or the directory's name).
    job: keeps one job.
    """
    spent = pl.sum_horizontal("read_s", "write_s", "meta_s")

    def compute() -> pl.DataFrame:
        logs = logs_by_job(dataset, run, job)
        return (
            by_file(dataset, logs)
            .collect(engine="streaming")
            .join(process_seconds(logs), on=KEY, how="left", nulls_equal=True)
            .with_columns(
                time_share=_share(spent, "process_s"),
                late_share=_share(pl.col("late_s") * pl.col("nprocs"), "process_s"),
            )
            .sort(
                *("run", "began", "job", spent, "file", "record_id"),
                descending=[False, False, False, True, False, False],
                nulls_last=True,
            )
        )

    return deferred(compute, POSIX_FILES)


def process_seconds(logs: pl.DataFrame) -> pl.DataFrame:
    """Per job, the program of its first log, its processes, and the time they ran, together."""
    first = pl.col("exe").sort_by("start_time", "origin").first()
    return logs.group_by(KEY).agg(
        program=program_of(first),
        nprocs=pl.col("nprocs").sum(),
        # of a log without an end it is not known, and so neither of its job
        process_s=pl.when(pl.col("run_time_s").is_not_null().all()).then(
            (pl.col("run_time_s") * pl.col("nprocs")).sum()
        ),
    )


def _share(part: pl.Expr, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole) > 0).then(part / pl.col(whole))


def by_file(dataset: DatasetReader, logs: pl.DataFrame) -> pl.LazyFrame:
    """POSIX's counters, summed by job (:data:`KEY`) and file."""
    records = dataset["darshan.posix"].join(
        logs.select("origin", *KEY).lazy(), on="origin", how="inner"
    )
    alone = pl.col("rank") >= 0
    latest = pl.col("late_s").arg_max()
    sums = (
        *(f"{what}{op}s" for op, *_ in OPS for what in ("", "small_", "sequential_")),
        *(f"{what}{op}s" for op, *_ in OPS for what in ("shared_", "shared_small_")),
        *(f"{op}_bytes" for op, *_ in OPS),
        *("misaligned_memory", "misaligned_file"),
    )
    times = (*(f"{op}_s" for op, *_ in OPS), "meta_s")
    return (
        records.select(
            *(*KEY, "origin", "rank", "record_id", "path"),
            *(column for names in OPS for column in _of_op(*names)),
            meta_s=nanoseconds("POSIX_F_META_TIME"),
            # a counter that Darshan did not watch is -1
            misaligned_memory=pl.col("POSIX_MEM_NOT_ALIGNED").clip(lower_bound=0),
            misaligned_file=pl.col("POSIX_FILE_NOT_ALIGNED").clip(lower_bound=0),
            fastest_rank=pl.col("POSIX_FASTEST_RANK"),
            slowest_rank=pl.col("POSIX_SLOWEST_RANK"),
            **_imbalances(),
        )
        .group_by(*KEY, "record_id")
        .agg(
            pl.col(sums).sum(),
            (pl.col(times).sum() / 1e9),
            *(pl.col(f"{op}_extent").max() for op, *_ in OPS),
            *(_spread(pl.col(f"{op}_bytes").filter(alone)).alias(f"{op}_spread") for op, *_ in OPS),
            pl.col("byte_imbalance", "time_imbalance").max(),
            *(
                pl.when(pl.col("late_s").is_not_null().any())
                .then(pl.col(name).get(latest))
                .alias(name)
                for name in ("fastest_rank", "slowest_rank")
            ),
            file=pl.col("path").max().fill_null(UNNAMED),
            processes=pl.struct("origin", "rank").filter(alone).n_unique(),
            shared=(~alone).any(),
            slowest_meta_s=pl.col("meta_s").max() / 1e9,
            late_s=pl.col("late_s").max(),
        )
    )


def _of_op(op: str, verb: str, done: str) -> list[pl.Expr]:
    """What a record counts of its reads, or of its writes."""
    count = pl.col(f"POSIX_{verb}")
    small = pl.sum_horizontal(f"POSIX_SIZE_{op.upper()}_{size}" for size in SMALL)
    shared = pl.col("rank") < 0
    return [
        count.alias(f"{op}s"),
        small.alias(f"small_{op}s"),
        pl.col(f"POSIX_SEQ_{verb}").alias(f"sequential_{op}s"),
        pl.when(shared).then(count).alias(f"shared_{op}s"),
        pl.when(shared).then(small).alias(f"shared_small_{op}s"),
        pl.col(f"POSIX_BYTES_{done}").alias(f"{op}_bytes"),
        (pl.col(f"POSIX_MAX_BYTE_{done}") + 1).alias(f"{op}_extent"),
        nanoseconds(f"POSIX_F_{op.upper()}_TIME").alias(f"{op}_s"),
    ]


def nanoseconds(timer: str) -> pl.Expr:
    """Whole numbers, whose sum does not depend on the order of the rows."""
    return (pl.col(timer) * 1e9).round(0).cast(pl.Int64)


def _imbalances() -> dict[str, pl.Expr]:
    """How far apart the fastest and the slowest rank of a record of all ranks are."""
    moved = pl.col("POSIX_BYTES_READ") + pl.col("POSIX_BYTES_WRITTEN")
    spent = pl.sum_horizontal(f"POSIX_F_{what}_TIME" for what in ("READ", "WRITE", "META"))
    apart = pl.col("POSIX_SLOWEST_RANK_BYTES") - pl.col("POSIX_FASTEST_RANK_BYTES")
    late = pl.col("POSIX_F_SLOWEST_RANK_TIME") - pl.col("POSIX_F_FASTEST_RANK_TIME")
    shared = pl.col("rank") < 0
    return {
        "byte_imbalance": pl.when(shared & (moved > 0)).then(apart.abs() / moved),
        "time_imbalance": pl.when(shared & (spent > 0)).then(late.abs() / spent),
        "late_s": pl.when(shared & (spent > 0)).then(late.abs()),
    }


def _spread(values: pl.Expr) -> pl.Expr:
    return pl.when(values.max() > 0).then((values.max() - values.min()) / values.max())
