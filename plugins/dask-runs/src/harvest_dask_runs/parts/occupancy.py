"""How many executions ran at the same time: when all threads worked, few, one, or none."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest.model.frames import seconds

FEW: Final = 0.1
"""The share of a run's threads that counts as few; a single thread always does."""


def at_once(found: pl.LazyFrame, threads: pl.LazyFrame) -> pl.LazyFrame:
    """One row per run that has executions which were seen to end.

    found: executions; threads: run, few_of (the threads that these are executions of, null where
    that is not known).

    Columns: run; first_start, last_end and span_s: from the first execution to the last;
    peak_threads: most executions at once; few_threads: the most that count as few; serial_s: time
    with an execution, but few; tail_s: from the last moment with more until the end (these three
    are null where few_of is); gaps_s: time without any; longest_gap_s, longest_gap_start.
    """
    running, spent = pl.col("running"), pl.col("spent")
    most_few = pl.col("few_threads")
    last = pl.col("until").max()
    busy_until = pl.coalesce(pl.col("until").filter(running > most_few).max(), pl.col("at").min())
    few_known = most_few.first().is_not_null()
    idle = running == 0
    return (
        steps(found, threads)
        .sort("run", "at")
        .group_by("run", maintain_order=True)
        .agg(
            first_start=pl.col("at").min(),
            last_end=last,
            few_threads=most_few.first(),
            peak_threads=running.max(),
            serial=pl.when(few_known).then(spent.filter(running.is_between(1, most_few)).sum()),
            tail=pl.when(few_known).then((last - busy_until).dt.total_microseconds()),
            gaps=spent.filter(idle).sum(),
            longest_gap=spent.filter(idle).max(),
            longest_gap_start=pl.col("at").filter(idle).sort_by(spent.filter(idle)).last(),
        )
        .with_columns(
            span_s=seconds((pl.col("last_end") - pl.col("first_start")).dt.total_microseconds()),
            serial_s=seconds(pl.col("serial")),
            tail_s=seconds(pl.col("tail")),
            gaps_s=seconds(pl.col("gaps")),
            longest_gap_s=seconds(pl.col("longest_gap").fill_null(0)),
        )
        .drop("serial", "tail", "gaps", "longest_gap")
    )


def steps(found: pl.LazyFrame, threads: pl.LazyFrame) -> pl.LazyFrame:
    """Times between two changes of the number of executions that run: run, at, until, running."""
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
