"""Parts of ``dask.indicators``, whose declaration explains their columns.

Occupancy: how many executions ran at the same time, what ran while few did, and what ended gaps.
Signs of trouble: lines of Dask's logs, by the wordings of ``distributed`` from 2021 on, and the
memory of workers as captures sampled it.
"""

from typing import Final

import polars as pl

from harvest.model.frames import seconds
from harvest_dask.records.key_prefixes import prefix_of
from harvest_toolkit.frames import count_if_known, fraction, known_sum

from ..critical_path import COMPUTING
from ..frames import Frames

FEW: Final = 0.1
"""The share of a run's threads that counts as few; a single thread always does."""


def at_once(found: pl.LazyFrame, threads: pl.LazyFrame) -> pl.LazyFrame:
    """Compute a row per run with executions that were seen to end.

    found: executions; threads: run, few_of (number of threads that executed them; null if unknown).

    Columns: run, last_end (end of the last execution), and those of ``dask.indicators`` on time;
    few_threads, serial_s and tail_s are null where few_of is.
    """
    running, spent = pl.col("running"), pl.col("spent")
    most_few = pl.col("few_threads")
    first, last = pl.col("at").min(), pl.col("until").max()
    busy_until = pl.coalesce(pl.col("until").filter(running > most_few).max(), first)
    few_known = most_few.first().is_not_null()
    idle = running == 0
    serial = spent.filter(running.is_between(1, most_few)).sum()
    return (
        steps(found, threads)
        .sort("run", "at")
        .group_by("run", maintain_order=True)
        .agg(
            first_start=first,
            last_end=last,
            few_threads=most_few.first(),
            peak_threads=running.max(),
            span_s=seconds((last - first).dt.total_microseconds()),
            serial_s=pl.when(few_known).then(seconds(serial)),
            tail_s=pl.when(few_known).then(seconds((last - busy_until).dt.total_microseconds())),
            gaps_s=seconds(spent.filter(idle).sum()),
            longest_gap_s=seconds(spent.filter(idle).max().fill_null(0)),
            longest_gap_start=pl.col("at").filter(idle).sort_by(spent.filter(idle)).last(),
        )
    )


def steps(found: pl.LazyFrame, threads: pl.LazyFrame) -> pl.LazyFrame:
    """Divide time at starts and ends of executions: run, at, until, spent (us), running."""
    ended = found.drop_nulls(["start", "end"])
    turns = pl.concat(
        [
            ended.select("run", at="start", more=pl.lit(1, pl.Int64)),
            ended.select("run", at="end", more=pl.lit(-1, pl.Int64)),
        ]
    )
    few = (pl.col("few_of") * FEW).floor().cast(pl.Int64).clip(lower_bound=1)
    return (
        turns.sort("run", "at", "more")
        .with_columns(
            running=pl.col("more").cum_sum().over("run"), until=pl.col("at").shift(-1).over("run")
        )
        .with_columns(spent=(pl.col("until") - pl.col("at")).dt.total_microseconds())
        .filter(pl.col("spent") > 0)
        .join(threads.select("run", few_threads=few), on="run", how="left")
    )


NAMED = 3
"""Maximum kinds of tasks that are named."""


def what_ran(found: pl.DataFrame, threads: pl.DataFrame, needs: pl.LazyFrame) -> pl.DataFrame:
    """Compute a row per run in which few executions ran at some time: run and columns ``few_*``.

    threads: as of ``at_once``; needs: run, key, dependency.
    """
    low = _in_low_stretches(found, threads)
    kinds = (
        low.group_by("run", "prefix")
        .agg(pl.col("within").sum())
        .with_columns(share=pl.col("within") / pl.col("within").sum().over("run"))
        .sort("within", "prefix", descending=[True, False])
        .group_by("run", maintain_order=True)
        .agg(
            few_prefixes=pl.col("prefix").head(NAMED),
            few_shares=pl.col("share").head(NAMED).round(4),
        )
    )
    longest = (
        low.sort("within", "key", descending=[True, False])
        .unique("run", keep="first", maintain_order=True)
        .select("run", few_key="key", few_prefix="prefix", few_key_s=seconds(pl.col("within")))
    )
    waiting = (
        needs.join(longest.lazy(), left_on=["run", "dependency"], right_on=["run", "few_key"])
        .group_by("run")
        .agg(
            few_dependents=pl.len().cast(pl.Int64),
            few_dependents_prefix=prefix_of(pl.col("key")).mode().sort().first(),
        )
        .collect()
    )
    return kinds.join(longest, on="run").join(waiting, on="run", how="left")


