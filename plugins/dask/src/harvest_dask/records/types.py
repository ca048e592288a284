"""Record types of a Dask run: what its scheduler, workers, clients and job files record.

A reader of whatever recorder yields rows of these.  ``RECORD_TYPES`` are those that events, logs
and the files of a job can give, ``CAPTURED_TYPES`` those that need a recorder in each process.
Keys of tasks are spelled the same in all types: a plain string key as itself, a tuple key as
Python's ``str`` prints it (``('array-8838', 127)``); ``literals`` spells them so.  Names
of files in the texts are those that the Mofka-Dask coupler's consumer writes.
"""

from __future__ import annotations

from datetime import datetime

import attrs

import harvest
from harvest import Record, field

__all__ = [
    *("CAPTURED_TYPES", "RECORD_TYPES", "ClientEvent", "Environment", "Event", "Execution"),
    *("GraphTask", "KeySize", "LogEvent", "Process", "RunConfig", "RunDirective", "RunNode"),
    *("RunSoftware", "TaskTransition", "Transfer", "WorkerEvent", "WorkerSample"),
    "WorkerTransition",
]


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
    are merged into it.
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
    undecided_times: str | None = field(
        doc="time, where it may be later: clocks that are set back, mostly by an hour, show times "
        "twice, and where the log's order does not decide it, the first occurrence is given."
    )
    source: str | None = field(doc="scheduler, worker, client or consumer: whose log it is.")
    level: str | None = field(doc="Level of the line, lower case: info, warning, error.")
    message: str = field(doc="The text, with continuation lines.")
    kind: str = field(
        doc="What happened: registration, removal, death, start, stop, threads, memory, "
        "local_directory, connection, client, data_failure, blind, lost, warning, error, other."
    )
    worker: str | None = field(role="subject", doc="Worker that it mentions.")
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


@harvest.record("dask.process", layer="workflow", level="process")
class Process(Record):
    """A process whose capture file was read: one row per file.

    Times are those of the process's own clock, as in all rows of its file; add
    ``clock_offset_s`` to them to have the scheduler's.
    """

    role: str | None = field(doc="scheduler, worker or client.")
    process: str | None = field(doc="Id of the process: host, process id, and a random part.")
    address: str | None = field(role="subject", doc="Its address; of a client, the client's id.")
    name: str | None = field(doc="Name of the worker, where it has one.")
    host: str | None = field(role="host", doc="Name of its host, as the host gives it.")
    pid: int | None = field(role="pid", doc="Its process id.")
    python: str | None = field(doc="Version of its Python.")
    nthreads: int | None = field(doc="Threads that a worker has for tasks.")
    memory_limit_bytes: int | None = field(unit="bytes", doc="Memory that a worker may use.")
    start_time: datetime | None = field(role="time", doc="When its record begins.")
    end_time: datetime | None = field(
        role="end_time", doc="When its record ended properly; null where it did not."
    )
    last_time: datetime | None = field(doc="The latest time in its record.")
    reason: str | None = field(doc="Why its record ended, as it says itself; null without end.")
    clock_offset_s: float | None = field(
        unit="s", doc="To be added to its times for the scheduler's; as measured last."
    )
    clock_round_trip_s: float | None = field(unit="s", doc="Round trip of that measurement.")
    scheduler: str | None = field(doc="Address of its scheduler.")
    local_directory: str | None = field(doc="Where a worker keeps its files.")
    resources: dict[str, str] | None = field(doc="Resources that a worker offers, as text.")
    capture: str | None = field(doc="Id of the capture, as capture.json has it.")
    frames: int = field(doc="Frames of its file that were read.")
    cut_bytes: int = field(
        unit="bytes", doc="Bytes at the end of the file of a frame that was being written."
    )
    script: str | None = field(doc="Path of the script or notebook that a client runs.")
    script_sha256: str | None = field(doc="SHA-256 of the script, as hex.")
    script_size_bytes: int | None = field(unit="bytes", doc="Size of the script.")
    script_arguments: list[str] | None = field(doc="The client's command line.")
    notebook: bool | None = field(doc="Whether the client is a notebook.")


