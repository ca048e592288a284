"""``dask.tasks`` and ``dask.prefixes``."""

from typing import Final

from harvest import Column, Setting, View
from harvest.columns import count, flag, named, seconds, share, size, text, texts, time

from ...record_names import EXECUTED, RECORDED
from . import KEY, PREFIX, REPEATS, RUN, RUN_SETTING, UNENDED, WHOLE

_LAST: Final = "of its last execution that ended in memory, else of its last"
_NO_MOVES: Final = "null where the run has no record of transfers with their keys"
_NO_GRAPH: Final = "null where no graph of the run has the task"
_ALONE: Final = (
    "while no other task ran in it, by Darshan's counters; the process itself may have done a part "
    "before or after the task; null without any"
)
_TRACED: Final = "null where no worker that executed it was traced"

TASK_COLUMNS: Final = (
    KEY,
    PREFIX,
    RUN,
    seconds("duration_s", f"Duration {_LAST}, as the scheduler has it, else by the worker's own "
            "transitions; null where it was not executed, or not seen to end."),
    named("executed_on", f"Worker {_LAST}; null where it was not executed."),
    text("last_state", "Its last state at the scheduler; null where the scheduler recorded nothing "
         "of the task."),
    count("executions", "How often it ran, by the scheduler or a worker, with failed and unended "
          "executions; one that both recorded counts once. A failure that only the scheduler "
          "recorded is left out. Null where none is recorded and not every worker recorded its "
          "executions."),
    size("size_bytes", f"Size of the result {_LAST}; null where the scheduler has none."),
    time("began", f"Start {_LAST}: by the worker's clock, as the scheduler has it, else by the "
         "worker's own transitions; null where it was not executed."),
    time("ended", "End of the same execution; null where it was not seen to end."),
    size("bytes_sent", "Its bytes in transfers, by the senders; "
         f"{_NO_MOVES}, or some have no size."),
    size("bytes_received", f"Its bytes in transfers, by the receivers; {_NO_MOVES}, or some have "
         "no size."),
    count("transfers", "Reports of transfers of its data; one that both sides report counts "
          f"twice; {_NO_MOVES}."),
    size("io_read_bytes", f"Bytes asked for in its traced reads (Darshan); {_TRACED}."),
    size("io_write_bytes", f"Bytes of its traced writes (Darshan); {_TRACED}."),
    count("io_operations", f"Its traced reads and writes; {_TRACED}."),
    seconds("io_seconds", f"Time in them; {_TRACED}."),
    size("io_alone_read_bytes", f"Bytes that its process read untraced {_ALONE}."),
    size("io_alone_write_bytes", f"Bytes that its process wrote untraced {_ALONE}."),
    time("first_time", "Time of its first event."),
    time("last_time", "Time of its last event."),
    text("group", "Dask's group of tasks; null where the scheduler did not record it."),
    named("client", "Client that sent the task in a graph, and first asked for its result; "
          f"{_NO_GRAPH}, or does not name its client."),
    flag("requested", f"Whether a client asked for its result; {_NO_GRAPH}."),
    texts("dependencies", f"Keys of the tasks that it needs, sorted; {_NO_GRAPH}."),
    count("dependents", f"How many tasks need it; {_NO_GRAPH}."),
    texts("workers", "Workers that its events name, in order of appearance."),
    Column("threads", doc="Threads (pthread ids) that its events name, in order of appearance."),
    Column("scheduler_states", doc="Time in each state at the scheduler, in order of first entry: "
           "from entering it to the next transition. The last state counts nothing; null where no "
           "state was left."),
    Column("worker_states", doc="The same for states at workers, by worker; null where no state "
           "was left."),
    Column("events", doc="All records of the task, in order of time: graphs, transitions, "
           "transfers."),
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
    "null where dask.task_io has nothing of the run, or of the processes that executed them"
)
_BY_SCHEDULER: Final = "null where only the scheduler recorded them, as failures"
_ENDED: Final = "null where none was seen to end"

