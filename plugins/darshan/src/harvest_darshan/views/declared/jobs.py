"""The views of jobs and ranks, and what their columns mean, the most important first."""

from __future__ import annotations

from typing import Final

from harvest import Column, View
from harvest_toolkit.columns import number, path, seconds, share, size

from . import shared

_UNKNOWN: Final = "null where process_s is not known"
_SUMMED: Final = (
    "null where the logs have no module that counts bytes, or one of them could not be read"
)
_POSIX: Final = "null without POSIX's records, or where those of a log could not be read"
_STDIO: Final = "null without STDIO's records, or where those of a log could not be read"
_WATCHED: Final = "to files whose alignment {0} Darshan knows; null where it knows that of none"

_JOBS: Final = (
    shared.PROGRAM,
    shared.JOB,
    shared.PID,
    shared.RUN,
    Column("processes", doc="Processes of the job's logs together; a log without MPI is of one."),
    seconds(
        "wall_s",
        "From the first start of a log to the last end; null where one has no end. A log whose "
        "clock has whole seconds lasts to the end of its last one, as Darshan computes it.",
    ),
    seconds(
        "io_s",
        "Time in reads, writes and metadata operations, summed over processes and threads: "
        "that of the layers in bytes, and of MPI-IO what it took beyond POSIX for the same file, "
        "or beyond DFS for all files of a log, which is mostly waiting for other ranks; "
        f"{_SUMMED}.",
    ),
    share(
        "time_share",
        "io_s / process_s; above 1 where threads of a process do I/O at the same time; "
        f"{_UNKNOWN}, or io_s is not.",
    ),
    size(
        "bytes",
        "Bytes moved, each once: through POSIX, through MPI-IO for files that POSIX does not "
        "count (or counts less of, where Darshan cut it off), through STDIO, and through DFS, or "
        "DAOS where that has more; in logs with none of these, by HDF5's datasets, else PnetCDF's "
        f"variables; {_SUMMED}.",
    ),
    Column("requests", doc=f"Reads and writes of the layers in bytes; {_SUMMED}."),
    Column("files", doc=f"Files that POSIX counts; {_POSIX}."),
    share("meta_share", f"meta_s / process_s; {_UNKNOWN}, or meta_s is not."),
    Column(
        "gaps",
        doc="Modules whose numbers are incomplete or not read, and logs that were not finished, in "
        "words; null without any.",
    ),
    shared.BEGAN,
    Column("logs", doc="Logs of the job."),
    size("read_bytes", f"Bytes read through POSIX; {_POSIX}."),
    size("write_bytes", f"Bytes written through POSIX; {_POSIX}."),
    Column("reads", doc=f"Read operations that POSIX counts; {_POSIX}."),
    Column("writes", doc=f"Write operations that POSIX counts; {_POSIX}."),
    seconds(
        "meta_s",
        "The part of io_s in metadata operations (open, stat, seek, ...), of the layers in "
        f"bytes: of MPI-IO for files that POSIX does not count alone; {_SUMMED}.",
    ),
    seconds(
        "process_s",
        "Time that the processes of the job ran, summed; null where the end of a log is not known.",
    ),
    shared.LARGEST_LOG,
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
        "Time in reads, writes and metadata operations of POSIX, summed over processes and "
        f"threads; {_POSIX}.",
    ),
    share("posix_share", f"posix_s / process_s; {_UNKNOWN}, or posix_s is not."),
    seconds(
        "slowest_meta_s",
        "The longest that a process spends, at least, in metadata operations on one file: "
        f"of a record of all ranks, which has their sum alone, the mean; {_POSIX}.",
    ),
    path("slowest_meta_file", "The file of slowest_meta_s; null where that is."),
    Column("has_counters", doc="Whether a log of the job has a module that counts bytes."),
    shared.USES_POSIX,
    shared.USES_MPIIO,
    Column("uses_stdio", doc="Whether a log of the job has the module STDIO."),
    size(
        "mpiio_bytes",
        "Bytes moved through MPI-IO, also those of files that POSIX counts as well; null "
        "without its records, or where those of a log could not be read.",
    ),
    size("stdio_bytes", f"Bytes moved by buffered I/O (STDIO); {_STDIO}."),
    Column("stdio_requests", doc=f"Reads and writes of STDIO; {_STDIO}."),
    seconds("stdio_s", f"Time in reads, writes and metadata operations of STDIO; {_STDIO}."),
    share("stdio_share", f"stdio_s / process_s; {_UNKNOWN}, or stdio_s is not."),
    shared.LOG_OF_JOB,
    Column(
        "exe",
        doc="Command line of the job's log that moves most bytes, cut by Darshan to what fits; "
        "null where none has one.",
    ),
    number("uid"),
    shared.PARTIAL_MODULES,
    Column("unread_modules", doc="Modules that could not be read; the rejects of the run say why."),
    Column(
        "missing_counters",
        doc="Whether a module of partial_modules or unread_modules is more than a trace (DXT), or "
        "a log was not finished.",
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
    Column(
        "unfinished_logs",
        doc="Logs that Darshan did not finish: they have no end, or a name that ends in _partial.",
    ),
    Column(
        "impossible",
        doc="Counters that have a value in a record that none can have: below 0, or a time that "
        "is no number, infinite or above 285 years. They are left out of all sums. Null without "
        "any.",
    ),
    shared.CERTAINTY,
)

