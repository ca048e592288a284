"""Columns of ``io.jobs``, ``io.requests``, ``io.posix_files`` and ``io.ranks``."""

from __future__ import annotations

from typing import Final

from harvest import Column

from .common import LOG, OF_JOB, OP, PARTIAL_MODULES, RECORD_ID, number, path, seconds, share, size

__all__ = ["JOBS", "POSIX_FILES", "RANKS", "REQUESTS"]

_UNKNOWN: Final = "null where process_s is not known"

JOBS: Final = (
    OF_JOB["program"],
    OF_JOB["job"],
    OF_JOB["run"],
    Column("processes", doc="Processes of the job's logs together; a log without MPI is of one."),
    seconds(
        "wall_s", doc="From the first start of a log to the last end; null where one has no end."
    ),
    seconds(
        "io_s",
        doc="Time in reads, writes and metadata operations, summed over processes and threads: "
        "that of POSIX and STDIO, and of MPI-IO what it took beyond POSIX for the same file, which "
        "is mostly waiting for other ranks.",
    ),
    share(
        "time_share",
        doc="io_s / process_s; above 1 where threads of a process do I/O at the same time; "
        f"{_UNKNOWN}.",
    ),
    size(
        "bytes",
        doc="Bytes moved, each once: through POSIX, STDIO, and MPI-IO for files that POSIX does "
        "not count.",
    ),
    Column("files", doc="Files that POSIX counts."),
    share("meta_share", doc=f"meta_s / process_s; {_UNKNOWN}."),
    Column(
        "gaps",
        doc="Modules whose numbers are incomplete or not read, in words; null without any.",
    ),
    OF_JOB["began"],
    Column("logs", doc="Logs of the job."),
    size("read_bytes", doc="Bytes read through POSIX."),
    size("write_bytes", doc="Bytes written through POSIX."),
    Column("reads", doc="Read operations that POSIX counts."),
    Column("writes", doc="Write operations that POSIX counts."),
    seconds(
        "meta_s",
        doc="The part of io_s in metadata operations (open, stat, seek, ...): of POSIX, STDIO, and "
        "MPI-IO for files that POSIX does not count.",
    ),
    seconds(
        "process_s",
        doc="Time that the processes of the job ran, summed; null where the end of a log is not "
        "known.",
    ),
    Column("largest_log", doc="Processes of the log with the most; above 1 for an MPI program."),
    Column(
        "misaligned_memory",
        doc="POSIX operations whose buffer in memory is not aligned; those of logs that did not "
        "watch this count as 0.",
    ),
    Column(
        "misaligned_file",
        doc="POSIX operations whose offset in the file is not aligned; those of logs that did not "
        "watch this count as 0.",
    ),
    seconds(
        "slowest_meta_s",
        doc="Time in metadata operations of the POSIX record with the most; null without POSIX.",
    ),
    path("slowest_meta_file", doc="The file of that record; null without POSIX."),
    Column("uses_mpiio", doc="Whether a log of the job has the module MPI-IO."),
    size(
        "mpiio_bytes",
        doc="Bytes moved through MPI-IO, also those of files that POSIX counts as well.",
    ),
    size("stdio_bytes", doc="Bytes moved by buffered I/O (STDIO)."),
    Column("stdio_requests", doc="Reads and writes of STDIO."),
    seconds("stdio_s", doc="Time in reads, writes and metadata operations of STDIO."),
    share("stdio_share", doc=f"stdio_s / process_s; {_UNKNOWN}."),
    OF_JOB["log"],
    Column(
        "exe",
        doc="Command line of the job's first log, cut by Darshan to what fits; null where it has "
        "none.",
    ),
    number("uid"),
    PARTIAL_MODULES,
    Column("unread_modules", doc="Modules that could not be read; the rejects of the run say why."),
    Column(
        "missing_counters",
        doc="Whether a module of partial_modules or unread_modules is more than a trace (DXT).",
    ),
)

REQUESTS: Final = (
    OP,
    OF_JOB["program"],
    OF_JOB["job"],
    OF_JOB["run"],
    Column("requests", doc="Operations that POSIX counts, those that MPI-IO makes included."),
    size("bytes", doc="Bytes that they moved."),
    seconds("seconds", doc="Time in them, summed over processes and threads."),
    share(
        "time_share",
        doc="seconds of the time that the job's processes ran, together; null where the end of a "
        "log is not known.",
    ),
    Column("small", doc="Requests of 1 MiB or less."),
    Column(
        "random",
        doc="Requests that POSIX does not count as sequential, which are those beyond the last "
        "byte of the one before of the same process and file; the first at a file's start is "
        "random, too.",
    ),
    size(
        "redundant_bytes",
        doc="By how much the bytes of a file exceed its highest offset, summed over files: at "
        "least so much was read, or written, again.",
    ),
    Column("shared", doc="Requests in records that all ranks of a log share."),
    OF_JOB["began"],
    path("small_file", doc="The file with the most small requests; null where there are none."),
    Column("small_in_file", doc="Small requests to that file; 0 where there are none."),
    path("random_file", doc="The file with the most random requests; null where there are none."),
    Column("shared_small", doc="Those of shared that are small."),
    path(
        "redundant_file", doc="The file with the most redundant bytes; null where there are none."
    ),
    Column("independent", doc="Independent requests to MPI-IO; null without its records."),
    Column("collective", doc="Collective requests to MPI-IO; null without its records."),
    Column("split", doc="Split collective requests to MPI-IO; null without its records."),
    Column("nonblocking", doc="Nonblocking requests to MPI-IO; null without its records."),
    seconds(
        "mpiio_s",
        doc="Time in requests to MPI-IO, that in POSIX below it included; null without its "
        "records.",
    ),
    share(
        "mpiio_share",
        doc="mpiio_s of the time that the job's processes ran, together; null without records of "
        "MPI-IO, or where the end of a log is not known.",
    ),
    OF_JOB["log"],
)