PREFIX_COLUMNS: Final = (
    PREFIX,
    RUN,
    count("executions", "Executions of the kind with failed and unended ones; failures that only "
          f"the scheduler recorded are left out; {_BY_SCHEDULER}."),
    seconds("total_s", f"Time of executions, summed over all threads; {_ENDED}."),
    share("share", f"Its part of the time of all executions of the run; {_ENDED}, or they took no "
          "time."),
    seconds("mean_s", f"Mean duration of an execution; {_ENDED}."),
    seconds("max_s", f"Longest duration of an execution; {_ENDED}."),
    count("failed", f"How many of attempts failed, by any record; {WHOLE}."),
    size("io_read_bytes", f"Bytes that these tasks read, by dask.task_io; {_NO_LOGS}."),
    size("io_write_bytes", f"Bytes that these tasks wrote, by dask.task_io; {_NO_LOGS}."),
    share("io_share", "io_s / io_busy_s; null where one is unknown, or io_busy_s is 0."),
    seconds("median_s", f"Median duration of an execution; {_ENDED}."),
    count("tasks", f"Tasks that were executed; {_BY_SCHEDULER}."),
    size("size_bytes", "Total size of all results; null where the scheduler recorded none."),
    UNENDED,
    count("attempts", "Executions, and failures that only the scheduler recorded."),
    text("error", "The commonest text of failures of error_type; texts that differ only in numbers "
         "and addresses count as one; null where none failed, or no text is recorded."),
    count("error_failed", "Failures with exactly this text; null where error is."),
    text("error_type", "The type of exception of most failures; null where error is, or names "
         "none."),
    count("error_type_failed", "Failures of that type, or of similar text where error names none; "
          "null where error is."),
    *REPEATS,
    seconds("io_s", f"Time in the I/O of these tasks, by dask.task_io; {_NO_LOGS}."),
    size("io_beside_bytes", "Untraced bytes that processes moved while only tasks of this kind "
         f"ran in them (``beside`` in dask.task_io); {_NO_LOGS}."),
    seconds("io_beside_s", f"Time in moving io_beside_bytes; {_NO_LOGS}."),
    seconds("io_busy_s", "Time of the executions in processes whose I/O is known, a part of "
            f"total_s; {_NO_LOGS}, or none was seen to end."),
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
    "Where the time went. computing: the task ran. Else it waited, and the first of these that is "
    "recorded counts. moving: a transfer brought its worker a dependency. spilling: its worker "
    "moved results to or from disk, by two samples. waiting for dependencies: its worker, or the "
    "scheduler, had it waiting for data. waiting for a worker: it was queued, without a worker, on "
    "its way to one, or ready there without a thread. nothing recorded: none of these; before it "
    "was sent, its client was at work."
)
_LINK: Final = (
    "What let the task begin. thread: another execution left its thread. dependency: a task that "
    "it needs ended, by the graph or by the scheduler's record. client: it was sent after its "
    "dependencies had ended; the task before is the last one that ended before that. time: none of "
    "these is recorded; the task before is the last one that ended before it was ready. Null for "
    "the first task."
)

PATH_COLUMNS: Final = (
    RUN,
    count("step", "Number of the task on the path, from 1: in order of time."),
    text("part", _PART),
    time("start", "When the part began, in the times of executions."),
    time("end", "When it ended, at most when the next part began."),
    seconds("seconds", "end - start."),
    KEY,
    PREFIX,
    named("worker", "Worker that executed it; null where it is not recorded."),
    count("thread", "Thread that executed it (pthread id); null where not recorded."),
    text("link", _LINK),
    named("after", "Key of the task before; null for the first."),
)

CRITICAL_PATH: Final = View(
    name="dask.critical_path",
    doc="The critical path, without gap or overlap: the execution that ended last, the task that "
    "it followed, and so back to the first. Each task has a row for its execution, and before it a "
    "row for each thing that it waited for.",
    build="harvest_dask_runs.critical_path:critical_path_view",
    requires=EXECUTED,
    settings=RUN_SETTING,
    columns=PATH_COLUMNS,
    first=(
        *("step", "part", "seconds", "prefix", "key", "link", "after", "worker", "start", "end"),
        "thread",
    ),
)
