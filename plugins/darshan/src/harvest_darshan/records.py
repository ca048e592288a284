"""The record types of Darshan logs.

The record types of modules are built from the tables in :mod:`.counters`: a column per counter,
with Darshan's name. A column is null if the log's version does not have the counter.
"""

import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from harvest import Record, UInt64, field, record

from .counters import COUNTERS, TIMERS, describe, unit_of


@record("darshan.job", layer="job", level="job")
class Job(Record):
    """The job record of a log: one row per readable log."""

    job_id: int = field(role="job", doc="Job id of the scheduler, or the process id without one.")
    uid: int = field(role="user", doc="Numeric user id.")
    exe: str | None = field(role="subject", doc="Command line, cut by Darshan.")
    nprocs: int = field(doc="Number of MPI processes; 1 for a process without MPI.")
    start_time: datetime = field(role="time", doc="When Darshan started.")
    end_time: datetime | None = field(role="end_time", doc="When Darshan ended; null if killed.")
    run_time_s: float | None = field(unit="s", doc="End minus start, as Darshan computes it.")
    log_version: str = field(doc="Version of the log format.")
    hostname: str | None = field(role="host", doc="Host, if all records have the same one.")
    pid: int | None = field(role="pid", doc="Process id of rank 0, from the log's file name.")
    modules: list[str] = field(doc="Modules of the log, in Darshan's spelling.")
    partial_modules: list[str] = field(
        doc="Modules with incomplete records, because Darshan ran out of memory."
    )
    unread_modules: list[str] = field(doc="Modules that were not read; `harvest rejects` says why.")
    module_versions: dict[str, int] = field(doc="Version of each module's record format.")
    dxt_layout: str | None = field(
        doc="Layout of DXT_POSIX segments: stock, or pthread_id with a thread each."
    )
    compression: str = field(doc="Compression of the log's regions: zlib, bzip2 or none.")
    metadata: dict[str, str] = field(doc="Key and value pairs of the job record.")
    sha256: str | None = field(doc="SHA-256 of the log's bytes; logs with the same one are copies.")


@record("darshan.file", layer="system", level="process")
class File(Record):
    """One entry of the log's map of names."""

    record_id: UInt64 = field(doc="Darshan's hash of the name.")
    path: str = field(role="subject", doc="The name; bytes that are not UTF-8 as \\xNN.")
    mount_point: str | None = field(doc="Mount point of the file system of the path.")
    fs_type: str | None = field(doc="Type of the file system.")


@record("darshan.mount", layer="system", level="job")
class Mount(Record):
    """One mounted file system of the job's mount table."""

    mount_point: str = field(role="subject", doc="Mount point.")
    fs_type: str = field(doc="Type of the file system.")


@record("darshan.dxt_segment", layer="system", level="thread")
class DxtSegment(Record):
    """One read or write traced by Darshan's extended tracing (DXT)."""

    module: str = field(doc="DXT_POSIX or DXT_MPIIO.")
    record_id: UInt64 = field(doc="Record id of the file.")
    path: str | None = field(role="subject", doc="Path of the file.")
    rank: int = field(doc="MPI rank.")
    shared_record: int = field(doc="-1 in the record of a file that ranks share.")
    hostname: str | None = field(role="host", doc="Host of the process.")
    pid: int | None = field(role="pid", doc="Process id, if the log has that of this rank.")
    thread: int | None = field(
        role="thread", doc="pthread id; null in stock Darshan, which does not record it."
    )
    op: str = field(doc="read or write.")
    segment: int = field(doc="Number among the reads or writes of the record, from 0.")
    offset: int | None = field(unit="bytes", doc="Offset in the file; null in DXT_MPIIO version 1.")
    length: int = field(unit="bytes", doc="Bytes requested.")
    start_time: datetime | None = field(role="time", doc="Start: start of the job plus start_s.")
    end_time: datetime | None = field(role="end_time", doc="End: start of the job plus end_s.")
    start_s: float = field(unit="s", doc="Start, in seconds after the start of the job.")
    end_s: float = field(unit="s", doc="End, in seconds after the start of the job.")
    job_id: int = field(role="job", doc="Job id of the log.")


