"""``dask.indicators``, the numbers that rules check."""

from typing import Final

from harvest import Column, View
from harvest.columns import amount, count, flag, named, seconds, share, size, text, texts, time

from ...record_names import JOINED
from . import REPEATS, RUN, RUN_SETTING, UNENDED, WHOLE

_ENDED: Final = "null where no execution was seen to end"
_TRANSFERS: Final = "null without transfers"
_SAMPLES: Final = "null where workers were not sampled (captures do)"
_LOGS: Final = "null without a log of the scheduler or workers"
_COUNTED: Final = "null without Darshan's logs of the run, or where counters of one were not read"
_TASK_IO: Final = "null where dask.task_io ties nothing of the run to tasks"
_KINDS: Final = "null where no task was executed or failed"
_OBSERVED: Final = "null where no worker was observed"
_OWN: Final = f"{_OBSERVED}, or of one of them it is not recorded how many threads it has"
_ALL_OBSERVED: Final = "null where not all workers were observed"
_REGISTERED: Final = "null where no registration is recorded"
_FEW: Final = f"{_ENDED}, or the threads of executions are unknown"
_WORKER_LOGS: Final = "null without a log of workers"
_NO_PATH: Final = "by dask.critical_path; null where no execution was seen to end"
_NO_MOVES: Final = ", or no transition is recorded"
_NO_LOW: Final = "null where serial_s is, or 0"

