"""Columns of ``io.jobs``, ``io.requests``, ``io.posix_files`` and ``io.ranks``."""

from __future__ import annotations

from typing import Final

from harvest import Column

from .common import (
    CERTAINTY,
    LOG,
    OF_JOB,
    OP,
    PARTIAL_MODULES,
    RECORD_ID,
    number,
    path,
    seconds,
    share,
    size,
)

__all__ = ["JOBS", "POSIX_FILES", "RANKS", "REQUESTS"]

_UNKNOWN: Final = "null where process_s is not known"
_SUMMED: Final = (
    "null where the logs have no module that counts bytes, or one of them could not be read"
)
_POSIX: Final = "null without POSIX's records, or where those of a log could not be read"
_STDIO: Final = "null without STDIO's records, or where those of a log could not be read"
_WATCHED: Final = "to files whose alignment {0} Darshan knows; null where it knows that of none"

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
        "that of the layers in bytes, and of MPI-IO what it took beyond POSIX for the same file, "
        "or beyond DFS for all files of a log, which is mostly waiting for other ranks; "
        f"{_SUMMED}.",
    ),
    share(
        "time_share",
        doc="io_s / process_s; above 1 where threads of a process do I/O at the same time; "
        f"{_UNKNOWN}, or io_s is not.",
    ),
    size(
        "bytes",
        doc="Bytes moved, each once: through POSIX, through MPI-IO for files that POSIX does not "
        "count (or counts less of, where Darshan cut it off), through STDIO, and through DFS, or "
        "DAOS where that has more; in logs with none of these, by HDF5's datasets, else PnetCDF's "
        f"variables; {_SUMMED}.",
    ),
    Column("requests", doc=f"Reads and writes of the layers in bytes; {_SUMMED}."),
    Column("files", doc=f"Files that POSIX counts; {_POSIX}."),
    share("meta_share", doc=f"meta_s / process_s; {_UNKNOWN}, or meta_s is not."),
    Column(
        "gaps",
        doc="Modules whose numbers are incomplete or not read, in words; null without any.",
    ),
    OF_JOB["began"],
    Column("logs", doc="Logs of the job."),
    size("read_bytes", doc=f"Bytes read through POSIX; {_POSIX}."),
    size("write_bytes", doc=f"Bytes written through POSIX; {_POSIX}."),
    Column("reads", doc=f"Read operations that POSIX counts; {_POSIX}."),
    Column("writes", doc=f"Write operations that POSIX counts; {_POSIX}."),
    seconds(
        "meta_s",
        doc="The part of io_s in metadata operations (open, stat, seek, ...), of the layers in "
        f"bytes: of MPI-IO for files that POSIX does not count alone; {_SUMMED}.",
    ),
    seconds(
        "process_s",
        doc="Time that the processes of the job ran, summed; null where the end of a log is not "
        "known.",
    ),
    Column("largest_log", doc="Processes of the log with the most; above 1 for an MPI program."),
    Column(
        "misaligned_memory",
        doc="Reads and writes of POSIX whose buffer in memory is not aligned, of watched_memory; "
        "null where that is.",
    ),
    Column("watched_memory", doc=f"Reads and writes of POSIX {_WATCHED.format('in memory')}."),
    Column(
        "misaligned_file",
        doc="Reads and writes of POSIX whose offset in the file is not aligned, of watched_file; "
        "null where that is.",
    ),
    Column("watched_file", doc=f"Reads and writes of POSIX {_WATCHED.format('in the file')}."),
    seconds(
        "posix_s",
        doc="Time in reads, writes and metadata operations of POSIX, summed over processes and "
        f"threads; {_POSIX}.",
    ),
    share("posix_share", doc=f"posix_s / process_s; {_UNKNOWN}, or posix_s is not."),
    seconds(
        "slowest_meta_s",
        doc="The longest that a process spends, at least, in metadata operations on one file: "
        f"of a record of all ranks, which has their sum alone, the mean; {_POSIX}.",
    ),
    path("slowest_meta_file", doc="The file of slowest_meta_s; null where that is."),
    Column("has_counters", doc="Whether a log of the job has a module that counts bytes."),
    Column("uses_posix", doc="Whether a log of the job has the module POSIX."),
    Column("uses_mpiio", doc="Whether a log of the job has the module MPI-IO."),
    Column("uses_stdio", doc="Whether a log of the job has the module STDIO."),
    size(
        "mpiio_bytes",
        doc="Bytes moved through MPI-IO, also those of files that POSIX counts as well; null "
        "without its records, or where those of a log could not be read.",
    ),
    size("stdio_bytes", doc=f"Bytes moved by buffered I/O (STDIO); {_STDIO}."),
    Column("stdio_requests", doc=f"Reads and writes of STDIO; {_STDIO}."),
    seconds("stdio_s", doc=f"Time in reads, writes and metadata operations of STDIO; {_STDIO}."),
    share("stdio_share", doc=f"stdio_s / process_s; {_UNKNOWN}, or stdio_s is not."),
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
    Column(
        "unsummed_modules",
        doc="Modules of programs that move bytes of which no sum here has any: MDHIM does not "
        "count them, and PNETCDF_FILE counts those of PNETCDF_VAR, or none.",
    ),
    Column(
        "copies",
        doc="Logs with the same bytes as one of the job's, which are left out; null where they "
        "were harvested by a version that did not compare them.",
    ),
    CERTAINTY,
)

