"""Record types that capture directories alone bring: processes, samples, events, environment."""

from __future__ import annotations

from datetime import datetime

import harvest
from harvest import Record, field

__all__ = ["RECORD_TYPES", "Environment", "Event", "Execution", "Process", "WorkerSample"]


@harvest.record("dask.process", layer="workflow", level="process")
class Process(Record):
    """A process whose capture file was read: one row per file.

    Times are those of the process's own clock, as in all rows of its file; ``clock_offset_s`` is
    what is to be added to them to have the scheduler's.
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


RECORD_TYPES: tuple[type[Record], ...] = (Process, Execution, WorkerSample, Event, Environment)