@harvest.record("dask.execution", layer="workflow", level="worker")
class Execution(Record):
    """A worker executed a task, or tried to: one row per attempt, as the worker itself saw it.

    Views take times and thread of an execution from here, and else from the transitions, which all
    records of runs have.
    """

    begins: datetime | None = field(role="time", doc="When it began.")
    ends: datetime | None = field(role="end_time", doc="When it ended.")
    duration_s: float | None = field(unit="s", doc="ends - begins.")
    key: str = field(role="subject", doc="Key of the task, in its canonical spelling.")
    worker: str | None = field(doc="Address of the worker.")
    thread: int | None = field(role="thread", doc="Thread that ran it, as its pthread id.")
    status: str = field(doc="finished, error, rescheduled, ...")


@harvest.record("dask.worker_sample", layer="workflow", level="worker")
class WorkerSample(Record):
    """What a worker, or the scheduler, used at a moment; one row per interval."""

    time: datetime = field(role="time", doc="When it was looked at.")
    role: str | None = field(doc="worker or scheduler.")
    address: str | None = field(role="subject", doc="Address of the worker or scheduler.")
    cpu_percent: float | None = field(unit="%", doc="Of one core.")
    memory_bytes: int | None = field(unit="bytes", doc="Memory of the process.")
    managed_bytes: int | None = field(unit="bytes", doc="Of results that the worker holds.")
    spilled_bytes: int | None = field(unit="bytes", doc="Of results that it holds on disk.")
    disk_read_bytes: int | None = field(
        unit="bytes", doc="Read from disks by the process since it began."
    )
    disk_write_bytes: int | None = field(
        unit="bytes", doc="Written to disks by the process since it began."
    )
    net_read_bytes: int | None = field(
        unit="bytes", doc="Received by the host's network interfaces since it began."
    )
    net_write_bytes: int | None = field(
        unit="bytes", doc="Sent by the host's network interfaces since it began."
    )
    fds: int | None = field(doc="Open file descriptors.")
    executing: int | None = field(doc="Tasks that it executes.")
    ready: int | None = field(doc="Tasks that wait for a thread.")
    event_loop_s: float | None = field(
        unit="s", doc="By how much the event loop was late for the sample."
    )
    spills: int | None = field(doc="Results that the worker moved to disk since it began.")
    spill_bytes: int | None = field(unit="bytes", doc="Written to disk for them.")
    unspills: int | None = field(doc="Results that it took back from disk since it began.")
    unspill_bytes: int | None = field(unit="bytes", doc="Read from disk for them.")


@harvest.record("dask.event", layer="workflow", level="scheduler")
class Event(Record):
    """Something else that a process recorded: an event of Dask's log of events, a span, ...

    What a capture holds of a kind that this version does not know is here, too: ``topic`` is the
    kind, and ``fields`` has its values.
    """

    time: datetime | None = field(role="time", doc="When it happened.")
    topic: str = field(doc="stealing, span, spill, snapshot, clock, graph_code, ...")
    message: str | None = field(doc="What happened, as JSON or text.")
    role: str | None = field(doc="scheduler, worker or client: who recorded it.")
    address: str | None = field(role="subject", doc="Address of the process that recorded it.")
    fields: dict[str, str] | None = field(doc="Its values as text, by name.")


@harvest.record("run.environment", layer="job", level="config")
class Environment(Record):
    """A variable of a process's environment."""

    name: str = field(role="subject", doc="Name of the variable.")
    value: str | None = field(doc="Its value; *** where it looks secret.")
    process: str | None = field(doc="Id of the process.")


RECORD_TYPES: tuple[type[Record], ...] = (
    *(TaskTransition, WorkerTransition, Transfer, WorkerEvent, ClientEvent, GraphTask),
    *(LogEvent, RunNode, RunDirective, RunSoftware, RunConfig),
)

CAPTURED_TYPES: tuple[type[Record], ...] = (Process, Execution, WorkerSample, Event, Environment)