@record("darshan.heatmap", layer="system", level="process")
class Heatmap(Record):
    """Bytes one process read and wrote through one module, per interval of time."""

    record_id: UInt64 = field(doc="Record id of the heat map.")
    rank: int = field(doc="MPI rank.")
    path: str | None = field(role="subject", doc="Name of the heat map, for example heatmap:POSIX.")
    hostname: str | None = field(role="host", doc="Host of the process, if the log has it.")
    pid: int | None = field(role="pid", doc="Process id, if the log has that of this rank.")
    job_id: int = field(role="job", doc="Job id of the log.")
    first_time: datetime = field(role="time", doc="Start of the first interval.")
    HEATMAP_F_BIN_WIDTH_SECONDS: float = field(unit="s", doc="Length of an interval.")
    HEATMAP_NBINS: int = field(doc="Number of intervals.")
    HEATMAP_READ_BINS: list[int] = field(unit="bytes", doc="Bytes read in each interval.")
    HEATMAP_WRITE_BINS: list[int] = field(unit="bytes", doc="Bytes written in each interval.")


_Columns: TypeAlias = Mapping[str, tuple[Any, Any]]
"""Annotation and field of each column, by its name."""

_BASE: _Columns = {
    "record_id": (UInt64, field(doc="Darshan's hash of the name.")),
    "rank": (int, field(doc="MPI rank; -1 for a record that all ranks share.")),
    "path": (
        str | None,
        field(role="subject", doc="Name of the record, usually a path; null if not in the log."),
    ),
    "hostname": (str | None, field(role="host", doc="Host of the process, if the log has it.")),
    "pid": (int | None, field(role="pid", doc="Process id, if the log has that of this rank.")),
    "job_id": (int, field(role="job", doc="Job id of the log.")),
}
_TIMES: _Columns = {
    "first_time": (
        datetime | None,
        field(role="time", doc="Earliest start timestamp of the record, as a time."),
    ),
    "last_time": (
        datetime | None,
        field(role="end_time", doc="Latest end timestamp of the record, as a time."),
    ),
}
_FILE_ID: Final = (UInt64 | None, field(doc="Record id of its file."))
_UUIDS: _Columns = {
    "pool_uuid": (str | None, field(doc="UUID of the DAOS pool.")),
    "cont_uuid": (str | None, field(doc="UUID of the DAOS container.")),
}


OF_MODULE: dict[str, type[Record]] = {}
"""Record type of each module with counters, by Darshan's name of the module."""


def _counter(name: str) -> tuple[Any, Any]:
    kind: Any = float | None if "_F_" in name else int | None
    if name == "POSIX_RENAMED_FROM":  # the id of a record, which is unsigned
        kind = UInt64 | None
    return kind, field(unit=unit_of(name), doc=describe(name), default=None)


def _of_module(
    module: str, doc: str, after: _Columns | None = None, *, before: _Columns | None = None
) -> type[Record]:
    """Build the record class of a module, with a column per counter.

    before, after: further columns, before and after the counters.
    """
    type_name = module.lower().replace("-", "").replace("/", "")
    name = "".join(word.capitalize() for word in type_name.split("_"))
    counters = (*COUNTERS.get(module, ()), *TIMERS.get(module, ()))
    timed = any(counter.endswith("_START_TIMESTAMP") for counter in counters)
    columns = {
        **_BASE,
        **(before or {}),
        **(_TIMES if timed else {}),
        **{counter: _counter(counter) for counter in counters},
        **(after or {}),
    }
    namespace: dict[str, Any] = {column: value for column, (_, value) in columns.items()}
    namespace["__annotations__"] = {column: kind for column, (kind, _) in columns.items()}
    namespace.update(__doc__=doc, __module__=__name__, __qualname__=name)
    made = type(name, (Record,), namespace)
    of_type = record(f"darshan.{type_name}", layer="system", level="process")
    OF_MODULE[module] = typing.cast("type[Record]", of_type(made))
    return OF_MODULE[module]


