"""Columns of ``dask.indicators``."""

from __future__ import annotations

from typing import Final

from harvest import Column

from .common import RUN, name, seconds, share, size

__all__ = ["INDICATORS"]

_ENDED: Final = "null where no execution was seen to end"
_TRANSFERS: Final = "null without transfers"
_SAMPLES: Final = "null where workers were not sampled, as captures do"
_LOGS: Final = "null without Dask's logs"
_COUNTED: Final = "null without Darshan's logs of the run"
_TASK_IO: Final = "null where dask.task_io has nothing of the run"
_KINDS: Final = "null where no task was executed or failed"

_THREADS: Final = (
    share(
        "used_share",
        doc="busy_s / thread_s: how much of its threads' time the run used; null where one of "
        "them is not known.",
    ),
    Column(
        "threads",
        doc="Threads of the workers, as recorded, else as many as were seen to run tasks; null "
        "where neither is known of any.",
    ),
    seconds(
        "span_s",
        doc=f"Time from the start of the first execution to the end of the last; {_ENDED}.",
    ),
    seconds("busy_s", doc=f"Time of executions, summed; {_ENDED}."),
    Column("executions", doc="Executions, failed and unended ones included."),
    Column(
        "failed",
        doc=f"How many of attempts failed; {_KINDS}.",
    ),
    Column("peak_threads", doc=f"Most executions at the same time; {_ENDED}."),
    seconds("gaps_s", doc=f"Time within span_s without any execution; {_ENDED}."),
    seconds(
        "serial_s",
        doc=f"Time within span_s with executions, but at most few_threads of them; {_ENDED}.",
    ),
    seconds(
        "imbalance_s",
        doc="busiest_s - mean_worker_s: the most that the run could be shorter if the busiest "
        f"worker's work were spread; {_ENDED}.",
    ),
    seconds("moving_s", doc=f"Time in movements of data, summed; {_TRANSFERS}."),
    seconds("io_s", doc=f"Time in I/O of known tasks, and beside tasks of one kind; {_TASK_IO}."),
    Column("workers", doc="Workers that registered or executed tasks; null where there are none."),
    seconds(
        "thread_s",
        doc="Time of threads in span_s while their workers were there, summed; a worker whose "
        f"threads are not known adds none; {_ENDED}.",
    ),
    Column("few_threads", doc=f"A tenth of the threads, at least 1; {_ENDED}."),
    seconds(
        "tail_s",
        doc="Time from the last moment with more executions than few_threads until the end of "
        f"span_s; {_ENDED}.",
    ),
    Column("last_prefix", doc=f"Kind of the task that ended last; {_ENDED}."),
    Column("first_start", doc=f"Start of the first execution; {_ENDED}."),
    seconds("longest_gap_s", doc=f"The longest of the gaps of gaps_s, 0 without any; {_ENDED}."),
    Column("longest_gap_start", doc="Start of that gap; null without any."),
)

_WORKERS: Final = (
    name("busiest_worker", doc="Worker with the most time of executions per thread; null with it."),
    seconds("busiest_s", doc=f"Its time of executions per thread; {_ENDED}."),
    seconds(
        "mean_worker_s",
        doc="Mean of that over the workers of which it is known, idle ones included; null where it "
        "is of none.",
    ),
    Column(
        "idle_workers",
        doc="Workers known to have executed nothing; null where of none it is known what they "
        "executed.",
    ),
    Column("registered_workers", doc="Workers that registered."),
    Column("silent_workers", doc="Workers that registered and reported nothing."),
    name("silent_worker", doc="The first of them by address; null without any."),
    Column(
        "silent_executed",
        doc="Executions on silent workers, by the scheduler's record; null where that is missing.",
    ),
    Column(
        "lost_workers",
        doc="Workers that died before the last execution ended, by the logs or, if these are more, "
        "by captures whose record stops; null where neither is known.",
    ),
    name(
        "lost_worker",
        doc="The first of them by address that a capture names; null where none does.",
    ),
)

