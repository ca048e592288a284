"""``dask.tasks`` and ``dask.prefixes``."""

from __future__ import annotations

from typing import Final

from harvest import Column, Setting, View
from harvest.columns import count, flag, named, seconds, share, size, text, texts, time

from ...record_names import EXECUTED, RECORDED
from .common import KEY, PREFIX, REPEATS, RUN, RUN_SETTING, UNENDED, WHOLE

_LAST: Final = "of its last execution that ended in memory, else of its last"
_NO_MOVES: Final = "null where the run has no record of transfers with their keys"
_NO_GRAPH: Final = "null where no graph of the run holds the task"
_TRACED: Final = "null where no trace is known of a worker that executed it"

TASK_COLUMNS: Final = (
    KEY,
    PREFIX,
    RUN,
    seconds("duration_s", f"Duration {_LAST}, as the scheduler has it, else by the worker's own "
            "transitions; null where it was not executed, or not seen to end."),
    named("executed_on", f"Worker {_LAST}; null where it was not executed."),
    text("last_state", "State in which the scheduler last had it; null where it recorded nothing "
         "of the task."),
    count("executions", "How often it was executed: what the scheduler saw reach memory, and what "
          "a worker recorded as executing, failed and unended executions included; what both "
          "recorded counts once. A failure that the scheduler alone recorded is left out. Null "
          "where none is recorded, and not every worker recorded what it executed."),
    size("size_bytes", f"Size of the result {_LAST}; null where the scheduler has none."),
    time("began", f"Start {_LAST}: by the worker's clock, as the scheduler has it, else by the "
         "worker's own transitions; null where it was not executed."),
    time("ended", "End of the same execution; null where it was not seen to end."),
    size("bytes_sent", "The task's share of the transfers that carried its data, as the sending "
         f"sides reported them; {_NO_MOVES}, or some of these not the size."),
    size("bytes_received", f"The same, as the receiving sides reported them; {_NO_MOVES}, or some "
         "of these not the size."),
    count("transfers", "Reports of transfers that carried its data; a movement that both sides "
          f"report counts twice; {_NO_MOVES}."),
    size("io_read_bytes", f"Bytes asked for in its traced reads (Darshan); {_TRACED}."),
    size("io_write_bytes", f"Bytes of its traced writes (Darshan); {_TRACED}."),
    count("io_operations", f"Its traced reads and writes; {_TRACED}."),
    seconds("io_seconds", f"Time in them; {_TRACED}."),
    time("first_time", "Time of its first event."),
    time("last_time", "Time of its last event."),
    text("group", "Dask's group of tasks; null where the scheduler did not record it."),
    named("client", "Client that sent the task in a graph, the one that asked for its result "
          f"first; {_NO_GRAPH}, or does not name its client."),
    flag("requested", f"Whether a client asked for its result; {_NO_GRAPH}."),
    texts("dependencies", f"Keys that the task needs, sorted; {_NO_GRAPH}."),
    count("dependents", f"How many tasks need it; {_NO_GRAPH}."),
    texts("workers", "Workers that its events name, in order of appearance."),
    Column("threads", doc="Threads (pthread ids) that its events name, in order of appearance."),
    Column(
        "scheduler_states",
        doc="Time in each state of the scheduler, in order of first entry: from entering it to the "
        "next transition. The last state stays open and counts nothing; null where none was left.",
    ),
    Column(
        "worker_states",
        doc="The same by worker, for the states of workers; null where none was left.",
    ),
    Column(
        "events",
        doc="All that is recorded of the task, in order of time: graphs that hold it, transitions, "
        "transfers.",
    ),
)  # fmt: skip

TASKS: Final = View(
    name="dask.tasks",
    doc="One row per task and run: where and when it ran, its time in each state, the bytes moved, "
    "and all its events in order.",
    build="harvest_dask_runs.views.tasks:tasks",
    requires=RECORDED,
    settings={**RUN_SETTING, "key": Setting("keep one task: its key", str)},
    columns=TASK_COLUMNS,
    text="harvest_dask_runs.objects.tasks:tasks_text",
)

_NO_LOGS: Final = (
    "null where dask.task_io has nothing of the run, or not of the processes that executed these"
)
_BY_SCHEDULER: Final = "null where the scheduler alone recorded them, as failures"
_ENDED: Final = "null where none was seen to end"