_SMALL: Final = (
    "those in Darshan's bins to 1 MiB, without those of exactly 1 MiB, as far as it is among the "
    "four most common sizes of a record; these are known of reads and writes together, so that "
    "where a record has both it is at least so many"
)

REQUESTS: Final = (
    OP,
    OF_JOB["program"],
    OF_JOB["job"],
    OF_JOB["run"],
    Column(
        "requests",
        doc="Operations that POSIX counts, those that MPI-IO makes included. It and all that POSIX "
        f"counts here: {_POSIX}.",
    ),
    size("bytes", doc="Bytes that they moved."),
    seconds("seconds", doc="Time in them, summed over processes and threads."),
    share(
        "time_share",
        doc="seconds of the time that the job's processes ran, together; null where the end of a "
        "log is not known.",
    ),
    Column("small", doc=f"Requests of less than 1 MiB: {_SMALL}."),
    Column(
        "random",
        doc="Requests that POSIX does not count as sequential, which are those beyond the last "
        "byte of the one before of the same process and file; without the first of each process "
        "to each file, which has none before it.",
    ),
    size(
        "redundant_bytes",
        doc="By how much the bytes of a file exceed its highest offset, summed over files: at "
        "least so much was read, or written, again.",
    ),
    Column("shared", doc="Requests in records that all ranks of a log, of several, share."),
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
    Column("largest_log", doc="Processes of the log with the most; above 1 for an MPI program."),
    Column("uses_posix", doc="Whether a log of the job has the module POSIX."),
    Column("uses_mpiio", doc="Whether a log of the job has the module MPI-IO."),
    OF_JOB["log"],
    CERTAINTY,
)

_SPREAD: Final = (
    "Among processes with a record of their own, the most bytes {done} minus the fewest, as a "
    "share of the most; 0 where none {did} any, null without such a process."
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
    Column(
        "processes",
        doc="Processes with a record of their own of the file; the record of a log's only process "
        "is its own.",
    ),
    Column("shared", doc="Whether a log has one record of the file for all its ranks, of several."),
    Column("reads", doc="Read operations, summed over processes."),
    Column("writes", doc="Write operations, summed over processes."),
    Column("small_reads", doc=f"Reads of less than 1 MiB: {_SMALL}."),
    Column("small_writes", doc=f"Writes of less than 1 MiB: {_SMALL}."),
    share(
        "late_share",
        doc="late_s of the time that the log ran; null where one of them is not known.",
    ),
    seconds(
        "late_s",
        doc="In the record of all ranks, by how much the slowest rank took longer than the "
        "fastest; the largest where several logs have such a record; null without one that took "
        "any time.",
    ),
    share(
        "rank_spread",
        doc="In the record of all ranks, how far the slowest and the fastest rank are apart in "
        "bytes moved, as a share of the more of the two; null without one that moved any.",
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
    seconds(
        "slowest_meta_s",
        doc="The longest that a process spends, at least, in metadata operations: of a record of "
        "all ranks, which has their sum alone, the mean.",
    ),
    seconds(
        "slowest_meta_most_s",
        doc="The longest that a process may spend in them: of a record of all ranks their sum, or "
        "all that the slowest rank takes, if that is less; null where one is not known.",
    ),
    size("read_extent", doc="Highest offset read, plus 1; also 1 where nothing was read."),
    size("write_extent", doc="Highest offset written, plus 1; also 1 where nothing was written."),
    OF_JOB["began"],
    RECORD_ID,
    CERTAINTY,
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
    CERTAINTY,
)