_TASKS: Final = (
    Column("unended", doc="Executions that were not seen to end, which count in no time here."),
    seconds("median_s", doc=f"Median duration of an execution; {_ENDED}."),
    Column("commonest_prefix", doc=f"The kind of task with the most executions; {_KINDS}."),
    Column("commonest_executions", doc=f"Its executions; {_KINDS}."),
    seconds("commonest_median_s", doc="Median duration of these; null where none was seen to end."),
    Column(
        "attempts", doc=f"Executions, and failures that the scheduler alone recorded; {_KINDS}."
    ),
    Column("failed_prefix", doc="The kind of task with the most failures; null without any."),
    Column("failed_prefix_failed", doc="How many its failures are; null without any."),
    Column(
        "failed_error",
        doc="What most of these raised; null without any, or where the record does not say.",
    ),
    Column("repeated", doc=f"Executions beyond the first of a task; {_KINDS}."),
    seconds(
        "repeated_s",
        doc=f"Time of all but the last execution of the tasks that repeated; {_KINDS}.",
    ),
)

_TRANSFER: Final = (
    size("moved_bytes", doc=f"Bytes moved between workers and to clients; {_TRANSFERS}."),
    Column(
        "movements",
        doc="Movements of data, each once: per pair the larger account of its two sides; "
        f"{_TRANSFERS}.",
    ),
    name("largest_source", doc=f"Sender of the pair that moved most; {_TRANSFERS}."),
    name("largest_target", doc=f"Receiver of the pair that moved most; {_TRANSFERS}."),
    size("largest_bytes", doc=f"What that pair moved; {_TRANSFERS}."),
)

_MEMORY: Final = (
    share(
        "memory_peak_share",
        doc="Memory of the worker that came closest to its limit, as a share of that; null where "
        "workers were not sampled, as captures do, or no limit is known.",
    ),
    name("memory_peak_worker", doc="That worker; null with it."),
    size("spilled_bytes", doc=f"Bytes of results written to disk for want of memory; {_SAMPLES}."),
    Column("spilling_workers", doc=f"How many workers did; {_SAMPLES}."),
    Column(
        "pauses", doc=f"How often a worker took no more tasks for want of memory, by logs; {_LOGS}."
    ),
    Column(
        "memory_restarts", doc=f"How often a worker was ended for using too much memory; {_LOGS}."
    ),
    Column(
        "unmanaged_warnings",
        doc=f"Warnings of high memory that Dask does not manage, by logs; {_LOGS}.",
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
    seconds("loop_s", doc=f"Their length together; {_LOGS}."),
    seconds("loop_worst_s", doc="Length of the longest; null without any."),
)

_FILES: Final = (
    size(
        "counted_bytes",
        doc=f"Bytes that all processes read and wrote, by Darshan's counters; {_COUNTED}.",
    ),
    size("traced_bytes", doc=f"Bytes that their traced operations asked for; {_COUNTED}."),
    size(
        "task_bytes", doc=f"Bytes read and written in known tasks, traced or counted; {_TASK_IO}."
    ),
    size("untraced_bytes", doc=f"counted_bytes - traced_bytes; {_COUNTED}."),
    size("untraced_task_bytes", doc=f"The part of untraced_bytes in known tasks; {_TASK_IO}."),
    size(
        "beside_bytes",
        doc="The part of untraced_bytes in no known task, but moved while tasks of one kind alone "
        f"ran in the process; {_TASK_IO}.",
    ),
    size(
        "unknown_bytes",
        doc=f"The rest of untraced_bytes, of which it is not known who moved them; {_COUNTED}.",
    ),
    Column("io_prefix", doc=f"The kind of task with most of io_s; {_TASK_IO}."),
    size(
        "io_prefix_bytes",
        doc=f"Bytes that it read and wrote, those beside it included; {_TASK_IO}.",
    ),
    seconds("io_prefix_s", doc=f"Its part of io_s; {_TASK_IO}."),
    size("io_prefix_beside_bytes", doc=f"Its part of beside_bytes; {_TASK_IO}."),
    seconds(
        "io_prefix_busy_s",
        doc="Time of its executions; null where io_prefix is, or none was seen to end.",
    ),
    share("io_prefix_share", doc="io_prefix_s / io_prefix_busy_s; null where one is not known."),
)

INDICATORS: Final = (RUN, *_THREADS, *_TASKS, *_WORKERS, *_TRANSFER, *_MEMORY, *_FILES)
