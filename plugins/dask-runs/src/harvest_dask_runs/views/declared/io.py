"""``dask.task_io``, its coverage, ``dask.workers_processes`` and ``dask.trace``."""

from typing import Final

from harvest import Column, View
from harvest.columns import count, named, number, path, seconds, share, size, text, time

from ...record_names import COUNTED, RECORDED, SEGMENT
from . import LOG, RECORD_ID, RUN, RUN_SETTING, WORKER

_HOST: Final = text("host", "Host of the process, as Darshan names it; null where it has none.")
_PID: Final = number("pid", "Process id, by Darshan's log; null where it has none.")

TASK_IO_COLUMNS: Final = (
    RUN,
    named("key", "The task. Null for traced operations on a worker thread between tasks. Null for "
          "counted I/O unless only one task ran in the process from the first operation on the "
          "file to the last."),
    named("worker", "The worker that is the process; null for counted I/O of a process with "
          "several workers."),
    number("thread", "Thread of the operations (pthread id); null for counted I/O."),
    _PID,
    _HOST,
    path("file", "The file; null where the log does not name it."),
    text("module", "Traced: DXT_POSIX or DXT_MPIIO (an MPI-IO operation is often in both). "
         "Counted: POSIX, MPI-IO or STDIO."),
    text("op", "read or write."),
    count("count", "Number of operations."),
    size("bytes", "Bytes of the operations. Traced: asked for. Counted: by Darshan's counters "
         "beyond the trace, below 0 where traced operations asked for more than they got."),
    seconds("seconds", "Time in the operations, summed."),
    time("first_time", "Start of the first operation; null where the log has no time of it."),
    time("last_time", "End of the last operation; null where the log has no time of it."),
    count("by_elimination", "Operations that were matched to a task with an unknown thread (for "
          "example a failed one)."),
    RECORD_ID,
    LOG,
    text("how", "traced: operations on threads that ran tasks, each in one row. counted: all "
         "other I/O of workers' processes, by Darshan's counters."),
    text("beside", "Of counted I/O without a known task: the kind of the only tasks that ran in "
         "the process from the first operation on the file to the last. The process itself may "
         "have done it before or after them. Else null."),
    named("beside_key", "The task of the only execution in that time; else null."),
)  # fmt: skip

TASK_IO: Final = View(
    name="dask.task_io",
    doc="What each task read and wrote, by worker, thread, file, module and op: Darshan's traced "
    "operations matched to tasks, and the I/O that it only counted.",
    build="harvest_dask_runs.views.task_io:task_io",
    requires=(SEGMENT, *COUNTED),
    settings=RUN_SETTING,
    columns=TASK_IO_COLUMNS,
    first=(
        *("key", "file", "bytes", "seconds", "op", "count", "run", "worker", "how", "beside"),
        *("module", "first_time", "last_time", "host", "pid", "thread", "by_elimination"),
        *("log",),
    ),
)

COVERAGE_COLUMNS: Final = (
    named("worker", "The worker that is the process, several joined by commas; null for none."),
    RUN,
    share("share", "window_segments / task_segments: the part that is matched to a task; null "
          "without task_segments."),
    share("bytes_share", "window_bytes / task_bytes; null where task_bytes is 0."),
    count("segments", "Operations that DXT traced."),
    count("task_segments", "Operations on threads that ran tasks."),
    size("bytes", "Bytes asked for in segments."),
    size("task_bytes", "Bytes asked for in task_segments."),
    _HOST,
    _PID,
    count("window_segments", "Operations in task_segments that are matched to a task."),
    size("window_bytes", "Bytes asked for in window_segments."),
    count("by_elimination", "Operations in window_segments that were matched to a task with an "
          "unknown thread."),
    LOG,
    number("rank", "MPI rank of the process."),
)  # fmt: skip

COVERAGE: Final = View(
    name="dask.task_io_coverage",
    doc="One row per traced process: how many of its operations are on threads that ran tasks, and "
    "how many of these are matched to a task.",
    build="harvest_dask_runs.views.task_io:task_io_coverage",
    requires=(SEGMENT,),
    settings=RUN_SETTING,
    columns=COVERAGE_COLUMNS,
)

_UNTIED: Final = "null where the worker's process is unknown"

PROCESS_COLUMNS: Final = (
    WORKER,
    RUN,
    text("host", f"Host of the process, as Darshan names it; {_UNTIED}."),
    number("pid", f"Process id, by Darshan's log; {_UNTIED}, or the log has none."),
    text("tied_by", "process id: the worker recorded its host and process id. thread: only one "
         "process has the worker's threads. best of several: several have threads with the same "
         f"ids; {_UNTIED}."),
    count("candidates", f"Processes with a thread id that the worker used; {_UNTIED}."),
    path("log", f"Darshan's log of the process; {_UNTIED}."),
    text("address_host", "Host in the worker's address; null where it has only a name."),
    Column("threads", doc=f"Its threads (pthread ids) that ran tasks and did traced I/O; "
           f"{_UNTIED}."),
)  # fmt: skip

WORKERS_PROCESSES: Final = View(
    name="dask.workers_processes",
    doc="One row per worker: its host and process id in Darshan's logs, and how they were matched.",
    build="harvest_dask_runs.views.task_io:workers_processes",
    requires=(SEGMENT,),
    settings=RUN_SETTING,
    columns=PROCESS_COLUMNS,
)

_NAMING: Final = "null of events that name tracks"

TRACE_COLUMNS: Final = (
    RUN,
    text("name", "The kind of a task; read or write of an operation; send to or receive from of "
         "a transfer; of events that name tracks, what they set."),
    text("cat", "task: an execution; io: a traced operation; transfer: a report of a transfer, and "
         "the arrow to its other side; transfer.untold: a side without a report; path, "
         f"path.wait: an execution of the critical path, and a wait on it; {_NAMING}."),
    text("ph", "X a slice, s and f the ends of an arrow, M the name of a track."),
    count("ts", f"Start, since the run's first event; {_NAMING}.", "us"),
    count("dur", "Duration of a slice; null of other events.", "us"),
    number("pid", "Number of the track's process in the trace, not the system's."),
    number("tid", "Number of the track in the trace; null where a whole process is named."),
    number("id", "Number of an arrow, which its two ends share; null of other events."),
    text("bp", "e at the end of an arrow, which binds it to its slice; else null."),
    text("args", "Further values of the event, as a JSON object; null of arrows."),
)  # fmt: skip

TRACE: Final = View(
    name="dask.trace",
    doc="Executions, transfers and traced I/O as events in Chrome's Trace Event Format; `harvest "
    "dask-runs trace` writes them as a file for Perfetto.",
    build="harvest_dask_runs.trace.view:trace",
    requires=(*RECORDED, SEGMENT),
    settings=RUN_SETTING,
    columns=TRACE_COLUMNS,
    first=("name", "cat", "ph", "ts", "dur", "pid", "tid", "args"),
)