JOBS: Final = View(
    name="io.jobs",
    doc="One row per job: its processes and logs, time and bytes by layer, metadata, "
    "alignment, and what its logs lack.",
    build="harvest_darshan.views.jobs:jobs",
    requires=("darshan.job",),
    settings={**shared.ONE_JOB, **shared.PER},
    columns=_JOBS,
)

_SMALL: Final = (
    "those in Darshan's bins to 1 MiB, without those of exactly 1 MiB, as far as it is among the "
    "four most common sizes of a record; these are known of reads and writes together, so that "
    "where a record has both it is at least so many"
)

_REQUESTS: Final = (
    shared.OP,
    shared.PROGRAM,
    shared.JOB,
    shared.PID,
    shared.RUN,
    Column(
        "requests",
        doc="Operations that POSIX counts, those that MPI-IO makes included. It and all that POSIX "
        f"counts here: {_POSIX}.",
    ),
    size("bytes", "Bytes that they moved; null where requests is."),
    seconds("seconds", "Time in them, summed over processes and threads; null where requests is."),
    share(
        "time_share",
        "seconds of the time that the job's processes ran, together; null where the end of a "
        "log is not known.",
    ),
    Column("small", doc=f"Requests of less than 1 MiB: {_SMALL}; null where requests is."),
    Column(
        "random",
        doc="Requests that POSIX does not count as sequential, which are those beyond the last "
        "byte of the one before of the same process and file; without the first of each process "
        "to each file, which has none before it; null where requests is.",
    ),
    size(
        "redundant_bytes",
        "By how much the bytes of a file exceed its highest offset, summed over files: at "
        "least so much was read, or written, again; null where requests is.",
    ),
    Column(
        "shared",
        doc="Requests in records that all ranks of a log share; null where requests is.",
    ),
    shared.BEGAN,
    path("small_file", "The file with the most small requests; null where there are none."),
    Column("small_in_file", doc="Small requests to that file, or 0; null where requests is."),
    path("random_file", "The file with the most random requests; null where there are none."),
    Column("shared_small", doc="Those of shared that are small; null where requests is."),
    path("redundant_file", "The file with the most redundant bytes; null where there are none."),
    Column("independent", doc="Independent requests to MPI-IO; null without its records."),
    Column("collective", doc="Collective requests to MPI-IO; null without its records."),
    Column("split", doc="Split collective requests to MPI-IO; null without its records."),
    Column("nonblocking", doc="Nonblocking requests to MPI-IO; null without its records."),
    seconds(
        "mpiio_s",
        "Time in requests to MPI-IO, that in POSIX below it included; null without its records.",
    ),
    share(
        "mpiio_share",
        "mpiio_s of the time that the job's processes ran, together; null without records of "
        "MPI-IO, or where the end of a log is not known.",
    ),
    shared.LARGEST_LOG,
    shared.USES_POSIX,
    shared.USES_MPIIO,
    shared.LOG_OF_JOB,
    shared.CERTAINTY,
)

REQUESTS: Final = View(
    name="io.requests",
    doc="Two rows per job, for reads and writes: small, random, redundant, shared, and "
    "how MPI-IO was asked.",
    build="harvest_darshan.views.requests:requests",
    requires=("darshan.job", "darshan.posix", "darshan.mpiio"),
    settings={**shared.ONE_JOB, **shared.PER},
    columns=_REQUESTS,
)

_SPREAD: Final = (
    "Among processes with a record of their own, the most bytes {done} minus the fewest, as a "
    "share of the most; 0 where none {did} any, null without such a process."
)

