"""Record types of a Dask run: what its scheduler, workers, clients and job files record.

Formats: the CSVs that the Mofka-Dask coupler's consumer writes with pandas, Dask's own logs, and
the files of the batch job around them; and capture directories, which bring the same types and
those of ``live.records`` beside.  Keys of tasks are spelled alike in all types: a plain
string key as itself, a tuple key as Python's ``str`` prints it (``('array-8838', 127)``).
"""

from __future__ import annotations

from datetime import datetime

import attrs

import harvest
from harvest import Record, field


@harvest.record("dask.task_transition", layer="workflow", level="scheduler")
class TaskTransition(Record):
    """A task changed its state in the scheduler (``scheduler_transition.csv``)."""

    time: datetime = field(role="time", doc="When the scheduler recorded the transition.")
    key: str = field(role="subject", doc="Key of the task, in its canonical spelling.")
    prefix: str | None = field(doc="Name of the task's prefix, shared by tasks of one kind.")
    group: str | None = field(doc="Name of the task's group, shared by tasks of one collection.")
    start_state: str = field(doc="State before: released, waiting, queued, processing, memory, ...")
    finish_state: str = field(doc="State after.")
    stimulus: str | None = field(
        doc="Kind of event that caused it: update-graph, task-finished, client-releases-keys, ..."
    )
    stimulus_id: str | None = field(doc="The stimulus as recorded: its kind and an epoch time.")
    scheduler: str | None = field(doc="Address of the scheduler.")
    worker: str | None = field(doc="Worker that ran the task; on processing -> memory only.")
    thread: int | None = field(
        role="thread", doc="Thread that ran the task, as its pthread id; on processing -> memory."
    )
    begins: datetime | None = field(doc="When the worker began to run the task.")
    ends: datetime | None = field(
        role="end_time", doc="When the worker ended it, by the worker's clock."
    )
    duration_s: float | None = field(unit="s", doc="ends - begins as the worker measured it.")
    size_bytes: int | None = field(unit="bytes", doc="Size of the task's result.")
    result_type: str | None = field(doc="Type of the task's result; in captures only.")
    run_id: int | None = field(doc="Number of the worker's attempt; in captures only.")
    exception: str | None = field(doc="What an erred task raised; in captures only.")
    cause: str | None = field(doc="Task whose error made this one erred; in captures only.")


@harvest.record("dask.worker_transition", layer="workflow", level="worker")
class WorkerTransition(Record):
    """A task changed its state in a worker (``worker_transition.csv``)."""

    time: datetime = field(role="time", doc="When the worker recorded the transition.")
    key: str = field(role="subject", doc="Key of the task, in its canonical spelling.")
    start_state: str = field(doc="State before: released, waiting, ready, executing, fetch, ...")
    finish_state: str = field(doc="State after.")
    worker: str | None = field(doc="Address (or name) of the worker.")
    stimulus: str | None = field(doc="Kind of event that caused it; in captures only.")
    stimulus_id: str | None = field(doc="The stimulus as recorded; in captures only.")


@attrs.define
class KeySize:
    """One key of a transfer and the size of its data."""

    key: str
    size_bytes: int | None = None


@harvest.record("dask.transfer", layer="workflow", level="worker")
class Transfer(Record):
    """Data of tasks moved between two workers, or to a client (``worker_transfer.csv``).

    One row per transfer and side: the same movement is usually reported once by the worker that
    receives and once by the one that sends.  Rows that repeat an earlier one in all but ``time``
    are folded into it.
    """

    start_time: datetime | None = field(role="time", doc="When the transfer began.")
    end_time: datetime | None = field(role="end_time", doc="When it ended.")
    duration_s: float | None = field(unit="s", doc="How long it took, as the worker measured it.")
    keys: list[KeySize] | None = field(doc="The tasks whose data moved, with the size of each.")
    total_bytes: int | None = field(unit="bytes", doc="Size of all data moved.")
    compressed_bytes: int | None = field(
        unit="bytes", doc="Size on the wire; recorded by the sending side only."
    )
    bandwidth: float | None = field(unit="bytes/s", doc="Bandwidth as the worker computed it.")
    direction: str = field(doc="incoming or outgoing, seen from worker.")
    requestor: str | None = field(doc="Worker that received the data; null where a client did.")
    fulfiller: str | None = field(doc="Worker that sent the data.")
    worker: str | None = field(role="subject", doc="Worker that reported the transfer.")
    time: datetime | None = field(doc="When the worker first reported it.")
    copies: int = field(default=1, doc="How often the input holds this transfer.")
    middle: datetime | None = field(
        doc="Moment that the worker reckons as the transfer's middle; may lie outside it."
    )


