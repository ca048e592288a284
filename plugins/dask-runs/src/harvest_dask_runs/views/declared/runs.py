"""``dask.run_summary`` and ``dask.workers``."""

from __future__ import annotations

from typing import Final

from harvest import Column, View
from harvest_toolkit.columns import number, seconds, size

from ...record_names import JOINED
from .common import RUN, RUN_SETTING, WORKER

_NO_TRANSFERS: Final = "null where no transfer is recorded"
_NO_GRAPHS: Final = "null where no graph is recorded"
_NO_SCHEDULER: Final = "null where the scheduler recorded none"
_NO_REGISTRATION: Final = "null where no registration is recorded"
_NOT_CAPTURED: Final = "null for runs that were not captured"

SUMMARY_COLUMNS: Final = (
    RUN,
    seconds("wall_s", "last_time - first_time; null where the record has no time at all."),
    Column("tasks", doc="Distinct keys in any record; null where there is none."),
    Column("workers", doc=f"Workers that registered; {_NO_REGISTRATION}."),
    size(
        "bytes_moved",
        "Bytes moved between workers and to clients, each movement once: per pair the larger "
        f"of what its two sides reported; {_NO_TRANSFERS}, or none with its bytes.",
    ),
    Column(
        "erred_tasks",
        doc="Tasks that erred in the scheduler's or a worker's record; null where neither recorded "
        "a transition.",
    ),
    Column("complete", doc="Whether completeness_notes is empty."),
    Column(
        "first_time",
        doc="First recorded event; that of the logs only where nothing else has a time, since "
        "their zone is declared and not recorded. Null where nothing has.",
    ),
    Column("last_time", doc="Last recorded event, likewise; null where nothing has a time."),
    Column("completeness_notes", doc="What the record lacks, in sentences."),
    Column(
        "unfinished_tasks",
        doc="Tasks last seen waiting, queued, processing, ...; null where the scheduler recorded "
        "no transition.",
    ),
    Column("graph_tasks", doc=f"Distinct keys in graphs; {_NO_GRAPHS}."),
    Column(
        "task_groups",
        doc=f"Dask's groups of tasks, which the scheduler alone records; {_NO_SCHEDULER}.",
    ),
    Column("task_prefixes", doc="Kinds of tasks in any record; null where there is none."),
    Column("graphs", doc=f"Graphs that clients sent; {_NO_GRAPHS}."),
    Column(
        "clients", doc="Distinct clients that came or sent a graph; null where none is recorded."
    ),
    Column(
        "workers_reported", doc="Workers that reported anything themselves; null where none did."
    ),
    Column(
        "silent_workers",
        doc=f"Addresses of workers that registered and reported nothing; {_NO_REGISTRATION}.",
    ),
    Column(
        "unregistered_workers",
        doc=f"Addresses or names of workers that reported unregistered; {_NO_REGISTRATION}.",
    ),
    Column(
        "transfers",
        doc=f"Reports of transfers: one by each side that reported it; {_NO_TRANSFERS}.",
    ),
    Column(
        "transfer_copies", doc=f"Rows of the input that these were folded from; {_NO_TRANSFERS}."
    ),
    size(
        "bytes_received",
        f"Bytes received, as the receiving sides reported; {_NO_TRANSFERS}, or of no such one "
        "its bytes.",
    ),
    size(
        "bytes_sent",
        f"Bytes sent, to clients too, as the sending sides reported; {_NO_TRANSFERS}, or of no "
        "such one its bytes.",
    ),
    size(
        "bytes_to_clients",
        f"The part of bytes_sent that went to clients; {_NO_TRANSFERS}, or of no such one its "
        "bytes.",
    ),
    Column(
        "scheduler_transitions",
        doc=f"Transitions of tasks that the scheduler recorded; {_NO_SCHEDULER}.",
    ),
    Column(
        "worker_transitions",
        doc="Transitions of tasks that workers recorded; null where they recorded none.",
    ),
    Column(
        "data_failures",
        doc="Events that the consumer could not parse; null where none is named: a consumer's log "
        "without any leaves no row.",
    ),
    Column("processes", doc=f"Processes with a capture file; {_NOT_CAPTURED}."),
    Column(
        "lost_processes",
        doc="Captured processes whose record stops without an end, each with its last time; "
        f"{_NOT_CAPTURED}.",
    ),
    Column(
        "blind_spells",
        doc="Spells in which a captured process could record nothing, each with the process; "
        f"{_NOT_CAPTURED}.",
    ),
    Column(
        "nodes",
        doc="Hosts by role, as the job's files or captures name them; null where none does.",
    ),
    Column("directives", doc="Directives of the batch script; null where there is none."),
)