_POSIX_FILES: Final = (
    path("file", 'Name of the file; "(not named)" where the logs do not name it.'),
    shared.PROGRAM,
    shared.JOB,
    shared.PID,
    shared.RUN,
    size("read_bytes", "Bytes read, summed over processes."),
    size("write_bytes", "Bytes written, summed over processes."),
    seconds("read_s", "Time in reads, summed over processes and threads."),
    seconds("write_s", "Time in writes, summed over processes and threads."),
    seconds(
        "meta_s", "Time in metadata operations (open, stat, seek, ...), summed over processes."
    ),
    share(
        "time_share",
        "read_s, write_s and meta_s of the time that the job's processes ran, together; null "
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
        "late_share", "late_s of the time that the log ran; null where one of them is not known."
    ),
    seconds(
        "late_s",
        "In the record of all ranks, by how much the slowest rank took longer than the "
        "fastest; the largest where several logs have such a record; null without one that took "
        "any time.",
    ),
    share(
        "rank_spread",
        "In the record of all ranks, how far the slowest and the fastest rank are apart in "
        "bytes moved, as a share of the more of the two; null without one that moved any.",
    ),
    share(
        "byte_imbalance",
        "In the record of all ranks, how far the slowest and the fastest rank are apart in "
        "bytes moved, as a share of the bytes of all; null without one that moved any.",
    ),
    share(
        "time_imbalance",
        "In the record of all ranks, how far the slowest and the fastest rank are apart in "
        "time, as a share of the time of all; null without one that took any.",
    ),
    number("fastest_rank", "The fastest rank in the record of late_s; null without one."),
    number("slowest_rank", "The slowest rank in the record of late_s; null without one."),
    share("read_spread", _SPREAD.format(done="read", did="read")),
    share("write_spread", _SPREAD.format(done="written", did="wrote")),
    seconds(
        "slowest_meta_s",
        "The longest that a process spends, at least, in metadata operations: of a record of "
        "all ranks, which has their sum alone, the mean.",
    ),
    seconds(
        "slowest_meta_most_s",
        "The longest that a process may spend in them: of a record of all ranks their sum, or "
        "all that the slowest rank takes, if that is less; null where one is not known.",
    ),
    size("read_extent", "Highest offset read, plus 1; also 1 where nothing was read."),
    size("write_extent", "Highest offset written, plus 1; also 1 where nothing was written."),
    shared.BEGAN,
    shared.RECORD_ID,
    shared.CERTAINTY,
)

POSIX_FILES: Final = View(
    name="io.posix_files",
    doc="One row per job and file that POSIX counts, most time first: bytes, times, small "
    "requests, and how unequal its processes are.",
    build="harvest_darshan.views.posix_files:posix_files",
    requires=("darshan.posix",),
    settings=shared.ONE_JOB,
    columns=_POSIX_FILES,
)

_RANKS: Final = (
    number("rank"),
    Column("host", doc="Host of the process, as DXT names it; null where it does not."),
    number("pid", "Process id, where the log has that of this rank; else null."),
    Column(
        "program",
        doc="Name of the program in the log's command line, without its directory; null where the "
        "log has none.",
    ),
    shared.RUN,
    Column(
        "operations",
        doc="Operations that DXT traced; what is traced in both DXT_MPIIO and DXT_POSIX counts "
        "once, as the latter.",
    ),
    size("bytes", "Bytes that they asked for."),
    seconds("seconds", "Time in them, summed over threads."),
    share(
        "time_share",
        "seconds of the time that the log's processes ran, each; above 1 where threads do I/O "
        "at the same time; null where the end of the log is not known.",
    ),
    seconds(
        "median_s",
        "Median of seconds over the log's ranks; those without traced operations are left out.",
    ),
    Column(
        "threads",
        doc="Threads that did traced I/O; null in stock Darshan, which does not record them.",
    ),
    shared.JOB,
    shared.BEGAN,
    shared.LOG,
    Column("nprocs", doc="MPI processes of the log; 1 for a process without MPI."),
    Column("first_time", doc="Start of the first traced operation."),
    Column("last_time", doc="End of the last traced operation."),
    shared.CERTAINTY,
)

RANKS: Final = View(
    name="io.ranks",
    doc="One row per log and rank that DXT traced: operations, bytes, seconds, and the "
    "median of its program.",
    build="harvest_darshan.views.ranks:ranks",
    requires=("darshan.dxt_segment",),
    settings=shared.ONE_JOB,
    columns=_RANKS,
)