_SPREAD: Final = (
    "Among processes with a record of their own, the most bytes {done} minus the fewest, as a "
    "share of the most; null where none {did} any."
)

POSIX_FILES: Final = (
    path("file", doc='Name of the file; "(not named)" where the logs do not name it.'),
    OF_JOB["program"],
    OF_JOB["job"],
    OF_JOB["run"],
    size("read_bytes", doc="Bytes read, summed over processes."),
    size("write_bytes", doc="Bytes written, summed over processes."),
    seconds("read_s", doc="Time in reads, summed over processes and threads."),
    seconds("write_s", doc="Time in writes, summed over processes and threads."),
    seconds(
        "meta_s",
        doc="Time in metadata operations (open, stat, seek, ...), summed over processes.",
    ),
    share(
        "time_share",
        doc="read_s, write_s and meta_s of the time that the job's processes ran, together; null "
        "where the end of a log is not known.",
    ),
    Column("processes", doc="Processes with a record of their own of the file."),
    Column("shared", doc="Whether a log has one record of the file for all its ranks."),
    Column("reads", doc="Read operations, summed over processes."),
    Column("writes", doc="Write operations, summed over processes."),
    Column("small_reads", doc="Reads of 1 MiB or less."),
    Column("small_writes", doc="Writes of 1 MiB or less."),
    share(
        "late_share",
        doc="late_s of the time that a process ran, on average; null where one of them is not "
        "known.",
    ),
    seconds(
        "late_s",
        doc="In the record of all ranks, by how much the slowest rank took longer than the "
        "fastest; the largest where several logs have such a record; null without one that took "
        "any time.",
    ),
    share(
        "byte_imbalance",
        doc="In the record of all ranks, how far the slowest and the fastest rank are apart in "
        "bytes moved, as a share of the bytes of all; null without one that moved any.",
    ),
    share(
        "time_imbalance",
        doc="In the record of all ranks, how far the slowest and the fastest rank are apart in "
        "time, as a share of the time of all; null without one that took any.",
    ),
    number("fastest_rank", doc="The fastest rank in the record of late_s; null without one."),
    number("slowest_rank", doc="The slowest rank in the record of late_s; null without one."),
    share("read_spread", doc=_SPREAD.format(done="read", did="read")),
    share("write_spread", doc=_SPREAD.format(done="written", did="wrote")),
    seconds("slowest_meta_s", doc="meta_s of the record with the most."),
    size("read_extent", doc="Highest offset read, plus 1; also 1 where nothing was read."),
    size("write_extent", doc="Highest offset written, plus 1; also 1 where nothing was written."),
    OF_JOB["began"],
    RECORD_ID,
)

RANKS: Final = (
    number("rank"),
    Column("host", doc="Host of the process, as DXT names it; null where it does not."),
    number("pid", doc="Process id, where the log has that of this rank; else null."),
    Column(
        "program",
        doc="Name of the program in the log's command line, without its directory; null where the "
        "log has none.",
    ),
    OF_JOB["run"],
    Column(
        "operations",
        doc="Operations that DXT traced; what is traced in both DXT_MPIIO and DXT_POSIX counts "
        "once, as the latter.",
    ),
    size("bytes", doc="Bytes that they asked for."),
    seconds("seconds", doc="Time in them, summed over threads."),
    share(
        "time_share",
        doc="seconds of the time that the log's processes ran, each; above 1 where threads do I/O "
        "at the same time; null where the end of the log is not known.",
    ),
    seconds(
        "median_s",
        doc="Median of seconds over the log's ranks; those without traced operations are left out.",
    ),
    Column(
        "threads",
        doc="Threads that did traced I/O; null in stock Darshan, which does not record them.",
    ),
    OF_JOB["job"],
    OF_JOB["began"],
    LOG,
    Column("nprocs", doc="MPI processes of the log; 1 for a process without MPI."),
    Column("first_time", doc="Start of the first traced operation."),
    Column("last_time", doc="End of the last traced operation."),
)