RUN_SUMMARY: Final = View(
    name="dask.run_summary",
    doc="One row per run: times, counts, bytes moved, nodes, and what its record lacks.",
    build="harvest_dask_runs.views.summary:run_summary",
    requires=JOINED,
    settings=RUN_SETTING,
    columns=SUMMARY_COLUMNS,
)

_SILENT: Final = "null where it reported nothing and the scheduler credits it with no execution"
_MOVED: Final = "null where it reported nothing, or the run has no record of transfers"
_CAPTURED: Final = "null where it was not captured"

WORKER_COLUMNS: Final = (
    WORKER,
    RUN,
    Column(
        "executed",
        doc="Executions on it, failed and unended ones included, by its own record or the "
        f"scheduler's; {_SILENT}.",
    ),
    seconds(
        "busy_s",
        f"Sum of the durations of its executions that ended; {_SILENT}, or no execution "
        "was seen to end.",
    ),
    seconds("occupied_s", "Time in which at least one of these ran; null where busy_s is."),
    Column(
        "nthreads",
        doc="How many threads it has for tasks: as its own process recorded it, the scheduler when "
        "it came, or the logs; null where these say nothing, or name several numbers.",
    ),
    size(
        "bytes_received",
        f"Bytes that it received, by its own reports; {_MOVED}, or of none its bytes.",
    ),
    size("bytes_sent", f"Bytes that it sent, by its own reports; {_MOVED}, or of none its bytes."),
    Column(
        "reported",
        doc="Whether it reported transitions or transfers, or its process was captured. A worker "
        "that reported nothing was not necessarily idle.",
    ),
    Column("host", doc="Host in its address, as text or number; null where it goes by a name."),
    Column(
        "registered", doc=f"Whether the scheduler's events or log have it come; {_NO_REGISTRATION}."
    ),
    Column(
        "registered_time",
        doc="When it first came, by the scheduler's events, else its log; null where neither says.",
    ),
    Column(
        "removed_time",
        doc="When it last went, by the scheduler's events, else its log; null where neither says.",
    ),
    Column(
        "unended",
        doc="Executions that were not seen to end, which count in no time here; null where none "
        "is recorded, and it did not record its executions itself.",
    ),
    Column(
        "transitions",
        doc="Transitions of tasks that it reported; null where it reported nothing, or no worker "
        "of the run recorded what it executed.",
    ),
    Column(
        "transfers",
        doc=f"Transfers that it reported, as the side that sends or receives; {_MOVED}.",
    ),
    Column(
        "first_report",
        doc="First time in what it reported, or in its capture; null where it reported nothing.",
    ),
    Column(
        "last_report",
        doc="Last time in what it reported, or in its capture; null where it reported nothing.",
    ),
    Column("name", doc=f"Name of the worker; {_CAPTURED}, or has none."),
    Column("hostname", doc=f"Host of its process, as the host gives it; {_CAPTURED}."),
    number("pid", f"Its process id, of the last one where it had several; {_CAPTURED}."),
    Column("lost", doc=f"Whether the record of its process stops without an end; {_CAPTURED}."),
    seconds(
        "clock_offset_s",
        "To be added to its times for the scheduler's, as measured last; null where it was not "
        "captured or measured.",
    ),
    Column(
        "threads",
        doc="Threads (pthread ids) that ran its executions, as the scheduler or itself recorded; "
        "null where it executed some, or may have, and neither names a thread.",
    ),
)

WORKERS: Final = View(
    name="dask.workers",
    doc="One row per worker and run: when it came and went, what it executed and moved, and "
    "whether it reported anything.",
    build="harvest_dask_runs.views.workers:workers",
    requires=JOINED,
    settings=RUN_SETTING,
    columns=WORKER_COLUMNS,
)
