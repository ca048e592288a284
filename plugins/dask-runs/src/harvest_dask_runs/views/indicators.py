"""The view ``dask.indicators``: one row of numbers per run, which rules check."""

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import complete_sum, count_if_known, fraction, kept, known_sum

from ..critical_links import dependencies
from ..critical_path import critical_path, division
from ..executions import executions
from ..frames import Frames, load, named_run, pairs_of, runs_of
from ..io.ties import processes
from ..record_names import DASK_TYPES
from ..windows import completions
from . import parts
from .declared.indicators import INDICATOR_COLUMNS
from .kinds import io_by_task, kinds_of
from .workers import TOOK_PART, recorded_runs, worker_frame


def indicators(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute one row per run: how well it used its threads, and what went wrong.

    Executions, their times and kinds are those of ``dask.prefixes``, workers those of
    ``dask.workers``, bytes of files those of ``io.processes`` and ``dask.task_io``.  Numbers that
    are not recorded are null.
    """
    return judged_runs(dataset, run).rows.lazy()


@attrs.frozen
class JudgedRuns:
    """Rows of ``dask.indicators``, and the rows of other views that they sum up.

    executions: one row per execution of a task.
    path: rows of ``dask.critical_path``; workers: of ``dask.workers``; kinds: of ``dask.prefixes``.
    io: rows of ``dask.task_io``, each operation once.
    processes: rows of ``io.processes``; None without Darshan logs.
    """

    rows: pl.DataFrame
    executions: pl.DataFrame
    path: pl.DataFrame
    workers: pl.DataFrame
    kinds: pl.DataFrame
    io: pl.DataFrame
    processes: pl.DataFrame | None


def judged_runs(dataset: DatasetReader, run: str | None) -> JudgedRuns:
    """Compute the indicators of one run or all, once for each dataset and run."""
    runs = runs_of(dataset)
    wanted = runs[0] if run is None and len(runs) == 1 else named_run(dataset, run)
    return kept(dataset, ("dask.indicators", wanted), lambda: _judged(dataset, wanted))


def _judged(dataset: DatasetReader, run: str | None) -> JudgedRuns:
    frames = load(dataset, (*DASK_TYPES, "dask.worker_sample"), run=run)
    found = executions(frames).collect()
    io = io_by_task(dataset, run, found)
    every = worker_frame(frames, found.lazy()).collect()
    kinds = kinds_of(found, frames, io)
    workers = _with_threads(every)
    threads = _threads(workers, found)
    spans = parts.at_once(found.lazy(), threads.lazy()).collect()
    path, ends = critical_path(found, frames), _ends(frames["dask.process"])
    files = processes(dataset)
    pieces = [
        threads,
        spans,
        division(path, frames),
        parts.path_in_short(path),
        parts.what_ran(found, threads, dependencies(frames)),
        parts.what_was_awaited(path, spans),
        _time_of_threads(workers, spans),
        _balance(workers),
        _executed(found),
        _kinds(kinds),
        _failures(kinds),
        _io_of_kinds(kinds),
        _moved(frames),
        parts.memory_use(frames).collect(),
        parts.log_signs(frames["dask.log_event"], spans.select("run", "last_end").lazy()).collect(),
        _silent(workers, frames, spans.join(ends, "run", "left"), recorded_runs(frames).collect()),
        _files(files, io),
        _cut(frames),
        ends.drop("whole_scheduler"),
    ]
    row = pl.concat([frame.select("run") for frame in frames.values()]).unique().collect()
    for piece in pieces:
        row = row.join(piece, on="run", how="left")
    unseen = pl.col("observed_workers") < pl.col("workers")
    gaps = ("gaps_s", "longest_gap_s", "longest_gap_start", "gap_prefix", "gap_part", "gap_link")
    rows = (
        row.with_columns(
            pl.col("processes", "endless_processes").fill_null(0),
            runs=pl.lit(row.height, pl.Int64),
            # while observed workers ran nothing, the others may have run tasks
            **{name: pl.when(~unseen).then(name) for name in gaps},
            # also of workers whose registration is unknown
            transfer_share=pl.when(~unseen, "all_reported").then(fraction("moving_s", "busy_s")),
            lost_workers=pl.max_horizontal("deaths", "recorded_lost"),
            untraced_bytes=pl.col("counted_bytes") - pl.col("traced_bytes"),
            used_share=fraction("observed_busy_s", "thread_s"),
        )
        .with_columns(
            unknown_bytes=pl.col("untraced_bytes")
            - pl.sum_horizontal("untraced_task_bytes", "beside_bytes")
        )
        .sort("run")
        .select(column.name for column in INDICATOR_COLUMNS)
    )
    return JudgedRuns(rows, found, path, every, kinds, io, files)


def _with_threads(workers: pl.DataFrame) -> pl.DataFrame:
    """Select workers that took part; add ``own``, the number of their threads, and ``observed``.

    observed: whether their executions and their times are recorded.
    """
    return workers.filter(TOOK_PART).with_columns(
        # a worker may have more threads than ran tasks
        own=pl.when(pl.col("nthreads") > 0).then("nthreads"),
        observed=pl.col("busy_s").is_not_null(),
    )


def _threads(workers: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Count workers and threads of each run, all and observed; few_of: threads of executions.

    few_of is null if some executions were not on observed workers.
    """
    seen = pl.col("observed")
    elsewhere = found.join(workers.filter(seen), on=["run", "worker"], how="anti")
    strange = elsewhere.select("run", strange=True).unique()
    return (
        workers.group_by("run")
        .agg(
            workers=pl.len().cast(pl.Int64),
            threads=complete_sum(pl.col("own")),
            observed_workers=seen.sum().cast(pl.Int64),
            observed_threads=complete_sum(pl.col("own").filter(seen)),
            observed_busy_s=pl.when(seen.any()).then(pl.col("busy_s").filter(seen).sum()),
        )
        .join(strange, on="run", how="left")
        .with_columns(few_of=pl.when(pl.col("strange").is_null()).then("observed_threads"))
    )


def _time_of_threads(workers: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Sum up the time of observed threads within the span of executions: run, thread_s."""
    came = pl.max_horizontal("registered_time", "first_start")
    left = pl.when(pl.col("removed_time").is_not_null()).then(
        pl.min_horizontal(pl.max_horizontal("removed_time", "last_report"), "last_end")
    )
    there = (pl.coalesce(left, "last_end") - came).dt.total_microseconds().clip(lower_bound=0)
    return (
        workers.filter("observed")
        .join(spans.select("run", "first_start", "last_end"), on="run")
        .group_by("run")
        .agg(thread_s=complete_sum(there * pl.col("own")) / 1e6)
    )


def _balance(workers: pl.DataFrame) -> pl.DataFrame:
    each = pl.col("each")
    known = each.is_not_null().all()
    return (
        workers.filter("observed")
        .with_columns(each=pl.col("busy_s") / pl.col("own"))
        .sort("each", "worker", descending=[True, False])
        .group_by("run", maintain_order=True)
        .agg(
            busiest_worker=pl.when(known).then(pl.col("worker").first()),
            busiest_s=pl.when(known).then(each.first()),
            mean_worker_s=pl.when(known).then(each.mean()),
            # a single worker has no others to compare with
            imbalance_s=pl.when(known, pl.len() > 1).then(each.first() - each.mean()),
            idle_workers=(pl.col("executed") == 0).sum().cast(pl.Int64),
        )
    )


def _executed(found: pl.DataFrame) -> pl.DataFrame:
    ended = pl.col("prefix").filter(pl.col("end").is_not_null())
    return (
        found.sort("end", "key", nulls_last=True)
        .group_by("run", maintain_order=True)
        .agg(
            executions=pl.len().cast(pl.Int64),
            busy_s=known_sum("seconds"),
            median_s=pl.col("seconds").median(),
            last_prefix=ended.last(),
        )
    )


def _kinds(kinds: pl.DataFrame) -> pl.DataFrame:
    ordered = kinds.sort("executions", "prefix", descending=[True, False], nulls_last=True)
    return ordered.group_by("run", maintain_order=True).agg(
        pl.col("prefix", "executions", "median_s").first().name.prefix("commonest_"),
        attempts=pl.col("attempts").sum(),
        **{name: _at_least(name) for name in ("unended", "failed", "repeated", "repeated_s")},
        rescheduled=pl.when(_at_least("repeated").is_not_null()).then(pl.col("rescheduled").sum()),
        rescheduled_s=known_sum("rescheduled_s"),
    )


def _at_least(column: str) -> pl.Expr:
    """Sum a column; null if the sum is 0 and some values are unknown."""
    values = pl.col(column)
    return pl.when(values.is_not_null().all() | (values.sum() > 0)).then(values.sum())


def _failures(kinds: pl.DataFrame) -> pl.DataFrame:
    """Select the kind of task with the most failures: prefix, how many, and exceptions."""
    ordered = kinds.filter(pl.col("failed") > 0).sort("failed", "prefix", descending=[True, False])
    most = pl.col("prefix", "error", "error_failed", "error_type", "error_type_failed").first()
    return ordered.group_by("run", maintain_order=True).agg(
        most.name.prefix("failed_"), failed_prefix_failed=pl.col("failed").first()
    )


def _io_of_kinds(kinds: pl.DataFrame) -> pl.DataFrame:
    """Select the kind of task with the most time in I/O: prefix, bytes, time."""
    spent = pl.sum_horizontal("io_s", "io_beside_s")
    sizes = pl.col("io_read_bytes", "io_write_bytes", "io_beside_bytes")
    moved = pl.sum_horizontal(sizes.cast(pl.Int128)).cast(pl.Int64, strict=False)
    ordered = (
        kinds.filter(pl.col("io_s").is_not_null() | pl.col("io_beside_s").is_not_null())
        .with_columns(spent=spent, moved=moved)
        .sort("spent", "prefix", descending=[True, False])
    )
    return (
        ordered.group_by("run", maintain_order=True)
        .agg(
            io_s=pl.col("spent").sum(),
            io_busy_s=known_sum("io_busy_s"),
            beside_bytes=known_sum("io_beside_bytes"),
            io_prefix=pl.col("prefix").first(),
            io_prefix_bytes=pl.col("moved").first(),
            io_prefix_s=pl.col("spent").first(),
            io_prefix_beside_bytes=pl.col("io_beside_bytes").first(),
            io_prefix_busy_s=pl.col("io_busy_s").first(),
        )
        .with_columns(io_prefix_share=fraction("io_prefix_s", "io_prefix_busy_s"))
    )


def _moved(frames: Frames) -> pl.DataFrame:
    return (
        pairs_of(frames["dask.transfer"])
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("source", "target", "bytes").first().name.prefix("largest_"),
            movements=pl.col("movements").sum(),
            moved_bytes=known_sum("bytes"),
            moving_s=known_sum("seconds"),
        )
        .collect()
    )


def _silent(
    workers: pl.DataFrame, frames: Frames, spans: pl.DataFrame, recorded: pl.DataFrame
) -> pl.DataFrame:
    """Count workers that registered but reported nothing, and whose record stops too early.

    spans: with last_end, and the columns of ``_ends``.
    """
    silent = pl.when(pl.col("registered").is_not_null()).then(
        pl.col("registered") & ~pl.col("reported")
    )
    # if the scheduler's record stops, too, only workers whose removal it recorded have died
    gone = pl.col("whole_scheduler").fill_null(value=True) | pl.col("removed_time").is_not_null()
    early = gone & (pl.col("last_report") < pl.col("last_end"))
    lost = pl.when(pl.col("lost").is_not_null()).then(pl.col("lost") & early)
    name = pl.col("worker")
    done = completions(frames["dask.task_transition"])
    elsewhere = done.filter(name.is_null()).select("run", elsewhere=True).unique().collect()
    return (
        workers.join(spans.select("run", "last_end", "whole_scheduler"), on="run", how="left")
        .join(recorded, on="run", how="left")
        .join(elsewhere, on="run", how="left")
        .sort("worker")
        .group_by("run", maintain_order=True)
        .agg(
            registered_workers=count_if_known(pl.col("registered")),
            silent_workers=count_if_known(silent),
            all_reported=pl.col("reported").all(),
            silent_worker=name.filter(silent).first(),
            # executions without a recorded worker may have been there
            silent_executed=pl.when(
                pl.col("by_scheduler").any() & pl.col("elsewhere").is_null().all()
            ).then(pl.col("executed").filter(silent).sum()),
            recorded_lost=count_if_known(lost),
            lost_worker=name.filter(lost).first(),
        )
    )


def _ends(processes: pl.LazyFrame) -> pl.DataFrame:
    """Count the records without an end in each captured run, and name the most important one.

    whole_scheduler: whether the scheduler's record has an end; null if it is missing.
    """
    endless, scheduler = pl.col("end_time").is_null(), pl.col("role") == "scheduler"
    name = pl.concat_str("role", "address", separator=" ", ignore_nulls=True)
    return (
        processes.sort(scheduler, "last_time", "address", descending=[True, True, False])
        .group_by("run", maintain_order=True)
        .agg(
            processes=pl.len().cast(pl.Int64),
            endless_processes=endless.sum().cast(pl.Int64),
            endless_process=name.filter(endless).first(),
            endless_since=pl.col("last_time").filter(endless).first(),
            whole_scheduler=(~endless).filter(scheduler).last(),
        )
        .collect()
    )


def _cut(frames: Frames) -> pl.DataFrame:
    """Find whether a part of each run's record is known to be missing: run, cut."""
    gone = pl.col("kind").is_in(["data_failure", "blind", "lost"])
    pieces = [
        frames["dask.log_event"].select("run", cut=gone),
        frames["dask.process"].select("run", cut=pl.col("end_time").is_null()),
    ]
    return pl.concat(pieces).group_by("run").agg(pl.col("cut").any()).collect()


def _files(counted: pl.DataFrame | None, io: pl.DataFrame) -> pl.DataFrame:
    """Sum up bytes of files: of all processes, counted and traced, and in known tasks."""
    mine, size = pl.col("key").is_not_null(), pl.col("bytes")
    of_tasks = io.group_by("run").agg(
        task_bytes=known_sum(size.filter(mine)),
        untraced_task_bytes=known_sum(size.filter(mine & (pl.col("how") == "counted"))),
    )
    schema = {"run": pl.String, "counted_bytes": pl.Int64, "traced_bytes": pl.Int64}
    of_processes = pl.DataFrame(schema=schema)
    if counted is not None:
        of_processes = counted.group_by("run").agg(
            # null if the counters of a log are unknown
            complete_sum(
                pl.col(f"{what}_read_bytes").cast(pl.Int128) + pl.col(f"{what}_write_bytes")
            )
            .cast(pl.Int64, strict=False)
            .alias(f"{what}_bytes")
            for what in ("counted", "traced")
        )
    return of_processes.join(of_tasks, on="run", how="full", coalesce=True)