INDICATOR_COLUMNS: Final = (
    RUN,
    # threads and time
    share("used_share", "observed_busy_s / thread_s: the part of their thread-seconds that "
          "observed workers used; null where one of the two is unknown."),
    count("threads", "Threads of all workers; null where it is not recorded of each."),
    count("observed_threads", "Threads of the observed workers, the base of few_threads and "
          f"thread_s; {_OWN}."),
    seconds("span_s", "Time from the start of the first execution to the end of the last; "
            f"{_ENDED}."),
    seconds("busy_s", f"Time of executions, summed; {_ENDED}."),
    count("executions", "Executions, failed and unended ones included; null without any."),
    count("failed", f"How many of attempts failed; {WHOLE}."),
    count("peak_threads", f"Most executions at the same time; {_ENDED}."),
    seconds("gaps_s", f"Time within span_s without any execution; {_ENDED}, or not all workers "
            "were observed."),
    seconds("serial_s", "Time within span_s with executions, but at most few_threads of them; "
            f"{_FEW}."),
    seconds("imbalance_s", "busiest_s - mean_worker_s: the most that the run could get shorter by "
            "spreading the busiest worker's work; null where busiest_s is, or only one worker was "
            "observed."),
    seconds("moving_s", f"Time in movements of data, summed; {_TRANSFERS} with a duration."),
    share("transfer_share", f"moving_s / busy_s; {_ALL_OBSERVED}, one is silent, or one of the two "
          "is unknown."),
    seconds("io_s", "Time in I/O of known tasks, and while tasks of only one kind ran; "
            f"{_TASK_IO}."),
    count("workers", "Workers that registered or executed tasks; null where there are none."),
    count("observed_workers", "Workers whose executions are recorded with their times, by "
          "themselves or the scheduler; null where there are none."),
    seconds("observed_busy_s", f"Time of executions on observed workers, summed; {_OBSERVED}."),
    seconds("thread_s", "Time of all threads of observed workers within span_s while these were "
            f"connected; {_OWN}."),
    count("few_threads", f"A tenth of observed_threads, at least 1; {_FEW}."),
    seconds("tail_s", "Time from the last moment with more executions than few_threads until the "
            f"end of span_s; {_FEW}."),
    text("last_prefix", f"Kind of the task that ended last; {_ENDED}."),
    time("first_start", f"Start of the first execution; {_ENDED}."),
    seconds("longest_gap_s", "The longest gap in gaps_s, 0 without any; null where gaps_s is."),
    time("longest_gap_start", "Start of that gap; null without any."),
    flag("cut", "Whether the record lacks a part: events lost in the consumer, times in which a "
         "process could not record, a captured process without an end; null without logs and "
         "captures."),
    count("processes", "Processes whose capture was read; 0 without captures."),
    count("endless_processes", "Captured processes whose record has no end."),
    named("endless_process", "The first of them, the scheduler before others; null without any."),
    time("endless_since", "The latest time in its record; null with it."),
    count("runs", "Number of runs in the view."),
    # where the time went
    *(
        seconds(f"path_{part}_s", f"Part of span_s that {what}, {_NO_PATH}{unless}.")
        for part, what, unless in (
            ("computing", "executions took one after the other", ""),
            ("moving", "was spent waiting for transfers", ", or no transfer is recorded"),
            ("spilling", "a worker spilled in", ", or workers were not sampled (captures do)"),
            ("worker", "was spent waiting for a worker or thread", _NO_MOVES),
            ("dependencies", "was spent waiting for dependencies", _NO_MOVES),
            ("unrecorded", "no record explains: the rest, so that all parts add up", ""),
        )
    ),
    count("path_tasks", f"Tasks on the critical path, {_NO_PATH}."),
    text("path_prefix", f"The kind of task with most of path_computing_s, {_NO_PATH}."),
    seconds("path_prefix_s", f"Its part of path_computing_s, {_NO_PATH}."),
    texts("few_prefixes", f"The three kinds of task with the most time in serial_s; {_NO_LOW}."),
    Column("few_shares", doc="Their shares of the time of all executions in serial_s; "
           f"{_NO_LOW}."),
    named("few_key", f"The task that ran longest in serial_s; {_NO_LOW}."),
    text("few_prefix", f"Its kind; {_NO_LOW}."),
    seconds("few_key_s", f"How long it ran then; {_NO_LOW}."),
    count("few_dependents", "How many tasks need its result; null where none is recorded."),
    text("few_dependents_prefix", "The commonest kind of these; null where few_dependents is."),
    text("gap_prefix", "Kind of the task that ended the longest gap; null without gaps."),
    text("gap_part", "What this task waited for during most of the gap, as in dask.critical_path; "
         "null where gap_prefix is."),
    text("gap_link", "What let it begin, as in dask.critical_path; null for the first task, or "
         "where gap_prefix is."),
    # kinds of tasks, failures and repeats
    UNENDED,
    seconds("median_s", f"Median duration of an execution; {_ENDED}."),
    text("commonest_prefix", f"The kind of task with the most executions; {_KINDS}."),
    count("commonest_executions", f"Its executions; {_KINDS}."),
    seconds("commonest_median_s", "Median duration of these; null where none was seen to end."),
    count("attempts", f"Executions, and failures that only the scheduler recorded; {_KINDS}."),
    text("failed_prefix", "The kind of task with the most failures; null without any."),
    count("failed_prefix_failed", "Failures of this kind; null without any."),
    *(
        kind(
            f"failed_{name}",
            f"{name} of that kind, as in dask.prefixes; null where failed_prefix is.",
        )
        for what in ("error", "error_type")
        for kind, name in ((text, what), (count, f"{what}_failed"))
    ),
    *REPEATS,
    # workers
    named("busiest_worker", "Worker with the most time of executions per thread; null where "
          "busiest_s is."),
    seconds("busiest_s", f"Its time of executions per thread; {_OWN}."),
    seconds("mean_worker_s", "Mean of that over the observed workers, idle ones included; "
            f"{_OWN}."),
    count("idle_workers", f"Observed workers that executed nothing; {_OBSERVED}."),
    count("registered_workers", f"Workers that registered; {_REGISTERED}."),
    count("silent_workers", f"Workers that registered and recorded nothing; {_REGISTERED}."),
    named("silent_worker", "The first of them by address; null without any."),
    count("silent_executed", "Executions on silent workers, by the scheduler's record; null where "
          "it is missing, or does not name the worker of each execution."),
    count("lost_workers", "Workers that died before the last execution ended: by the logs, or by "
          "captures without an end if these are more; null where neither is recorded."),
    named("lost_worker", "The first of them by address that a capture names; null without any."),
    # transfers
    size("moved_bytes", f"Bytes moved between workers and to clients; {_TRANSFERS} with their "
         "bytes."),
    count("movements", "Movements of data, each once: per pair the larger count of its two "
          f"sides; {_TRANSFERS}."),
    named("largest_source", f"Sender of the pair that moved most; {_TRANSFERS}."),
    named("largest_target", f"Receiver of the pair that moved most; {_TRANSFERS}."),
    size("largest_bytes", f"What that pair moved; {_TRANSFERS} with their bytes."),
    # memory, and warnings in logs
    count("sampled_workers", f"Workers whose memory and limit are known; {_SAMPLES}."),
    share("memory_peak_share", "Memory of the worker that came closest to its limit, as a share of "
          "the limit; null where workers were not sampled (captures do), or have no limit."),
    named("memory_peak_worker", "That worker; null where memory_peak_share is."),
    size("spilled_bytes", f"Bytes of results written to disk for lack of memory; {_SAMPLES}, or "
         "without this number."),
    count("spilling_workers", f"Workers that spilled; {_SAMPLES}, or without this number."),
    count("pauses", f"Times that a worker paused for lack of memory; {_WORKER_LOGS}."),
    count("memory_restarts", "Times that a worker was ended for using too much memory; "
          f"{_WORKER_LOGS}."),
    count("unmanaged_warnings", f"Warnings of high unmanaged memory, by logs; {_WORKER_LOGS}."),
    count("gc_warnings", f"Warnings of garbage collection, by logs; {_LOGS}."),
    amount("gc_worst_percent", "The largest share of CPU time in these; null without "
           "any.", "%", ".0f"),
    count("loop_warnings", f"Times that an event loop did not respond, by logs; {_LOGS}."),
    seconds("loop_s", f"Their total length; {_LOGS}."),
    seconds("loop_worst_s", "Length of the longest; null without any."),
    # files
    size("counted_bytes", "Bytes that all processes read and wrote, by Darshan's counters; "
         f"{_COUNTED}."),
    size("traced_bytes", f"Bytes that their traced operations asked for; {_COUNTED}."),
    size("task_bytes", f"Bytes read and written in known tasks, traced or counted; {_TASK_IO}."),
    size("untraced_bytes", f"counted_bytes - traced_bytes; {_COUNTED}."),
    size("untraced_task_bytes", f"The part of untraced_bytes in known tasks; {_TASK_IO}."),
    size("beside_bytes", "The part of untraced_bytes of no known task that moved while tasks of "
         f"only one kind ran in the process; {_TASK_IO}."),
    size("unknown_bytes", f"The rest of untraced_bytes, without a known task; {_COUNTED}."),
    seconds("io_busy_s", f"Time of the executions in processes whose I/O is known; {_TASK_IO}."),
    text("io_prefix", f"The kind of task with most of io_s; {_TASK_IO}."),
    size("io_prefix_bytes", "Bytes that it read and wrote, with its part of beside_bytes; "
         f"{_TASK_IO}."),
    seconds("io_prefix_s", f"Its part of io_s; {_TASK_IO}."),
    size("io_prefix_beside_bytes", f"Its part of beside_bytes; {_TASK_IO}."),
    seconds("io_prefix_busy_s", "Time of its executions in processes whose I/O is known; null "
            "where io_prefix is, or none was seen to end."),
    share("io_prefix_share", "io_prefix_s / io_prefix_busy_s; null where one is unknown."),
)  # fmt: skip

INDICATORS: Final = View(
    name="dask.indicators",
    doc="One row per run: thread use, and what cost time (serial parts, imbalance, short tasks, "
    "transfers, memory, failures, I/O).",
    build="harvest_dask_runs.views.indicators:indicators",
    requires=JOINED,
    settings=RUN_SETTING,
    columns=INDICATOR_COLUMNS,
)
