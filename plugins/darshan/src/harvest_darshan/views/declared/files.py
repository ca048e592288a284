"""The views of files, processes and time, and what their columns mean, the most important first."""

from __future__ import annotations

from typing import Final

import attrs

from harvest import Column, Setting, View
from harvest.columns import count, number, path, rate, seconds, share, size, text, texts, time
from harvest.toolkit.settings import positive

from ...counters import words
from . import shared


@attrs.frozen
class SizeBin:
    """Operations of one of Darshan's ten bins of sizes."""

    size: str
    reads: int
    writes: int


_BYTES: Final = "asked for in traced operations, moved by counters (see basis)"
_USERS: Final = (
    "processes (log and rank) that {did} it; null where a record that all ranks share counts {op}s"
)

FILE_COLUMNS: Final = (
    shared.RUN,
    path("file", "Name of the file, mostly a path; null where the logs do not name it."),
    shared.RECORD_ID,
    texts("basis", "Modules that the figures come from, in all logs together: for each log the "
          "first of DXT_POSIX, DXT_MPIIO, POSIX and MPI-IO that has the file, and on top STDIO, "
          "and DFS or DAOS; H5D (datasets) or PNETCDF_VAR (variables) in logs with none of these. "
          "Where Darshan cut POSIX off and MPI-IO has more bytes of a file, MPI-IO."),
    count("readers", f"Number of {_USERS.format(did='read', op='read')}."),
    count("writers", f"Number of {_USERS.format(did='wrote', op='write')}."),
    size("read_bytes", f"Bytes read: {_BYTES}."),
    size("write_bytes", f"Bytes written: {_BYTES}."),
    count("reads", "Number of read operations."),
    count("writes", "Number of write operations."),
    count("operations", "Reads and writes together."),
    count("untraced_operations", "How many more operations POSIX counted than DXT_POSIX traced, "
          "where a log has both: above 0 where the trace ended early. No other column is corrected "
          "by it. Null where no log has both."),
    seconds("read_s", "Time in reads, summed over processes and threads."),
    seconds("write_s", "Time in writes, summed over processes and threads."),
    seconds("meta_s", "Time in metadata operations (open, stat, seek, ...), which counters alone "
            "have, summed over processes; null where no counters have the file."),
    count("tasks", "Dask tasks that read or wrote the file by dask.task_io; null without a trace, "
          "or where the logs do not lie in a Dask run."),
    Column(
        "sizes",
        type=list[SizeBin],
        doc="Number of reads and of writes in each of Darshan's ten bins of sizes (1K_10K: from "
        "1,025 to 10,240 bytes); STDIO's are in none. Null where STDIO alone has the file.",
    ),
    share("sequential_share", "Share of the operations that begin at or behind the end of the one "
          "before of the same process and kind; the first of each is not sequential. By counters "
          "it is POSIX_SEQ_READS and POSIX_SEQ_WRITES. Operations whose order is not known (STDIO, "
          "MPI-IO's counters, a trace without offsets) are left out; null where all are."),
    texts("certainty", "lower_bound where a number of a record is left out, as it cannot be, a "
          "time is below 0 and counts as 0, or Darshan cut off a module of basis or did not finish "
          "a log. Empty where none of these is so."),
)  # fmt: skip

FILES: Final = View(
    name="io.files",
    doc="One row per file and run, most bytes first: readers, writers, bytes, operations, "
    "tasks, sizes, and how sequential its use was.",
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
    "by the counters of POSIX, of MPI-IO for files that POSIX does not count, of STDIO, and of the "
    "other modules that basis of io.files names; null where the log has no such module, or one "
    "could not be read"
)
_NO_TRACE: Final = "0 in a log without a trace, null where a trace could not be read"
_ONCE: Final = "what is traced in both DXT_MPIIO and DXT_POSIX counts once, as the latter"

PROCESS_COLUMNS: Final = (
    shared.RUN,
    shared.LOG,
    text("host", "Host of the processes; null where the log names none, or several."),
    number("pid", "Process id of rank 0, from the log's file name; null where it has none."),
    text("exe", "Command line, cut by Darshan to what fits; null where the log has none."),
    count("nprocs"),
    size("traced_read_bytes", f"Bytes asked for in the reads that DXT traced; {_ONCE}; "
         f"{_NO_TRACE}."),
    size("traced_write_bytes", f"Bytes of the writes that DXT traced; {_ONCE}; {_NO_TRACE}."),
    size("counted_read_bytes", f"Bytes read {_COUNTED}."),
    size("counted_write_bytes", f"Bytes written {_COUNTED}."),
    size("untraced_read_bytes", "counted_read_bytes - traced_read_bytes; below 0 where traced "
         "reads asked for more than they got; null where one of them is."),
    size("untraced_write_bytes", "counted_write_bytes - traced_write_bytes; null where one of them "
         "is."),
    size("stdio_read_bytes", "The part of counted_read_bytes that is buffered I/O (STDIO), which "
         "DXT never traces; null where that module could not be read."),
    size("stdio_write_bytes", "The part of counted_write_bytes that is buffered I/O (STDIO); null "
         "where that module could not be read."),
    shared.PARTIAL_MODULES,
    shared.CERTAINTY,
)  # fmt: skip

PROCESSES: Final = View(
    name="io.processes",
    doc="One row per log: the bytes that DXT traced, those that Darshan's counters have, "
    "and the difference.",
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
    text("host", "Host of the processes, as DXT names it; null where it does not."),
    shared.OP,
    time("time", "Start of the interval; null for operations without a time."),
    seconds("bin_s", "Length of the interval; the same throughout a session."),
    size("bytes", "Bytes of traced operations in the interval: those of an operation are spread "
         "evenly over its time. What a log traces in both DXT_MPIIO and DXT_POSIX counts once, as "
         "the latter."),
    rate("bytes_per_s", "bytes / bin_s."),
    count("operations", "Traced operations that began in the interval."),
    number("uid", "Numeric id of the session's user."),
    time("began", "Start of the session: logs of one directory and user whose times overlap, "
         "directly or through others."),
)  # fmt: skip

TIMELINE: Final = View(
    name="io.timeline",
    doc="Bytes per second that each host read and wrote over time, as DXT traced them.",
    build="harvest_darshan.views.timeline:timeline",
    requires=("darshan.dxt_segment",),
    settings={**shared.ONE_RUN, "bin": Setting("seconds of an interval", float, check=positive)},
    columns=TIMELINE_COLUMNS,
    first=words("time host op bytes bytes_per_s operations bin_s run began"),
)