Posix = _of_module(
    "POSIX", "One process's POSIX I/O on one file, or that of all processes on a shared file."
)
Stdio = _of_module("STDIO", "Buffered I/O of C's standard library on one file.")
Mpiio = _of_module("MPI-IO", "MPI-IO on one file.")
H5f = _of_module("H5F", "Use of one HDF5 file.")
H5d = _of_module("H5D", "I/O on one HDF5 dataset.", before={"H5D_FILE_REC_ID": _FILE_ID})
PnetcdfFile = _of_module(
    "PNETCDF_FILE",
    "Use of one PnetCDF file.",
    {
        f"PNETCDF_{short}_OPENS": (
            int | None,
            field(doc=f"{word} opens, in records before version 3."),
        )
        for short, word in (("INDEP", "Independent"), ("COLL", "Collective"))
    },
)
PnetcdfVar = _of_module(
    "PNETCDF_VAR", "I/O on one PnetCDF variable.", before={"PNETCDF_VAR_FILE_REC_ID": _FILE_ID}
)
Bgq = _of_module("BG/Q", "The Blue Gene/Q partition of a job.")
Lustre = _of_module(
    "LUSTRE",
    "One component of a file's Lustre layout: one row per component.",
    {
        "LUSTRE_COMP_POOL_NAME": (str | None, field(doc="OST pool; null if none is named.")),
        "LUSTRE_COMP_OST_IDS": (list[int] | None, field(doc="OSTs of the component.")),
        "LUSTRE_NUM_COMPONENTS": (int, field(doc="Components of the layout.")),
        "LUSTRE_OSTS": (int | None, field(doc="OSTs of the file system, in version 1.")),
        "LUSTRE_MDTS": (int | None, field(doc="MDTs of the file system, in version 1.")),
        "LUSTRE_STRIPE_OFFSET": (
            int | None,
            field(doc="OST offset requested when the file was made, in version 1."),
        ),
    },
    before={"component": (int | None, field(doc="Number of the component, from 0; null if none."))},
)
Mdhim = _of_module(
    "MDHIM",
    "Use of an MDHIM key-value store.",
    {"MDHIM_SERVER_HISTOGRAM": (list[int], field(doc="Operations sent to each server."))},
)
Dfs = _of_module("DFS", "I/O on one file of a DAOS file system.", _UUIDS)
Daos = _of_module(
    "DAOS",
    "I/O on one DAOS object.",
    {
        **_UUIDS,
        "oid_hi": (UInt64, field(doc="High half of the object's id.")),
        "oid_lo": (UInt64, field(doc="Low half of the object's id.")),
    },
)
Apmpi = _of_module(
    "APMPI",
    "MPI calls of one process (AutoPerf): counts, bytes, message sizes and times by name.",
    {
        "counters": (dict[str, UInt64], field(doc="For example MPI_SEND_CALL_COUNT.")),
        "timers": (dict[str, float], field(unit="s", doc="For example MPI_SEND_TOTAL_TIME.")),
        "sync_flag": (int, field(doc="Whether synchronisation times were recorded.")),
        "MPI_TOTAL_COMM_TIME_VARIANCE": (float, field(doc="Variance among all processes.")),
        "MPI_TOTAL_COMM_SYNC_TIME_VARIANCE": (float, field(doc="Variance among all processes.")),
    },
)
Apxc = _of_module(
    "APXC",
    "Counters of one Cray XC router (AutoPerf), by name.",
    {
        **{
            place: (int, field(doc=f"{place.capitalize()} of the router."))
            for place in ("group", "chassis", "blade", "node")
        },
        "counters": (
            dict[str, UInt64],
            field(doc="Flits and stalls, for example APXC_AR_RTR_0_0_INQ_PRF_ROWBUS_STALL_CNT."),
        ),
        **{
            f"n{part}": (int, field(doc=f"{part.capitalize()} of the job."))
            for part in ("blades", "chassis", "groups")
        },
        "memory_mode": (int, field(doc="Memory mode of the nodes, in Darshan's code.")),
        "cluster_mode": (int, field(doc="Cluster mode of the nodes, in Darshan's code.")),
        "appid": (UInt64, field(doc="Application id.")),
    },
)

ALL: tuple[type[Record], ...] = (
    *(Job, File, Mount, Posix, Stdio, Mpiio, H5f, H5d, PnetcdfFile, PnetcdfVar, Lustre, Heatmap),
    *(DxtSegment, Bgq, Mdhim, Apxc, Apmpi, Dfs, Daos),
)
