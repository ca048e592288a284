"""``dask.indicators``, by which runs are judged."""

from __future__ import annotations

from typing import Final

from harvest import Column, View
from harvest_toolkit.columns import named, seconds, share, size

from ...record_names import JOINED
from .common import REPEATS, RUN, RUN_SETTING, UNENDED, WHOLE

_ENDED: Final = "null where no execution was seen to end"
_TRANSFERS: Final = "null without transfers"
_SAMPLES: Final = "null where workers were not sampled, as captures do"
_LOGS: Final = "null without a log of the scheduler or workers"
_COUNTED: Final = "null without Darshan's logs of the run, or where counters of one were not read"
_TASK_IO: Final = "null where dask.task_io ties nothing of the run to tasks"
_KINDS: Final = "null where no task was executed or failed"
_OBSERVED: Final = "null where no worker was observed"
_OWN: Final = f"{_OBSERVED}, or of one of them it is not recorded how many threads it has"
_ALL_OBSERVED: Final = "null where not all workers were observed"
_REGISTERED: Final = "null where no registration is recorded"
_FEW: Final = f"{_ENDED}, or the threads of executions are not known"
_WORKER_LOGS: Final = "null without a log of workers"

_THREADS: Final = (
    share(
        "used_share",
        "observed_busy_s / thread_s: how much of their threads' time the observed workers "
        "used; null where one of them is not known.",
    ),
    Column(
        "threads", doc="Threads of all workers, as recorded; null where it is not recorded of each."
    ),
    Column(
        "observed_threads",
        doc=f"Threads of the observed workers, of which few_threads and thread_s are; {_OWN}.",
    ),
    seconds(
        "span_s", f"Time from the start of the first execution to the end of the last; {_ENDED}."
    ),
    seconds("busy_s", f"Time of executions, summed; {_ENDED}."),
    Column("executions", doc="Executions, failed and unended ones included; null without any."),
    Column("failed", doc=f"How many of attempts failed; {WHOLE}."),
    Column("peak_threads", doc=f"Most executions at the same time; {_ENDED}."),
    seconds(
        "gaps_s",
        f"Time within span_s without any execution; {_ENDED}, or not all workers were observed.",
    ),
    seconds(
        "serial_s", f"Time within span_s with executions, but at most few_threads of them; {_FEW}."
    ),
    seconds(
        "imbalance_s",
        "busiest_s - mean_worker_s: the most that the run could be shorter if the busiest "
        "worker's work were spread; null where busiest_s is, or one worker alone was observed.",
    ),
    seconds("moving_s", f"Time in movements of data, summed; {_TRANSFERS} with a duration."),
    share(
        "transfer_share",
        f"moving_s / busy_s; {_ALL_OBSERVED}, one is silent, or one of the two is not known.",
    ),
    seconds("io_s", f"Time in I/O of known tasks, and beside tasks of one kind; {_TASK_IO}."),
    Column("workers", doc="Workers that registered or executed tasks; null where there are none."),
    Column(
        "observed_workers",
        doc="Those of workers that were observed: it is known for how long they executed, by their "
        "own record or the scheduler's; null where there are none.",
    ),
    seconds("observed_busy_s", f"Time of executions on observed workers, summed; {_OBSERVED}."),
    seconds(
        "thread_s",
        "Time of the threads of observed workers in span_s while these were there, summed; "
        f"{_OWN}.",
    ),
    Column("few_threads", doc=f"A tenth of observed_threads, at least 1; {_FEW}."),
    seconds(
        "tail_s",
        "Time from the last moment with more executions than few_threads until the end of "
        f"span_s; {_FEW}.",
    ),
    Column("last_prefix", doc=f"Kind of the task that ended last; {_ENDED}."),
    Column("first_start", doc=f"Start of the first execution; {_ENDED}."),
    seconds(
        "longest_gap_s", "The longest of the gaps of gaps_s, 0 without any; null where gaps_s is."
    ),
    Column("longest_gap_start", doc="Start of that gap; null without any."),
    Column(
        "cut",
        doc="Whether a part of the record is known to be missing: events that the consumer lost, "
        "spells in which a process could record nothing, a captured process without an end; null "
        "without logs and captures.",
    ),
    Column("processes", doc="Processes whose capture was read; 0 without captures."),
    Column("endless_processes", doc="Of these, how many have a record without an end."),
    named("endless_process", "The first of them, the scheduler before others; null without any."),
    Column("endless_since", doc="The latest time in its record; null with it."),
    Column("runs", doc="How many runs the view has here."),
)