PREFIX_COLUMNS: Final = (
    PREFIX,
    RUN,
    count("executions", "How often tasks of the kind were executed, failed and unended executions "
          f"included; failures that the scheduler alone recorded are left out; {_BY_SCHEDULER}."),
    seconds("total_s", f"Time of executions together, of all threads; {_ENDED}."),
    share("share", f"total_s of the time of all executions of the run; {_ENDED}, or they took no "
          "time."),
    seconds("mean_s", f"Mean duration of an execution; {_ENDED}."),
    seconds("max_s", f"Longest duration of an execution; {_ENDED}."),
    count("failed", f"How many of attempts failed, whoever recorded it; {WHOLE}."),
    size("io_read_bytes", f"Bytes that these tasks read, by dask.task_io; {_NO_LOGS}."),
    size("io_write_bytes", f"Bytes that these tasks wrote, by dask.task_io; {_NO_LOGS}."),
    share("io_share", "io_s / io_busy_s; null where one of them is not known, or io_busy_s is 0."),
    seconds("median_s", f"Median duration of an execution; {_ENDED}."),
    count("tasks", f"Tasks that were executed; {_BY_SCHEDULER}."),
    size("size_bytes", "Size of all results together; null where the scheduler recorded none."),
    UNENDED,
    count("attempts", "Executions, and failures that the scheduler alone recorded."),
    text("error", "The text that failures of error_type raised most often, those alike that differ "
         "in numbers and addresses alone; null where none failed, or the record does not say."),
    count("error_failed", "Failures with just this text; null where error is."),
    text("error_type", "The type of exception that most failures raised; null where error is, or "
         "names none."),
    count("error_type_failed", "Failures of that type, or alike where error names none; null where "
          "error is."),
    *REPEATS,
    seconds("io_s", f"Time in the I/O of these tasks, by dask.task_io; {_NO_LOGS}."),
    size("io_beside_bytes", "Bytes that processes moved while tasks of this kind alone ran in "
         f"them, but not certainly one of these (column beside of dask.task_io); {_NO_LOGS}."),
    seconds("io_beside_s", f"Time in moving io_beside_bytes; {_NO_LOGS}."),
    seconds("io_busy_s", "Time of the executions in processes whose I/O is known, a part of "
            f"total_s; {_NO_LOGS}, or none of them was seen to end."),
)  # fmt: skip

PREFIXES: Final = View(
    name="dask.prefixes",
    doc="One row per kind of task and run: executions, their time, failures and I/O.",
    build="harvest_dask_runs.views.kinds:prefixes",
    requires=EXECUTED,
    settings=RUN_SETTING,
    columns=PREFIX_COLUMNS,
)

_PART: Final = (
    "What the time went to. computing: the task was executed. Else it waited for that, and of what "
    "is recorded of the moment, the first of these counts. moving: a transfer brought its worker "
    "what it needs. spilling: its worker wrote results to disk or read them, by two samples. "
    "waiting for dependencies: its worker had it waiting for data. waiting for a worker: it was "
    "queued, without a worker, on its way to one, or ready there without a thread. waiting for "
    "dependencies: the scheduler had it waiting. nothing recorded: none of these; before it was "
    "sent, its client was at work."
)
_LINK: Final = (
    "What let the task begin at last. thread: another execution left its thread, for which it was "
    "ready. dependency: what it needs had been executed, by the graph, or by the scheduler's "
    "record of what released it. client: it was sent after what it needs had been executed; the "
    "task before is the last one that ended before that. time: none of these is recorded; the task "
    "before is the last one that ended before it was ready. Null for the first task."
)

PATH_COLUMNS: Final = (
    count("step", "Number of the task on the path, from 1: in order of time."),
    text("part", _PART),
    seconds("seconds", "end - start."),
    PREFIX,
    KEY,
    text("link", _LINK),
    named("after", "Key of the task before; null for the first."),
    named("worker", "Worker that executed it; null where it is not recorded."),
    time("start", "When the part began; times are those of executions, so that the path is one "
         "line."),
    time("end", "When it ended. An execution that by another clock ended after the next began "
         "ends then."),
    count("thread", "Thread that executed it (pthread id); null where not recorded."),
    RUN,
)  # fmt: skip

CRITICAL_PATH: Final = View(
    name="dask.critical_path",
    doc="What the time from the first execution to the end of the last went to, without gap or "
    "overlap: the execution that ended last, what it followed, and so back to the first; each task "
    "with a row for its execution, and before that a row for each thing that it waited for.",
    build="harvest_dask_runs.critical.path:critical_path_view",
    requires=EXECUTED,
    settings=RUN_SETTING,
    columns=PATH_COLUMNS,
)
