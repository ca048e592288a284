"""Declarations of the views of files, processes and time."""

from typing import Final

import attrs

from harvest import Column, Setting, View
from harvest.columns import count, number, path, rate, seconds, share, size, text, texts, time
from harvest.toolkit.settings import positive

from ...counters import words
from . import shared


@attrs.frozen
class SizeBin:
    """Number of operations in one of Darshan's ten size bins."""

    size: str
    reads: int
    writes: int


_BYTES: Final = "requested in traced operations, moved by counters (see basis)"
_USERS: Final = (
    "processes (log and rank) that {did} it; null where a record of all ranks counts {op}s"
)

FILE_COLUMNS: Final = (
    shared.RUN,
    path("file", "Name of the file, usually a path; null where the logs have no name."),
    shared.RECORD_ID,
    texts("basis", "Source of the numbers, in all logs together. Of each log it is the first of "
          "DXT_POSIX, DXT_MPIIO, POSIX and MPI-IO with the file, plus STDIO, and DFS or DAOS. H5D "
          "(datasets) or PNETCDF_VAR (variables) in logs without these. MPI-IO where Darshan cut "
          "POSIX off and MPI-IO has more bytes of the file."),
    count("readers", f"Number of {_USERS.format(did='read', op='read')}."),
    count("writers", f"Number of {_USERS.format(did='wrote', op='write')}."),
    size("read_bytes", f"Bytes read: {_BYTES}."),
    size("write_bytes", f"Bytes written: {_BYTES}."),
    count("reads", "Number of read operations."),
    count("writes", "Number of write operations."),
    count("operations", "Reads and writes together."),
    count("untraced_operations", "Operations that POSIX counted and DXT_POSIX did not trace; above "
          "0 where the trace ended early. No other column is corrected by it. Null where no log "
          "has both."),
    seconds("read_s", "Time in reads, summed over processes and threads."),
    seconds("write_s", "Time in writes, summed over processes and threads."),
    seconds("meta_s", "Time in metadata operations (open, stat, seek, ...), summed over processes; "
            "null where no counters have the file."),
    count("tasks", "Dask tasks that used the file (dask.task_io); null without trace or Dask run."),
    Column(
        "sizes",
        type=list[SizeBin],
        doc="Reads and writes in each of Darshan's ten size bins, without STDIO (1K_10K: 1,025 to "
        "10,240 bytes). Null where only STDIO has the file.",
    ),
    share("sequential_share", "Share of operations that start at or after the end of the last one "
          "of the same process and kind. The first of each is not sequential. From counters: "
          "POSIX_SEQ_READS and POSIX_SEQ_WRITES. Operations without a recorded order are left out "
          "(STDIO, MPI-IO counters, a trace without offsets); null where all are."),
    texts("certainty", "lower_bound where Darshan cut off a module of basis or did not finish a "
          "log, or where a number below 0 is left out. Else empty."),
)  # fmt: skip

FILES: Final = View(
    name="io.files",
    doc="One row per file and run, most bytes first: users, bytes, operations, tasks, sizes.",
    build="harvest_darshan.views.files:files",
    requires=("darshan.dxt_segment", "darshan.posix", "darshan.stdio", "darshan.mpiio"),
    settings=shared.ONE_RUN,
    columns=FILE_COLUMNS,
    first=words(
        "file run read_bytes write_bytes reads writes read_s write_s meta_s tasks",
        "sequential_share readers writers operations untraced_operations basis sizes",
    ),
)

_COUNTED: Final = (
    "as counted by POSIX, by MPI-IO for files that POSIX does not count, by STDIO, and by the "
    "others in basis of io.files; null where the log has no such module, or one was not read"
)
_NO_TRACE: Final = "0 in a log without a trace, null where a trace could not be read"
_ONCE: Final = "operations in both DXT_MPIIO and DXT_POSIX count once, as DXT_POSIX"

PROCESS_COLUMNS: Final = (
    shared.RUN,
    shared.LOG,
    text("host", "Host of the processes; null where the log names none, or several."),
    number("pid", "Process id of rank 0, from the log's file name; null where it has none."),
    text("exe", "Command line, cut by Darshan to what fits; null where the log has none."),
    count("nprocs"),
    size("traced_read_bytes", f"Bytes requested in traced reads (DXT); {_ONCE}; {_NO_TRACE}."),
    size("traced_write_bytes", f"Bytes of traced writes (DXT); {_ONCE}; {_NO_TRACE}."),
    size("counted_read_bytes", f"Bytes read {_COUNTED}."),
    size("counted_write_bytes", f"Bytes written {_COUNTED}."),
    size("untraced_read_bytes", "counted_read_bytes - traced_read_bytes; below 0 where traced "
         "reads requested more than they got; null where one of them is."),
    size("untraced_write_bytes", "counted_write_bytes - traced_write_bytes; null where one is."),
    size("stdio_read_bytes", "The STDIO part of counted_read_bytes, which DXT never traces; null "
         "if it was not read."),
    size("stdio_write_bytes", "The STDIO part of counted_write_bytes; null if it was not read."),
    shared.PARTIAL_MODULES,
    shared.CERTAINTY,
)  # fmt: skip

PROCESSES: Final = View(
    name="io.processes",
    doc="One row per log: bytes that DXT traced, bytes that counters have, and the difference.",
    build="harvest_darshan.views.processes:processes",
    requires=(
        *("darshan.job", "darshan.dxt_segment", "darshan.posix"),
        *("darshan.stdio", "darshan.mpiio"),
    ),
    settings=shared.ONE_RUN,
    columns=PROCESS_COLUMNS,
    first=words(
        "pid host run counted_read_bytes counted_write_bytes untraced_read_bytes",
        "untraced_write_bytes nprocs exe",
    ),
)

TIMELINE_COLUMNS: Final = (
    shared.RUN,
    text("host", "Host of the processes, from DXT; null where it has none."),
    shared.OP,
    time("time", "Start of the interval; null for operations without a time."),
    seconds("bin_s", "Length of the interval, the same in the whole session."),
    size("bytes", "Bytes of traced operations in the interval. The bytes of an operation are "
         "spread evenly over its time. Operations in both DXT_MPIIO and DXT_POSIX count once, as "
         "DXT_POSIX."),
    rate("bytes_per_s", "bytes / bin_s."),
    count("operations", "Traced operations that began in the interval."),
    number("uid", "Numeric id of the session's user."),
    time("began", "Start of the session: the logs of one directory and user whose times overlap."),
)  # fmt: skip

TIMELINE: Final = View(
    name="io.timeline",
    doc="Bytes per second of each host over time, as DXT traced them.",
    build="harvest_darshan.views.timeline:timeline",
    requires=("darshan.dxt_segment",),
    settings={**shared.ONE_RUN, "bin": Setting("seconds of an interval", float, check=positive)},
    columns=TIMELINE_COLUMNS,
    first=words("time host op bytes bytes_per_s operations bin_s run began"),
)
