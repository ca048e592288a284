"""Record types of a Dask run: what its scheduler, workers, clients and job files record.

Readers of any recorder yield rows of these.  ``RECORD_TYPES`` come from events, logs and the files
of a job, ``CAPTURED_TYPES`` need a recorder in each process.
Keys of tasks are spelled the same in all types: a plain string key as itself, a tuple key as
Python's ``str`` prints it (``('array-8838', 127)``); ``literals`` spells them so.  Names
of files in the texts are those that the Mofka-Dask coupler's consumer writes.
"""

from datetime import datetime
from functools import partial

import attrs

import harvest
from harvest import Record, field

__all__ = [
    *("CAPTURED_TYPES", "RECORD_TYPES", "ClientEvent", "Environment", "Event", "Execution"),
    *("GraphTask", "KeySize", "LogEvent", "Process", "RunConfig", "RunDirective", "RunNode"),
    *("RunSoftware", "TaskTransition", "Transfer", "WorkerEvent", "WorkerSample"),
    "WorkerTransition",
]

_size = partial(field, unit="bytes")
_captured = partial(field, default=None)


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
    ends: datetime | None = field(role="end_time", doc="When it ended, in the worker's clock.")
    duration_s: float | None = field(unit="s", doc="ends - begins, measured by the worker.")
    size_bytes: int | None = field(unit="bytes", doc="Size of the task's result.")
    result_type: str | None = field(doc="Type of the task's result; in captures only.")
    run_id: int | None = field(doc="Number of the worker's attempt; in captures only.")
    exception: str | None = field(doc="Exception of an erred task; in captures only.")
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

    One row per transfer and side: usually the receiver and the sender each report a movement once.
    Rows that repeat an earlier one in all but ``time`` are merged into it.
    """

    start_time: datetime | None = field(role="time", doc="When the transfer began.")
    end_time: datetime | None = field(role="end_time", doc="When it ended.")
    duration_s: float | None = field(unit="s", doc="Duration, measured by the worker.")
    keys: list[KeySize] | None = field(doc="The tasks whose data moved, with the size of each.")
    total_bytes: int | None = field(unit="bytes", doc="Size of all data moved.")
    compressed_bytes: int | None = _size(doc="Size on the wire; only the sender records it.")
    bandwidth: float | None = field(unit="bytes/s", doc="Bandwidth, computed by the worker.")
    direction: str = field(doc="incoming or outgoing, seen from worker.")
    requestor: str | None = field(doc="Worker that received the data; null if a client did.")
    fulfiller: str | None = field(doc="Worker that sent the data.")
    worker: str | None = field(role="subject", doc="Worker that reported the transfer.")
    time: datetime | None = field(doc="When the worker first reported it.")
    copies: int = field(default=1, doc="How often the input has this transfer.")
    middle: datetime | None = field(
        doc="The worker's estimate of the transfer's middle; may be outside it."
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
    memory_limit_bytes: int | None = _size(doc="Memory that it may use; in captures only.")
    resources: str | None = field(doc="Its resources, as text; in captures only.")
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

    A row of the input is a whole graph; position numbers the tasks of the file from 1, and
    ``graph`` is the row of the task.
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
    Captures add times in which a process could not record, and processes whose record has no end.
    """

    time: datetime | None = field(role="time", doc="When it was logged, in the declared time zone.")
    undecided_times: str | None = field(
        doc="time, if it may be later. A clock that is set back shows times twice; unless the "
        "log's order decides, time is the first occurrence."
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
    compiler: str | None = field(default=None, doc="Compiler it was built with, where listed.")
    process: str | None = _captured(doc="Id of the process that has it; in captures only.")


@harvest.record("run.config", layer="job", level="config")
class RunConfig(Record):
    """One setting of a configuration file, with its nested key in dotted form."""

    file: str = field(doc="Name of the configuration file, or of the capture file.")
    key: str = field(role="subject", doc="Key, nested levels joined by dots, list items by number.")
    value: str | None = field(doc="Value as text.")
    process: str | None = _captured(doc="Id of the process that had it; in captures only.")


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
    host: str | None = field(role="host", doc="Name of its host.")
    pid: int | None = field(role="pid", doc="Its process id.")
    python: str | None = field(doc="Version of its Python.")
    nthreads: int | None = field(doc="Threads that a worker has for tasks.")
    memory_limit_bytes: int | None = field(unit="bytes", doc="Memory that a worker may use.")
    start_time: datetime | None = field(role="time", doc="When its record begins.")
    end_time: datetime | None = field(
        role="end_time", doc="When its record ended; null for a record without an end."
    )
    last_time: datetime | None = field(doc="The latest time in its record.")
    reason: str | None = field(doc="Why its record ended; null without an end.")
    clock_offset_s: float | None = field(
        unit="s", doc="Add it to its times to have the scheduler's; as measured last."
    )
    clock_round_trip_s: float | None = field(unit="s", doc="Round trip of that measurement.")
    scheduler: str | None = field(doc="Address of its scheduler.")
    local_directory: str | None = field(doc="Where a worker keeps its files.")
    resources: dict[str, str] | None = field(doc="Resources that a worker offers, as text.")
    capture: str | None = field(doc="Id of the capture, from capture.json.")
    frames: int = field(doc="Frames of its file that were read.")
    cut_bytes: int = field(unit="bytes", doc="Bytes of an incomplete frame at the end of the file.")
    script: str | None = field(doc="Path of the script or notebook that a client runs.")
    script_sha256: str | None = field(doc="SHA-256 of the script, as hex.")
    script_size_bytes: int | None = field(unit="bytes", doc="Size of the script.")
    script_arguments: list[str] | None = field(doc="The client's command line.")
    notebook: bool | None = field(doc="Whether the client is a notebook.")


@harvest.record("dask.execution", layer="workflow", level="worker")
class Execution(Record):
    """An attempt of a worker to execute a task, by the worker's record.

    Views take times and thread of an execution from here, else from the transitions, which all
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
    """Resources that a worker or the scheduler used; one row per interval."""

    time: datetime = field(role="time", doc="When the sample was taken.")
    role: str | None = field(doc="worker or scheduler.")
    address: str | None = field(role="subject", doc="Address of the worker or scheduler.")
    cpu_percent: float | None = field(unit="%", doc="CPU time, in percent of one core.")
    memory_bytes: int | None = field(unit="bytes", doc="Memory of the process.")
    managed_bytes: int | None = field(unit="bytes", doc="Memory of results on the worker.")
    spilled_bytes: int | None = field(unit="bytes", doc="Results of the worker on disk.")
    disk_read_bytes: int | None = _size(doc="Read from disks by the process since it began.")
    disk_write_bytes: int | None = _size(doc="Written to disks by the process since it began.")
    net_read_bytes: int | None = _size(
        doc="Received by the host's network interfaces since it began."
    )
    net_write_bytes: int | None = _size(doc="Sent by the host's network interfaces since it began.")
    fds: int | None = field(doc="Open file descriptors.")
    executing: int | None = field(doc="Tasks that it is executing.")
    ready: int | None = field(doc="Tasks that wait for a thread.")
    event_loop_s: float | None = field(unit="s", doc="Delay of the event loop at the sample.")
    spills: int | None = field(doc="Results that the worker moved to disk since it began.")
    spill_bytes: int | None = field(unit="bytes", doc="Written to disk for them.")
    unspills: int | None = field(doc="Results that it took back from disk since it began.")
    unspill_bytes: int | None = field(unit="bytes", doc="Read from disk for them.")


@harvest.record("dask.event", layer="workflow", level="scheduler")
class Event(Record):
    """Anything else that a process recorded: an event of Dask's log of events, a span, ...

    Frames of an unknown kind are here, too: ``topic`` is the kind, and ``fields`` has its values.
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
    value: str | None = field(doc="Its value; *** for secrets.")
    process: str | None = field(doc="Id of the process.")


RECORD_TYPES: tuple[type[Record], ...] = (
    *(TaskTransition, WorkerTransition, Transfer, WorkerEvent, ClientEvent, GraphTask),
    *(LogEvent, RunNode, RunDirective, RunSoftware, RunConfig),
)

CAPTURED_TYPES: tuple[type[Record], ...] = (Process, Execution, WorkerSample, Event, Environment)