@harvest.record("dask.worker", layer="workflow", level="worker")
class WorkerEvent(Record):
    """A worker came or went (``worker.csv``)."""

    time: datetime | None = field(role="time", doc="When the scheduler recorded it.")
    worker: str | None = field(role="subject", doc="Address of the worker.")
    action: str | None = field(doc="add or remove.")
    stimulus_id: str | None = field(doc="What caused it, where recorded.")
    name: str | None = field(doc="Name of the worker; in captures only.")
    host: str | None = field(role="host", doc="Host of the worker; in captures only.")
    nthreads: int | None = field(doc="Threads that it has for tasks; in captures only.")
    memory_limit_bytes: int | None = field(
        unit="bytes", doc="Memory that it may use; in captures only."
    )
    resources: str | None = field(doc="Resources that it offers, as text; in captures only.")
    reason: str | None = field(doc="Why it went: expected or lost; in captures only.")


@harvest.record("dask.client", layer="workflow", level="client")
class ClientEvent(Record):
    """A client came or went (``client.csv``)."""

    time: datetime | None = field(role="time", doc="When the scheduler recorded it.")
    client: str | None = field(role="subject", doc="Id of the client.")
    action: str | None = field(doc="add or remove.")


@harvest.record("dask.graph_task", layer="workflow", level="client")
class GraphTask(Record):
    """One task of a graph that a client sent to the scheduler (``graph.csv``).

    A row of the input holds a whole graph; position numbers the tasks of the file from 1, and
    ``graph`` says which row the task was in.
    """

    time: datetime | None = field(role="time", doc="When the scheduler received the graph.")
    client: str | None = field(doc="Client that sent it.")
    key: str = field(role="subject", doc="Key of the task, in its canonical spelling.")
    dependencies: list[str] = field(doc="Keys that the task needs, sorted.")
    requested: bool = field(doc="Whether the client asked for this task's result.")
    graph: int | None = field(doc="Record number of the graph in the file, from 1.")
    stimulus_id: str | None = field(doc="Stimulus of the graph's arrival; in captures only.")
    annotations: dict[str, str] | None = field(
        doc="Annotations of the task as text, by name; in captures only."
    )


@harvest.record("dask.log_event", layer="workflow", level="scheduler")
class LogEvent(Record):
    """A line of a log that Dask's scheduler or workers, or the consumer, wrote.

    Lines without a time of their own (tracebacks, warnings) belong to the event before them.
    Captures add spells in which a process could record nothing, and processes whose record ends
    without an end.
    """

    time: datetime | None = field(role="time", doc="When it was logged, by the declared zone.")
    source: str | None = field(doc="scheduler, worker, client or consumer: whose log it is.")
    level: str | None = field(doc="Level of the line, lower case: info, warning, error.")
    message: str = field(doc="The text, with continuation lines.")
    kind: str = field(
        doc="What happened: registration, removal, death, start, stop, threads, memory, "
        "local_directory, connection, client, data_failure, blind, lost, warning, error, other."
    )
    worker: str | None = field(role="subject", doc="Worker that it speaks of.")
    fields: dict[str, str] | None = field(doc="Values read from the text, by name.")


@harvest.record("run.node", layer="job", level="job")
class RunNode(Record):
    """A host and the role it had in the run (``SchedulerNode``, ``WorkerNodes``, ...)."""

    role: str = field(doc="scheduler, client, consumer, mofka_server, worker.")
    host: str = field(role="host", doc="Name of the host.")


@harvest.record("run.directive", layer="job", level="job")
class RunDirective(Record):
    """A directive of the batch script (``#PBS`` or ``#SBATCH``)."""

    manager: str = field(doc="pbs or slurm.")
    key: str = field(role="subject", doc="Option name without dashes (walltime, A, nodes).")
    value: str | None = field(doc="Its value; null for a switch.")


@harvest.record("run.software", layer="job", level="config")
class RunSoftware(Record):
    """A software package that the job's output, or a captured process, lists."""

    name: str = field(role="subject", doc="Name of the package.")
    version: str | None = field(doc="Version, as listed.")
    compiler: str | None = field(doc="Compiler it was built with, where listed.")
    process: str | None = field(
        default=None, doc="Id of the process that has it; in captures only."
    )


@harvest.record("run.config", layer="job", level="config")
class RunConfig(Record):
    """One setting of a configuration file, with its nested key in dotted form."""

    file: str = field(doc="Name of the configuration file, or of the capture file.")
    key: str = field(role="subject", doc="Key, nested levels joined by dots, list items by number.")
    value: str | None = field(doc="Value as text.")
    process: str | None = field(
        default=None, doc="Id of the process that had it; in captures only."
    )


RECORD_TYPES: tuple[type[Record], ...] = (
    TaskTransition,
    WorkerTransition,
    Transfer,
    WorkerEvent,
    ClientEvent,
    GraphTask,
    LogEvent,
    RunNode,
    RunDirective,
    RunSoftware,
    RunConfig,
)
