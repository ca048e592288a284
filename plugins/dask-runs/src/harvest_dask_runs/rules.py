"""Rules on a Dask run: where its time went, and what puts its record or its results in doubt.

All look at ``dask.indicators``, one row per run; a sentence names the run where the dataset holds
several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs

from harvest import Finding, Rule, Threshold

from . import conclusions
from .bases import BASES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RULES"]


def _per_run(
    conclude: Callable[..., Finding],
) -> Callable[..., Iterator[Finding]]:
    """A judgement of each run by what a function concludes from its row and the thresholds."""

    def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        for row in rows.iter_rows(named=True):
            found = conclude(row, **thresholds)
            name = row["run"].rpartition("/")[2] or row["run"]
            text = f"{name}: {found.text}" if (row["runs"] or total) > 1 else found.text
            yield attrs.evolve(found, text=text, where={"run": row["run"]})

    return judge


_REPORTS: Final = ("dask.run",)
_BEST: Final = "Dask documentation, Best Practices"
_MEMORY: Final = "Dask.distributed documentation, Worker Memory Management"
_SPAN: Final = "seconds that it costs, at least"
_TIME: Final = ("span_s", "first_start", "observed_threads", "thread_s", "observed_busy_s")
_COMPLETE: Final = ("observed_workers", "workers", "cut", "runs")
"""Columns that say how much of a run a finding is about."""


def _rule(name: str, conclude: Callable[..., Finding], **more: Any) -> Rule:
    """A rule on the indicators; ``columns`` without the run."""
    return Rule(
        name=f"dask.{name}",
        view="dask.indicators",
        judge=_per_run(conclude),
        columns=("run", *dict.fromkeys((*more.pop("columns"), *_COMPLETE))),
        reports=_REPORTS,
        basis=BASES[name],
        **more,
    )


RULES: Final = (
    _rule(
        "unused_threads",
        conclusions.unused_threads,
        doc="Threads that executed nothing while others did: the run would take as long with "
        "fewer, or be faster with more parallel work.",
        where="used_share < {share} and thread_s - observed_busy_s > {seconds}",
        columns=("used_share", "peak_threads", *_TIME),
        advice="Ask for fewer threads, or cut the work into more tasks that can run side by side; "
        "the other findings may say why the threads had none.",
        reference="parallel efficiency as of the POP Centre of Excellence, which calls less than "
        "80 % worth a look; below half, more is idle than used",
        thresholds={
            "share": Threshold(0.5, "of the threads' time that should be used"),
            "seconds": Threshold(10, "thread-seconds that were not used, at least"),
        },
    ),
    _rule(
        "work_for_few",
        conclusions.work_for_few,
        doc="Time in which a tenth of the threads or fewer had a task: a serial part, or "
        "stragglers at the end, that more threads do not make faster.",
        where="peak_threads > few_threads and serial_s > {share} * span_s and serial_s > {seconds}",
        columns=("serial_s", "tail_s", "few_threads", "peak_threads", "last_prefix", *_TIME),
        advice="Cut what runs alone into smaller tasks, begin it earlier, or let the rest of the "
        "work run beside it; look at the task stream for what it is.",
        reference="Amdahl's law (1967): a serial share of 20 % limits the gain to a factor of 5",
        thresholds={
            "share": Threshold(0.2, "of the time between the first task and the end of the last"),
            "seconds": Threshold(1, _SPAN),
        },
    ),
    _rule(
        "gaps",
        conclusions.gaps,
        doc="Time between the first task and the last in which none ran: the client was preparing "
        "the next graph, or something else was waited for.",
        where="gaps_s > {share} * span_s and gaps_s > {seconds}",
        columns=("gaps_s", "longest_gap_s", "longest_gap_start", *_TIME),
        advice="Send work in one graph instead of several, or send the next one before the result "
        "of the last is there (client.compute, as_completed).",
        reference=f"{_BEST} (avoid calling compute repeatedly)",
        thresholds={
            "share": Threshold(0.1, "of the time between the first task and the end of the last"),
            "seconds": Threshold(1, _SPAN),
        },
    ),
    _rule(
        "imbalance",
        conclusions.imbalance,
        doc="A worker with much more work than the others: the run lasts as long as it does.",
        among="workers > 1",
        where="imbalance_s > {share} * span_s and imbalance_s > {seconds}",
        columns=(
            *("imbalance_s", "busiest_worker", "busiest_s", "mean_worker_s", "idle_workers"),
            *_TIME,
        ),
        advice="Cut large tasks into several of the same size, and do not pin tasks to workers; "
        "work stealing moves only what has not begun.",
        reference="imbalance time, largest minus mean: DeRose, Homer and Johnson, Euro-Par 2007",
        thresholds={
            "share": Threshold(0.1, "of the time between the first task and the end of the last"),
            "seconds": Threshold(1, _SPAN),
        },
    ),
    _rule(
        "short_tasks",
        conclusions.short_tasks,
        doc="Tasks so short that scheduling them costs about as much as executing them.",
        # few executions are known to be few where all workers were observed
        where="case when executions >= 1000 then median_s < {milliseconds} / 1000 "
        "and executions * {overhead} / 1000 > {share} * busy_s "
        "when observed_workers = workers then false end",
        columns=(
            *("median_s", "executions", "busy_s", "commonest_prefix", "commonest_executions"),
            "commonest_median_s",
        ),
        advice="Use larger chunks or partitions, or do several steps in one task.",
        reference=f"{_BEST} (avoid very large graphs) and Dask.distributed, Limitations: up to "
        "1 ms per task, so tasks should last 10 to 100 ms and more",
        thresholds={
            "milliseconds": Threshold(10, "ms that half of the executions should last"),
            "overhead": Threshold(1, "ms that scheduling a task takes"),
            "share": Threshold(0.1, "of the time of executions that scheduling may take"),
        },
    ),
    _rule(
        "transfers",
        conclusions.transfers,
        doc="Results that take long to move between workers, against the time of executing.",
        # by the share, which is not known where a part of moving or executing is not
        where="transfer_share > {share} and transfer_share * busy_s > {seconds}",
        columns=(
            *("transfer_share", "moving_s", "moved_bytes", "movements", "busy_s"),
            *("largest_source", "largest_target", "largest_bytes"),
        ),
        advice="Let tasks that use the same data run on one worker (fewer, larger workers; fusing "
        "tasks), and make results smaller before they move.",
        reference="Dask documentation, Stages of Computation; a fifth of executing is taken to be "
        "worth a change",
        thresholds={
            "share": Threshold(0.2, "of the time of executions that moving may take"),
            "seconds": Threshold(1, _SPAN),
        },
    ),
    _rule(
        "spilling",
        conclusions.spilling,
        doc="Results that workers moved to disk for want of memory: reading them again costs time.",
        where="spilled_bytes > {bytes}",
        columns=(
            *("spilled_bytes", "spilling_workers", "memory_peak_share", "memory_peak_worker"),
            "sampled_workers",
        ),
        advice="Give workers more memory, use smaller chunks, or release results that are used no "
        "more.",
        reference=f"{_MEMORY}: spilling begins at 60 % of a worker's memory",
        thresholds={"bytes": Threshold(0, "bytes that may be moved to disk")},
    ),
    _rule(
        "full_memory",
        conclusions.full_memory,
        doc="A worker that came near its memory limit, where Dask stops giving it tasks and then "
        "ends it.",
        where="memory_peak_share >= {share}",
        columns=("memory_peak_share", "memory_peak_worker", "sampled_workers"),
        advice="Give workers more memory or fewer threads, or use smaller chunks.",
        reference=f"{_MEMORY}: a worker pauses at 80 %, and is ended at 95 %",
        thresholds={"share": Threshold(0.8, "of the memory that a worker may use")},
    ),
    _rule(
        "memory_warnings",
        conclusions.memory_warnings,
        doc="Warnings of the logs that workers ran short of memory.",
        where="pauses + memory_restarts + unmanaged_warnings >= {warnings}",
        columns=("memory_restarts", "pauses", "unmanaged_warnings", "workers"),
        advice="Give workers more memory or fewer threads, or use smaller chunks; memory that Dask "
        "does not manage is that of libraries, leaks, and the allocator.",
        reference=f"{_MEMORY}: pause at 80 %, terminate at 95 %, unmanaged memory",
        thresholds={"warnings": Threshold(1, "such lines")},
    ),
    _rule(
        "lost_workers",
        conclusions.lost_workers,
        doc="Workers that died while tasks ran: their results are computed again, and a task that "
        "kills several workers fails.",
        where="lost_workers >= {workers}",
        columns=("lost_workers", "lost_worker", "workers", "repeated"),
        advice="Look for the reason in the worker's log and in the job's accounting (out of "
        "memory, end of the allocation).",
        reference="Dask.distributed documentation, Resilience and Why did my worker die?",
        thresholds={"workers": Threshold(1, "workers that died")},
    ),
    _rule(
        "silent_workers",
        conclusions.silent_workers,
        doc="Workers that registered but of which nothing else is recorded: a gap in the record, "
        "which reads like idleness.",
        where="silent_workers >= {workers}",
        columns=("silent_workers", "silent_worker", "silent_executed", "registered_workers"),
        advice="Look whether the recording was active on these workers; do not read their silence "
        "as idleness.",
        reference="every worker that executes or moves anything records it",
        thresholds={"workers": Threshold(1, "silent workers")},
    ),
    _rule(
        "failures",
        conclusions.failures,
        doc="Executions that failed: errors of the program, or of what it reads.",
        where="failed >= {executions}",
        columns=("failed", "attempts", "failed_prefix", "failed_prefix_failed", "failed_error"),
        advice="Look at dask.prefixes for the kinds that failed, and at dask.tasks for one of "
        "them; retries hide errors that always come back.",
        reference="a task that succeeds does not fail; a tenth of all is taken to be much",
        thresholds={"executions": Threshold(1, "executions that failed")},
    ),
    _rule(
        "repeats",
        conclusions.repeats,
        doc="Tasks that were executed more than once: their results were lost, or retries.",
        where="repeated > 0 and repeated_s > {share} * busy_s",
        columns=("repeated", "repeated_s", "busy_s", "executions", "lost_workers", "failed"),
        advice="Find out what made them run again: lost workers, retries, or results that were "
        "released too early (persist what is used twice).",
        reference="Dask.distributed documentation, Resilience; a twentieth of the time is taken to "
        "be worth a look",
        thresholds={"share": Threshold(0.05, "of the time of executions")},
    ),
    _rule(
        "garbage_collection",
        conclusions.garbage,
        doc="Garbage collection that takes much of the CPU time of a worker or the scheduler.",
        where="gc_warnings > 0 and gc_worst_percent >= {percent}",
        columns=("gc_warnings", "gc_worst_percent", "workers"),
        advice="Make fewer Python objects (columns instead of lists), or smaller graphs.",
        reference="distributed 2026.8: its own warning, from 10 % on",
        thresholds={"percent": Threshold(10, "of the CPU time, at worst")},
    ),
    _rule(
        "event_loop",
        conclusions.event_loop,
        doc="Event loops that did not respond: heartbeats come late, and connections break.",
        where="loop_warnings > 0 and loop_worst_s >= {seconds}",
        columns=("loop_warnings", "loop_s", "loop_worst_s", "workers"),
        advice="Look for functions that hold the interpreter's lock for long, and for large "
        "results that are moved at once.",
        reference="distributed 2026.8: its own warning, from 3 s on",
        thresholds={"seconds": Threshold(3, "seconds without response, at worst")},
    ),
    _rule(
        "tasks_in_io",
        conclusions.tasks_waiting_for_files,
        doc="A kind of task that spends much of its time reading and writing files.",
        where="io_prefix_s > {share} * io_prefix_busy_s and io_prefix_s > {of_run} * io_busy_s",
        columns=(
            *("io_prefix", "io_prefix_s", "io_prefix_share", "io_prefix_bytes"),
            *("io_prefix_beside_bytes", "io_prefix_busy_s", "io_s", "io_busy_s", "untraced_bytes"),
        ),
        advice="Look at dask.task_io for the files and the size of the requests: larger requests, "
        "fewer small files, and data read once and kept help most.",
        reference="a third of a task's time in files, and a twentieth of the run's, are taken to "
        "be worth a change",
        thresholds={
            "share": Threshold(0.3, "of the time of these tasks"),
            "of_run": Threshold(0.05, "of the time of all executions there"),
        },
    ),
    _rule(
        "untraced_io",
        conclusions.untraced_io,
        doc="I/O of which Darshan kept counts alone, so that the task that did it is not certain.",
        where="counted_bytes > {bytes} and untraced_bytes > {share} * counted_bytes",
        columns=(
            *("counted_bytes", "traced_bytes", "untraced_bytes", "untraced_task_bytes"),
            *("beside_bytes", "unknown_bytes", "io_prefix", "io_prefix_beside_bytes"),
        ),
        advice="Look at dask.task_io (how = 'counted') for the files. Buffered I/O (STDIO) is "
        "never traced; where the trace was cut off, give it more memory (DXT's MODMEM).",
        reference="Darshan 3.4 runtime documentation: DXT traces POSIX and MPI-IO",
        thresholds={
            "share": Threshold(0.2, "of the bytes that are counted"),
            "bytes": Threshold(1e6, "bytes that are counted, at least"),
        },
    ),
)
