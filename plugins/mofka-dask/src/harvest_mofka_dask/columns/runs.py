"""Columns of ``dask.run_summary`` and ``dask.workers``."""

from __future__ import annotations

from typing import Final

from harvest import Column

from .common import RUN, WORKER, number, seconds, size

__all__ = ["RUN_SUMMARY", "WORKERS"]

RUN_SUMMARY: Final = (
    RUN,
    seconds("wall_s", doc="last_time - first_time; null where the record has no time at all."),
    Column("tasks", doc="Distinct keys in any record."),
    Column("workers", doc="Workers that registered."),
    size(
        "bytes_moved",
        doc="Bytes moved between workers and to clients, each movement once: per pair the larger "
        "of what its two sides reported.",
    ),
    Column("erred_tasks", doc="Tasks that erred in the scheduler's or a worker's record."),
    Column("complete", doc="Whether completeness_notes is empty."),
    Column(
        "first_time",
        doc="First recorded event; that of the logs only where nothing else has a time, since "
        "their zone is declared and not recorded. Null where nothing has.",
    ),
    Column("last_time", doc="Last recorded event, likewise; null where nothing has a time."),
    Column("completeness_notes", doc="What the record lacks, in sentences."),
    Column("unfinished_tasks", doc="Tasks last seen waiting, queued, processing, ..."),
    Column("graph_tasks", doc="Distinct keys in graphs."),
    Column("task_groups", doc="Dask's groups of tasks, which the scheduler alone records."),
    Column("task_prefixes", doc="Kinds of tasks in any record."),
    Column("graphs", doc="Graphs that clients sent."),
    Column("clients", doc="Distinct clients that came or sent a graph."),
    Column("workers_reported", doc="Workers that reported anything themselves."),
    Column("silent_workers", doc="Addresses of workers that registered and reported nothing."),
    Column("unregistered_workers", doc="Addresses or names of workers that reported unregistered."),
    Column("transfers", doc="Reports of transfers: one by each side that reported it."),
    Column("transfer_copies", doc="Rows of the input that these were folded from."),
    size("bytes_received", doc="Bytes received, as the receiving sides reported."),
    size("bytes_sent", doc="Bytes sent, to clients too, as the sending sides reported."),
    size("bytes_to_clients", doc="The part of bytes_sent that went to clients."),
    Column("scheduler_transitions", doc="Transitions of tasks that the scheduler recorded."),
    Column("worker_transitions", doc="Transitions of tasks that workers recorded."),
    Column("data_failures", doc="Events that the consumer could not parse."),
    Column("processes", doc="Processes with a capture file; 0 for runs that were not captured."),
    Column(
        "lost_processes",
        doc="Captured processes whose record stops without an end, each with its last time.",
    ),
    Column(
        "blind_spells",
        doc="Spells in which a captured process could record nothing, each with the process.",
    ),
    Column("nodes", doc="Hosts by role, as the job's files or captures name them."),
    Column("directives", doc="Directives of the batch script."),
)

_TRANSITIONS: Final = "null where neither the scheduler nor the worker recorded a transition"
_CAPTURED: Final = "null where it was not captured"

WORKERS: Final = (
    WORKER,
    RUN,
    Column(
        "executed",
        doc="Executions on it, failed and unended ones included, by its own record or the "
        f"scheduler's; {_TRANSITIONS}.",
    ),
    seconds(
        "busy_s",
        doc=f"Sum of the durations of its executions that ended; {_TRANSITIONS}, or no execution "
        "was seen to end.",
    ),
    seconds(
        "occupied_s",
        doc="Time in which at least one of these ran; null where busy_s is.",
    ),
    Column(
        "nthreads",
        doc="How many threads it has for tasks: as its own process recorded it, the scheduler when "
        "it came, or the logs; null where these say nothing, or name several numbers.",
    ),
    size("bytes_received", doc="Bytes that it received, by its own reports."),
    size("bytes_sent", doc="Bytes that it sent, by its own reports."),
    Column(
        "reported",
        doc="Whether it reported transitions or transfers, or its process was captured. A worker "
        "that reported nothing was not necessarily idle.",
    ),
    Column("host", doc="Host in its address, as text or number; null where it goes by a name."),
    Column("registered", doc="Whether the scheduler's events or log have it come."),
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
        doc=f"Executions that were not seen to end, which count in no time here; {_TRANSITIONS}.",
    ),
    Column("transitions", doc="Transitions of tasks that it reported."),
    Column("transfers", doc="Transfers that it reported, as the side that sends or receives."),
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
    number("pid", doc=f"Its process id, of the last one where it had several; {_CAPTURED}."),
    Column(
        "lost",
        doc=f"Whether the record of its process stops without an end; {_CAPTURED}.",
    ),
    seconds(
        "clock_offset_s",
        doc="To be added to its times for the scheduler's, as measured last; null where it was not "
        "captured or measured.",
    ),
    Column(
        "threads",
        doc="Threads (pthread ids) that ran its executions, as the scheduler recorded it; null "
        "where it executed some, or may have, and the scheduler names no thread.",
    ),
)
