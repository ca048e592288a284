"""The record type ``pbs.record``, and which keys of a record its columns come from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import harvest
from harvest import Record, field
from harvest_toolkit.values import CLOCK, EPOCH, INTEGER, SIZE, TEXT, Kind

__all__ = ["KNOWN", "PbsRecord"]


@harvest.record("pbs.record", layer="job", level="job")
class PbsRecord(Record):
    """One record of an accounting file: something that happened to a job or reservation."""

    time: datetime = field(role="time", doc="When it was written.")
    type: str = field(doc="Q queued, S started, E ended, R rerun, D deleted, A aborted, ...")
    id: str = field(role="job", doc="Of the job or reservation; `license` for type L.")
    user: str | None = field(role="user", doc="Who runs the job.")
    group: str | None = field(doc="The group that it runs as.")
    account: str | None = field(doc="The account that it was submitted with.")
    project: str | None = field(doc="The project that it was submitted with.")
    name: str | None = field(role="subject", doc="Name of the job.")
    queue: str | None = field(doc="The queue that it is in.")
    create_time: datetime | None = field(doc="When the job was submitted.")
    start_time: datetime | None = field(doc="When it began to run.")
    end_time: datetime | None = field(role="end_time", doc="When it ended.")
    exec_host: str | None = field(doc="Hosts, each with a slot and its CPUs: `n1/0*4+n2/0*4`.")
    select: str | None = field(doc="The chunks that were asked for: `2:ncpus=4`.")
    asked_walltime_s: float | None = field(unit="s", doc="How long it was to run at most.")
    walltime_s: float | None = field(unit="s", doc="How long it ran.")
    cpu_time_s: float | None = field(unit="s", doc="CPU time of all its processes.")
    mem_bytes: int | None = field(unit="B", doc="The most memory that it held.")
    cpus: int | None = field(doc="CPUs that it had.")
    exit_status: int | None = field(doc="Above 256: killed by a signal; below 0: by PBS itself.")
    message: str | None = field(doc="The text of records of the types A and L.")


KNOWN: Final[Mapping[str, tuple[str, Kind]]] = {
    "user": ("user", TEXT),
    "group": ("group", TEXT),
    "account": ("account", TEXT),
    "project": ("project", TEXT),
    "jobname": ("name", TEXT),
    "queue": ("queue", TEXT),
    "ctime": ("create_time", EPOCH),
    "start": ("start_time", EPOCH),
    "end": ("end_time", EPOCH),
    "exec_host": ("exec_host", TEXT),
    "Resource_List.select": ("select", TEXT),
    "Resource_List.walltime": ("asked_walltime_s", CLOCK),
    "resources_used.walltime": ("walltime_s", CLOCK),
    "resources_used.cput": ("cpu_time_s", CLOCK),
    "resources_used.mem": ("mem_bytes", SIZE),
    "resources_used.ncpus": ("cpus", INTEGER),
    "Exit_status": ("exit_status", INTEGER),
}
"""By key, the column that its values go to, and what they are."""