_WORKERS: Final = (
    named("busiest_worker", "Worker with the most time of executions per thread; null with it."),
    seconds("busiest_s", f"Its time of executions per thread; {_OWN}."),
    seconds(
        "mean_worker_s", f"Mean of that over the observed workers, idle ones included; {_OWN}."
    ),
    Column("idle_workers", doc=f"Observed workers that executed nothing; {_OBSERVED}."),
    Column("registered_workers", doc=f"Workers that registered; {_REGISTERED}."),
    Column("silent_workers", doc=f"Workers that registered and reported nothing; {_REGISTERED}."),
    named("silent_worker", "The first of them by address; null without any."),
    Column(
        "silent_executed",
        doc="Executions on silent workers, by the scheduler's record; null where that is missing, "
        "or has executions of which it does not name the worker.",
    ),
    Column(
        "lost_workers",
        doc="Workers that died before the last execution ended, by the logs or, if these are more, "
        "by captures whose record stops; null where neither is known.",
    ),
    named(
        "lost_worker", "The first of them by address that a capture names; null where none does."
    ),
)

_NO_PATH: Final = "by dask.critical_path; null where no execution was seen to end"
_NO_MOVES: Final = ", or no transition is recorded"
_NO_LOW: Final = "null where serial_s is, or 0"

_CAUSES: Final = (
    *(
        seconds(f"path_{part}_s", f"Part of span_s that {what}, {_NO_PATH}{unless}.")
        for part, what, unless in (
            ("computing", "executions took one after the other", ""),
            ("moving", "was spent waiting for transfers", ", or no transfer is recorded"),
            ("spilling", "a worker spilled in", ", or workers were not sampled, as captures do"),
            ("worker", "was spent waiting for a worker or thread", _NO_MOVES),
            ("dependencies", "was spent waiting for dependencies", _NO_MOVES),
            ("unrecorded", "is not known: the rest, so that all known parts add up to it", ""),
        )
    ),
    Column("path_tasks", doc=f"Tasks on the critical path, {_NO_PATH}."),
    Column("path_prefix", doc=f"The kind of task with most of path_computing_s, {_NO_PATH}."),
    seconds("path_prefix_s", f"Its part of path_computing_s, {_NO_PATH}."),
    Column(
        "few_prefixes",
        doc=f"Executed in serial_s: the three kinds of task with the most time; {_NO_LOW}.",
    ),
    Column(
        "few_shares",
        doc=f"Of the time of all executions in serial_s, the shares of these kinds; {_NO_LOW}.",
    ),
    named("few_key", f"The task that was executed longest in serial_s; {_NO_LOW}."),
    Column("few_prefix", doc=f"Its kind; {_NO_LOW}."),
    seconds("few_key_s", f"How long it was executed then; {_NO_LOW}."),
    Column(
        "few_dependents",
        doc="How many tasks need its result, as far as is recorded; null where none is recorded.",
    ),
    Column("few_dependents_prefix", doc="The commonest kind of these; null where they are."),
    Column(
        "gap_prefix", doc="Kind of the task that the longest gap ended with; null without gaps."
    ),
    Column(
        "gap_part",
        doc="What that waited for during most of the gap, as in dask.critical_path; null with it.",
    ),
    Column("gap_link", doc="What let it begin, as in dask.critical_path; null with it, or first."),
)

_TASKS: Final = (
    UNENDED,
    seconds("median_s", f"Median duration of an execution; {_ENDED}."),
    Column("commonest_prefix", doc=f"The kind of task with the most executions; {_KINDS}."),
    Column("commonest_executions", doc=f"Its executions; {_KINDS}."),
    seconds("commonest_median_s", "Median duration of these; null where none was seen to end."),
    Column(
        "attempts", doc=f"Executions, and failures that the scheduler alone recorded; {_KINDS}."
    ),
    Column("failed_prefix", doc="The kind of task with the most failures; null without any."),
    Column("failed_prefix_failed", doc="How many its failures are; null without any."),
    *(
        Column(f"failed_{name}", doc=f"{name} of that kind, as in dask.prefixes; null with it.")
        for name in ("error", "error_failed", "error_type", "error_type_failed")
    ),
    *REPEATS,
)

