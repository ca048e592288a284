"""``dask.run_summary`` and ``dask.workers``."""

from typing import Final

from harvest import Column, View
from harvest.columns import count, flag, number, seconds, size, text, texts, time

from ...record_names import JOINED
from . import RUN, RUN_SETTING, WORKER

_NO_TRANSFERS: Final = "null where no transfer is recorded"
_NO_GRAPHS: Final = "null where no graph is recorded"
_NO_SCHEDULER: Final = "null where the scheduler recorded none"
_NO_REGISTRATION: Final = "null where no registration is recorded"
_NOT_CAPTURED: Final = "null for runs that were not captured"

SUMMARY_COLUMNS: Final = (
    RUN,
    seconds("wall_s", "last_time - first_time; null where the record has no time at all."),
    count("tasks", "Distinct keys in any record; null where there is none."),
    count("workers", f"Workers that registered; {_NO_REGISTRATION}."),
    size("bytes_moved", "Bytes moved between workers and to clients, each movement once: per pair "
         f"the larger sum of its two sides; {_NO_TRANSFERS}, or none with its bytes."),
    count("erred_tasks", "Tasks that erred in the scheduler's or a worker's record; null where "
          "neither recorded a transition."),
    flag("complete", "Whether completeness_notes is empty."),
    time("first_time", "First recorded event; null without any. Times of logs count only where "
         "nothing else has a time, since logs do not record their time zone."),
    time("last_time", "Last recorded event, in the same way; null without any."),
    texts("completeness_notes", "What the record lacks, in sentences."),
    count("unfinished_tasks", "Tasks last seen waiting, queued, processing, ...; null where the "
          "scheduler recorded no transition."),
    count("graph_tasks", f"Distinct keys in graphs; {_NO_GRAPHS}."),
    count("task_groups", "Dask's groups of tasks, which only the scheduler records; "
          f"{_NO_SCHEDULER}."),
    count("task_prefixes", "Kinds of tasks in any record; null where there is none."),
    count("graphs", f"Graphs that clients sent; {_NO_GRAPHS}."),
    count("clients", "Distinct clients that came or sent a graph; null where none is recorded."),
    count("workers_reported", "Workers that reported anything themselves; null where none did."),
    texts("silent_workers", "Addresses of workers that registered and recorded nothing; "
          f"{_NO_REGISTRATION}."),
    texts("unregistered_workers", "Addresses or names of workers that reported without "
          f"registration; {_NO_REGISTRATION}."),
    count("transfers", f"Reports of transfers, one by each side that reported; {_NO_TRANSFERS}."),
    count("transfer_copies", f"Rows of the input that were merged into these; {_NO_TRANSFERS}."),
    size("bytes_received", f"Bytes received, by the receivers; {_NO_TRANSFERS}, or none has its "
         "bytes."),
    size("bytes_sent", "Bytes sent, also to clients, by the senders; "
         f"{_NO_TRANSFERS}, or none has its bytes."),
    size("bytes_to_clients", f"The part of bytes_sent to clients; {_NO_TRANSFERS}, or none has its "
         "bytes."),
    count("scheduler_transitions", "Transitions of tasks that the scheduler recorded, each once "
          f"where several files of the run hold it; {_NO_SCHEDULER}."),
    count("worker_transitions", "Transitions of tasks that workers recorded; null where they "
          "recorded none."),
    count("data_failures", "Events that the consumer could not parse; null where no log of the "
          "consumer names any."),
    count("processes", f"Processes with a capture file; {_NOT_CAPTURED}."),
    texts("lost_processes", "Captured processes whose record has no end, each with its last time; "
          f"{_NOT_CAPTURED}."),
    texts("blind_spells", "Times in which a captured process could not record, each with the "
          f"process; {_NOT_CAPTURED}."),
    Column("nodes", doc="Hosts by role, from the job's files or captures; null where none names "
           "them."),
    Column("directives", doc="Directives of the batch script; null where there is none."),
)  # fmt: skip

RUN_SUMMARY: Final = View(
    name="dask.run_summary",
    doc="One row per run: times, counts, bytes moved, nodes, and what its record lacks.",
    build="harvest_dask_runs.views.summary:run_summary",
    requires=JOINED,
    settings=RUN_SETTING,
    columns=SUMMARY_COLUMNS,
)

_SILENT: Final = "null where it recorded nothing and the scheduler recorded no execution on it"
_MOVED: Final = "null where it recorded nothing, or the run has no record of transfers"
_CAPTURED: Final = "null where it was not captured"

WORKER_COLUMNS: Final = (
    WORKER,
    RUN,
    count("executed", "Executions on it with failed and unended ones, by its own record or the "
          f"scheduler's; {_SILENT}."),
    seconds("busy_s", f"Sum of the durations of its executions that ended; {_SILENT}, or no "
            "execution was seen to end."),
    seconds("occupied_s", "Time in which at least one of these ran; null where busy_s is."),
    count("nthreads", "Its threads for tasks: by its own record, the scheduler's, or the logs; "
          "null where these have no number, or several."),
    size("bytes_received", f"Bytes that it received, by its own reports; {_MOVED}, or none has its "
         "bytes."),
    size("bytes_sent", f"Bytes that it sent, by its own reports; {_MOVED}, or none has its bytes."),
    flag("reported", "Whether it reported transitions or transfers, or its process was captured. A "
         "worker that reported nothing was not necessarily idle."),
    text("host", "Host in its address, as text or number; null where it has only a name."),
    flag("registered", f"Whether the scheduler's events or log register it; {_NO_REGISTRATION}."),
    time("registered_time", "When it first registered, by the scheduler's events, else its log; "
         "null without either."),
    time("removed_time", "When it was last removed, by the scheduler's events, else its log; null "
         "without either."),
    count("unended", "Executions whose start or end is unknown; no time here includes them; null "
          "where none is recorded and it did not record its executions itself."),
    count("transitions", "Transitions of tasks that it reported; null where it reported nothing, "
          "or no worker of the run recorded its executions."),
    count("transfers", f"Transfers that it reported, as sender or receiver; {_MOVED}."),
    time("first_report", "First time in what it reported, or in its capture; null where it "
         "reported nothing."),
    time("last_report", "Last time in what it reported, or in its capture; null where it reported "
         "nothing."),
    text("name", f"Name of the worker; {_CAPTURED}, or has none."),
    text("hostname", f"Name of its host; {_CAPTURED}."),
    number("pid", f"Its process id, the last of several; {_CAPTURED}."),
    flag("lost", f"Whether the record of its process has no end; {_CAPTURED}."),
    seconds("clock_offset_s", "Add it to its times to have the scheduler's clock, as measured "
            "last; null where it was not captured or measured."),
    Column("threads", doc="Threads (pthread ids) that ran its executions, by its own record or the "
           "scheduler's; null where it may have executed tasks and neither names a thread."),
)  # fmt: skip

WORKERS: Final = View(
    name="dask.workers",
    doc="One row per worker and run: when it came and went, its executions and transfers, and "
    "whether it recorded anything.",
    build="harvest_dask_runs.views.workers:workers",
    requires=JOINED,
    settings=RUN_SETTING,
    columns=WORKER_COLUMNS,
)