def _in_low_stretches(found: pl.DataFrame, threads: pl.DataFrame) -> pl.DataFrame:
    """Select executions while few ran, with the microseconds of each ``within`` such times."""
    few = pl.col("running").is_between(1, pl.col("few_threads"))
    reached = (
        steps(found.lazy(), threads.lazy())
        .sort("run", "at")
        .select(
            "run", at="until", reached=pl.when(few).then("spent").otherwise(0).cum_sum().over("run")
        )
        .sort("at")
        .collect()
    )
    ran = found.drop_nulls(["start", "end"]).select("run", "key", "prefix", "start", "end")
    for side in ("start", "end"):
        # steps begin and end at the starts and ends of executions
        ran = ran.sort(side).join_asof(
            reached.rename({"reached": f"few_at_{side}"}),
            left_on=side, right_on="at", by="run", check_sortedness=False,
        )  # fmt: skip
    within = pl.col("few_at_end").fill_null(0) - pl.col("few_at_start").fill_null(0)
    return ran.with_columns(within=within).filter(pl.col("within") > 0)


def what_was_awaited(path: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Find what ended the longest gap: run, gap_prefix, gap_part, gap_link.

    path: as of ``critical_path``; spans: as of ``at_once``.
    """
    gap = pl.col("longest_gap_start")
    lasts = pl.duration(microseconds=(pl.col("longest_gap_s") * 1e6).round().cast(pl.Int64))
    shared = pl.min_horizontal("end", gap + lasts) - pl.max_horizontal("start", gap)
    return (
        path.filter(pl.col("part") != COMPUTING)
        .join(spans.drop_nulls("longest_gap_start"), on="run")
        .with_columns(shared=shared.dt.total_microseconds())
        .filter(pl.col("shared") > 0)
        .sort("shared", "start", descending=[True, False])
        .unique("run", keep="first", maintain_order=True)
        .select("run", gap_prefix="prefix", gap_part="part", gap_link="link")
    )


def path_in_short(path: pl.DataFrame) -> pl.DataFrame:
    """Sum up the critical path: run, path_tasks, path_prefix, path_prefix_s."""
    spent = (pl.col("end") - pl.col("start")).dt.total_microseconds().sum()
    most = (
        path.filter(pl.col("part") == COMPUTING)
        .group_by("run", "prefix")
        .agg(path_prefix_s=seconds(spent))
        .sort("path_prefix_s", "prefix", descending=[True, False])
        .unique("run", keep="first", maintain_order=True)
        .rename({"prefix": "path_prefix"})
    )
    tasks = path.group_by("run").agg(path_tasks=pl.col("step").max())
    return tasks.join(most, on="run")


NO_LINES = ("blind", "lost")
"""Kinds of events that only captures have, about what a process could not record."""


def log_signs(log: pl.LazyFrame, ends: pl.LazyFrame) -> pl.LazyFrame:
    """Count a run's log lines about trouble: a row per run with a log of its scheduler or workers.

    Counts of memory warnings are null without a log of workers.

    ends: run, last_end (end of its last execution).  Workers that die later are not counted, since
    some runs end in this way.

    Columns: run, deaths (of workers), and those of ``dask.indicators`` that come from logs.
    """
    message = pl.col("message")
    gc = message.str.extract(r"full garbage collections took (\d+)% CPU time").cast(pl.Float64)
    loop = message.str.extract(r"Event loop was unresponsive in .*? for ([0-9.]*[0-9])s")
    death = pl.col("kind") == "death"
    died = death & (pl.col("time") < pl.col("last_end"))

    def lines(pattern: str) -> pl.Expr:
        said = message.str.contains(pattern).sum().cast(pl.Int64)
        return pl.when((pl.col("source") == "worker").any()).then(said)

    return (
        # times without a record are rows, too, but not lines of a log
        log.filter(pl.col("source").is_in(["scheduler", "worker"]), ~pl.col("kind").is_in(NO_LINES))
        .join(ends, on="run", how="left")
        .with_columns(gc=gc, loop=loop.cast(pl.Float64, strict=False))
        .group_by("run")
        .agg(
            pauses=lines(r"memory usage\. Pausing worker"),
            memory_restarts=lines(r"exceeded \d+% memory budget"),
            unmanaged_warnings=lines(r"^(?:Unmanaged memory|Memory) use is high"),
            gc_warnings=pl.col("gc").count().cast(pl.Int64),
            gc_worst_percent=pl.col("gc").max(),
            loop_warnings=pl.col("loop").count().cast(pl.Int64),
            loop_s=pl.col("loop").sum(),
            loop_worst_s=pl.col("loop").max(),
            deaths=pl.when(~(death & died.is_null()).any()).then(died.sum().cast(pl.Int64)),
        )
    )


def memory_use(frames: Frames) -> pl.LazyFrame:
    """Sum up the samples of workers' memory: a row per run whose workers were sampled.

    The columns are run and those of ``dask.indicators`` that come from samples.
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
        # counts since the process began: a worker that came back counts from 0 again
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