_TRANSFER: Final = (
    size(
        "moved_bytes", f"Bytes moved between workers and to clients; {_TRANSFERS} with their bytes."
    ),
    Column(
        "movements",
        doc="Movements of data, each once: per pair the larger account of its two sides; "
        f"{_TRANSFERS}.",
    ),
    named("largest_source", f"Sender of the pair that moved most; {_TRANSFERS}."),
    named("largest_target", f"Receiver of the pair that moved most; {_TRANSFERS}."),
    size("largest_bytes", f"What that pair moved; {_TRANSFERS} with their bytes."),
)

_MEMORY: Final = (
    Column("sampled_workers", doc=f"Workers whose memory and limit are known; {_SAMPLES}."),
    share(
        "memory_peak_share",
        "Memory of the worker that came closest to its limit, as a share of that; null where "
        "workers were not sampled, as captures do, or no limit is known.",
    ),
    named("memory_peak_worker", "That worker; null with it."),
    size(
        "spilled_bytes",
        f"Bytes of results written to disk for want of memory; {_SAMPLES}, or do not say.",
    ),
    Column("spilling_workers", doc=f"How many workers did; {_SAMPLES}, or do not say."),
    Column(
        "pauses", doc=f"How often a worker took no more tasks for want of memory; {_WORKER_LOGS}."
    ),
    Column(
        "memory_restarts",
        doc=f"How often a worker was ended for using too much memory; {_WORKER_LOGS}.",
    ),
    Column(
        "unmanaged_warnings",
        doc=f"Warnings of high memory that Dask does not manage, by logs; {_WORKER_LOGS}.",
    ),
    Column("gc_warnings", doc=f"Warnings of garbage collection, by logs; {_LOGS}."),
    Column(
        "gc_worst_percent",
        unit="%",
        format=".0f",
        doc="The largest share of CPU time in these; null without any.",
    ),
    Column(
        "loop_warnings", doc=f"Spells in which an event loop did not respond, by logs; {_LOGS}."
    ),
    seconds("loop_s", f"Their length together; {_LOGS}."),
    seconds("loop_worst_s", "Length of the longest; null without any."),
)

_FILES: Final = (
    size(
        "counted_bytes",
        f"Bytes that all processes read and wrote, by Darshan's counters; {_COUNTED}.",
    ),
    size("traced_bytes", f"Bytes that their traced operations asked for; {_COUNTED}."),
    size("task_bytes", f"Bytes read and written in known tasks, traced or counted; {_TASK_IO}."),
    size("untraced_bytes", f"counted_bytes - traced_bytes; {_COUNTED}."),
    size("untraced_task_bytes", f"The part of untraced_bytes in known tasks; {_TASK_IO}."),
    size(
        "beside_bytes",
        "The part of untraced_bytes in no known task, but moved while tasks of one kind alone "
        f"ran in the process; {_TASK_IO}.",
    ),
    size(
        "unknown_bytes",
        f"The rest of untraced_bytes, of which it is not known who moved them; {_COUNTED}.",
    ),
    seconds("io_busy_s", f"Time of the executions in processes whose I/O is known; {_TASK_IO}."),
    Column("io_prefix", doc=f"The kind of task with most of io_s; {_TASK_IO}."),
    size("io_prefix_bytes", f"Bytes that it read and wrote, those beside it included; {_TASK_IO}."),
    seconds("io_prefix_s", f"Its part of io_s; {_TASK_IO}."),
    size("io_prefix_beside_bytes", f"Its part of beside_bytes; {_TASK_IO}."),
    seconds(
        "io_prefix_busy_s",
        "Time of its executions in processes whose I/O is known; null where io_prefix is, or "
        "none was seen to end.",
    ),
    share("io_prefix_share", "io_prefix_s / io_prefix_busy_s; null where one is not known."),
)

INDICATOR_COLUMNS: Final = (
    RUN,
    *_THREADS,
    *_CAUSES,
    *_TASKS,
    *_WORKERS,
    *_TRANSFER,
    *_MEMORY,
    *_FILES,
)

INDICATORS: Final = View(
    name="dask.indicators",
    doc="One row per run: how well it used its threads, and what cost time: work for few, "
    "imbalance, short tasks, transfers, memory, failures, I/O.",
    build="harvest_dask_runs.views.indicators:indicators",
    requires=JOINED,
    settings=RUN_SETTING,
    columns=INDICATOR_COLUMNS,
)
