"""Build the views ``io.processes`` and ``io.ranks``: traced I/O of each log and process."""

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import types_of
from harvest_toolkit.frames import deferred, fraction, known_sum, possible

from . import grouping
from .declared.files import PROCESS_COLUMNS
from .declared.jobs import RANK_COLUMNS
from .files import counter_rows, traced_files
from .grouping import certainty, joined, layer_states
from .layers import OPS, ORIGIN, SEGMENTS, SPENT_NS, at_least, traced_once

DXT = ("DXT_POSIX", "DXT_MPIIO")


def processes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Return a row per log: bytes traced, bytes counted, and the difference.

    A log has one process, or all processes of an MPI program (``nprocs``).
    """
    wanted = grouping.named_run(dataset, run)
    return deferred(lambda: _processes(grouping.once(dataset, wanted)), types_of(PROCESS_COLUMNS))


def _processes(dataset: DatasetReader) -> pl.DataFrame:
    logs = grouping.logs_by_job(dataset, per_log=True)
    states = layer_states(dataset, logs).select("log", "summed", "uses_stdio", "knows_stdio")
    sure = certainty(dataset, logs).select("log", "certainty")
    traced = traced_files(dataset)
    counted = counter_rows(dataset)
    buffered = counted.filter(pl.col("module") == "STDIO")
    found = logs.select(
        *("run", "log", "exe", "pid", "nprocs", "partial_modules", "modules", "unread_modules"),
        host="hostname",
    )
    for what, frame in (("traced", traced), ("counted", counted), ("stdio", buffered)):
        sums = {f"{what}_{op}_bytes": at_least(pl.col("bytes").filter(op=op)) for op in OPS}
        found = found.join(frame.group_by(log=ORIGIN).agg(**sums), on="log", how="left")
    untraced = pl.col("modules").list.set_intersection(list(DXT)).list.len() == 0
    lost = pl.col("unread_modules").list.set_intersection(list(DXT)).list.len() > 0
    # a trace that was read but has no operation of a log counts as 0
    known = untraced | (~lost & pl.lit(SEGMENTS in dataset))
    return (
        found.join(states, on="log", how="left")
        .join(sure, on="log", how="left")
        .with_columns(
            pl.when("summed").then(pl.col("^counted_.*_bytes$")),
            pl.when("knows_stdio").then(
                pl.col("^stdio_.*_bytes$").fill_null(pl.when(~pl.col("uses_stdio")).then(0))
            ),
            pl.when(known).then(pl.col("^traced_.*_bytes$").fill_null(0)),
        )
        .with_columns(
            (pl.col(f"counted_{op}_bytes") - pl.col(f"traced_{op}_bytes")).alias(
                f"untraced_{op}_bytes"
            )
            for op in OPS
        )
        .sort("run", "log")
    )


@grouping.view_of_jobs(RANK_COLUMNS)
def ranks(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Return a row per log and rank with traced operations."""
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
            seconds=known_sum(SPENT_NS) / 1e9,
            part=((pl.col("length") < 0) | SPENT_NS.is_null()).any(),
            first_time=pl.col("start_time").min(),
            last_time=pl.col("end_time").max(),
        )
        .collect(engine="streaming")
    )
    # a value that is left out makes a lower bound of this rank only
    less = pl.concat_list(pl.lit(["lower_bound", "impossible_value"]), "certainty")
    sure = pl.when("part").then(less).otherwise("certainty")
    return (
        joined(per_rank.join(logs, on="origin"), certainty(dataset, logs, "DXT_POSIX", "DXT_MPIIO"))
        .with_columns(
            log=ORIGIN,
            certainty=sure.list.unique(maintain_order=True),
            program=grouping.program_of(pl.col("exe")),
            median_s=pl.col("seconds").median().over("origin"),
            time_share=fraction("seconds", "run_time_s"),
        )
        .sort("rank", nulls_last=True)
    )
