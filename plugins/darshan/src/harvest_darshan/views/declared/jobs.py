"""Declarations of the views of jobs, requests, ranks, bandwidth and gains."""

from typing import Final

from harvest import Setting, View
from harvest.columns import (
    amount,
    count,
    flag,
    number,
    path,
    rate,
    seconds,
    share,
    size,
    text,
    texts,
    time,
)
from harvest.toolkit.settings import one_of

from ...counters import words
from . import shared

_UNKNOWN: Final = "null where process_s is unknown"
_SUMMED: Final = "null where the logs have no module that counts bytes, or one was not read"
_POSIX: Final = "null without POSIX records, or where those of a log were not read"
_STDIO: Final = "null without STDIO records, or where those of a log were not read"
_WATCHED: Final = "to files whose alignment {0} Darshan records; null where it records none"

JOB_COLUMNS: Final = (
    *shared.OF_JOB,
    text("exe", "Command line of the log that moves most bytes, cut by Darshan; null without one."),
    number("uid"),
    shared.LOGS,
    count("processes", "Processes in the job's logs; a log without MPI has one."),
    shared.LARGEST_LOG,
    shared.WALL_S,
    seconds("process_s", "Run time of all processes together; null where a log has no end."),
    seconds("io_s", "Time in reads, writes and metadata operations, summed over processes and "
            "threads, in the layers of bytes. Of MPI-IO it is the time beyond POSIX for the same "
            f"file, or beyond DFS for a log: mostly waiting for other ranks; {_SUMMED}."),
    share("time_share", "io_s / process_s; above 1 where threads of a process do I/O at the same "
          f"time; {_UNKNOWN}, or io_s is."),
    seconds("meta_s", "The part of io_s in metadata operations (open, stat, seek, ...); of MPI-IO "
            f"only for files that POSIX does not count; {_SUMMED}."),
    share("meta_share", f"meta_s / process_s; {_UNKNOWN}, or meta_s is."),
    size("bytes", "Bytes moved, each counted once. They are those of POSIX, STDIO, and DFS, or "
         "DAOS if it has more; of MPI-IO for files that POSIX does not count, or was cut off for. "
         f"In logs without these, of HDF5 datasets, else PnetCDF variables; {_SUMMED}."),
    count("requests", f"Reads and writes of the layers in bytes; {_SUMMED}."),
    count("files", f"Files that POSIX counts; {_POSIX}."),
    count("reads", f"Read operations that POSIX counts; {_POSIX}."),
    count("writes", f"Write operations that POSIX counts; {_POSIX}."),
    size("read_bytes", f"Bytes read through POSIX; {_POSIX}."),
    size("write_bytes", f"Bytes written through POSIX; {_POSIX}."),
    count("misaligned_memory", "Misaligned POSIX requests of watched_memory; null where that is."),
    count("watched_memory", f"Reads and writes of POSIX {_WATCHED.format('in memory')}."),
    count("misaligned_file", "Misaligned POSIX requests of watched_file; null where that is."),
    count("watched_file", f"Reads and writes of POSIX {_WATCHED.format('in the file')}."),
    seconds("posix_s", "Time in reads, writes and metadata operations of POSIX, summed over "
            f"processes and threads; {_POSIX}."),
    share("posix_share", f"posix_s / process_s; {_UNKNOWN}, or posix_s is."),
    seconds("slowest_meta_s", "The longest time of a process in metadata operations on one file, "
            f"at least; of a record of all ranks the mean; {_POSIX}."),
    path("slowest_meta_file", "The file of slowest_meta_s; null where that is."),
    flag("has_counters", "Whether a log of the job has a module that counts bytes."),
    shared.USES_POSIX,
    shared.USES_MPIIO,
    flag("uses_stdio", "Whether a log of the job has the module STDIO."),
    size("mpiio_bytes", "Bytes moved through MPI-IO, including files that POSIX also counts; null "
         "without MPI-IO records, or where those of a log were not read."),
    size("stdio_bytes", f"Bytes moved by buffered I/O (STDIO); {_STDIO}."),
    count("stdio_requests", f"Reads and writes of STDIO; {_STDIO}."),
    seconds("stdio_s", f"Time in reads, writes and metadata operations of STDIO; {_STDIO}."),
    share("stdio_share", f"stdio_s / process_s; {_UNKNOWN}, or stdio_s is."),
    shared.PARTIAL_MODULES,
    texts("unread_modules", "Modules that were not read; `harvest rejects` says why."),
    text("gaps", "Modules cut off or not read, and unfinished logs, in words; null without any."),
    flag("missing_counters", "Whether a module other than a trace (DXT) is in partial_modules or "
         "unread_modules, or a log was not finished."),
    texts("unsummed_modules", "Modules whose bytes are in no sum here: MDHIM does not count them, "
          "and PNETCDF_FILE has only those of PNETCDF_VAR."),
    count("copies", "Logs with the same bytes as one of the job, which are left out; null where an "
          "older version harvested them without comparing."),
    count("unfinished_logs", "Unfinished logs: without an end, or named *_partial."),
    text("impossible", "Counters with an impossible value: below 0, or a time that is not a "
         "number, infinite or above 285 years. No sum has these values. Null without any."),
    shared.CERTAINTY,
)  # fmt: skip

JOBS: Final = View(
    name="io.jobs",
    doc="One row per job: processes, time and bytes by layer, metadata, alignment, gaps.",
    build="harvest_darshan.views.jobs:jobs",
    requires=("darshan.job",),
    settings={**shared.ONE_JOB, **shared.PER},
    columns=JOB_COLUMNS,
    first=words(
        "program job pid run processes wall_s io_s time_share bytes requests files meta_share",
        "gaps began logs read_bytes write_bytes reads writes meta_s process_s largest_log",
        "misaligned_memory watched_memory misaligned_file watched_file posix_s posix_share",
        "slowest_meta_s slowest_meta_file has_counters uses_posix uses_mpiio uses_stdio",
        "mpiio_bytes stdio_bytes stdio_requests stdio_s stdio_share",
    ),
)

_SMALL: Final = (
    "those in Darshan's bins to 1 MiB, less those of exactly 1 MiB if this is a common size; at "
    "least so many where a record has reads and writes"
)

REQUEST_COLUMNS: Final = (
    *shared.OF_JOB,
    shared.OP,
    count("requests", f"POSIX requests, including those of MPI-IO; {_POSIX}."),
    size("bytes", "Bytes that the requests moved; null where requests is."),
    seconds("seconds", "Time in the requests, in all processes; null where requests is."),
    share("time_share", "seconds as a share of process time; null where a log has no end."),
    count("small", f"Requests of less than 1 MiB: {_SMALL}; null where requests is."),
    path("small_file", "The file with the most small requests; null where there are none."),
    count("small_in_file", "Small requests to small_file, or 0; null where requests is."),
    count("random", "Requests that start before the end of the last one of the same process and "
          "file (not POSIX_SEQ_...), without the first of each; null where requests is."),
    path("random_file", "The file with the most random requests; null where there are none."),
    count("shared", "Requests in records that all ranks of a log share; null where requests is."),
    count("shared_small", "Small requests of shared; null where requests is."),
    size("redundant_bytes", "Bytes of each file beyond its highest offset, so moved again; null "
         "where requests is."),
    path("redundant_file", "The file with the most redundant bytes; null where there are none."),
    count("independent", "Independent requests to MPI-IO; null without its records."),
    count("collective", "Collective requests to MPI-IO; null without its records."),
    count("split", "Split collective requests to MPI-IO; null without its records."),
    count("nonblocking", "Nonblocking requests to MPI-IO; null without its records."),
    seconds("mpiio_s", "Time in MPI-IO requests, including POSIX below; null without records."),
    share("mpiio_share", "mpiio_s as a share of process time; null without it or an end of a log."),
    shared.LOGS,
    shared.LARGEST_LOG,
    shared.USES_POSIX,
    shared.USES_MPIIO,
    shared.CERTAINTY,
)  # fmt: skip

REQUESTS: Final = View(
    name="io.requests",
    doc="Two rows per job, reads and writes: small, random, redundant, shared, MPI-IO calls.",
    build="harvest_darshan.views.posix_files:requests",
    requires=("darshan.job", "darshan.posix", "darshan.mpiio"),
    settings={**shared.ONE_JOB, **shared.PER},
    columns=REQUEST_COLUMNS,
    first=words(
        "op program job pid run requests bytes seconds time_share small random",
        "redundant_bytes shared began small_file small_in_file random_file shared_small",
        "redundant_file independent collective split nonblocking mpiio_s mpiio_share",
        "logs largest_log uses_posix uses_mpiio",
    ),
)

_SPREAD: Final = (
    "Among processes with separate records, the most bytes {done} minus the fewest, as a share of "
    "the most; 0 where none {did} any, null without such a process."
)

POSIX_FILE_COLUMNS: Final = (
    shared.RUN,
    shared.JOB,
    shared.PID,
    shared.BEGAN,
    shared.PROGRAM,
    path("file", 'Name of the file; "(not named)" where the logs have no name.'),
    shared.RECORD_ID,
    count("processes", "Processes with a separate record of the file, also the only one of a log."),
    flag("shared", "Whether a log of several ranks has one record of the file for all of them."),
    count("reads", "Read operations, summed over processes."),
    count("writes", "Write operations, summed over processes."),
    size("read_bytes", "Bytes read, summed over processes."),
    size("write_bytes", "Bytes written, summed over processes."),
    count("small_reads", f"Reads of less than 1 MiB: {_SMALL}."),
    count("small_writes", f"Writes of less than 1 MiB: {_SMALL}."),
    size("read_extent", "Highest offset read, plus 1; also 1 where nothing was read."),
    size("write_extent", "Highest offset written, plus 1; also 1 where nothing was written."),
    seconds("read_s", "Time in reads, summed over processes and threads."),
    seconds("write_s", "Time in writes, summed over processes and threads."),
    seconds("meta_s", "Time in metadata operations (open, stat, ...) in all processes."),
    seconds("slowest_meta_s", "The longest time of a process in metadata operations, at least; of "
            "a record of all ranks the mean."),
    seconds("slowest_meta_most_s", "The longest time of a process in metadata operations, at "
            "most; of a record of all ranks their sum, or the time of the slowest rank if less. "
            "Null where one is unknown."),
    share("time_share", "read_s, write_s and meta_s of process time; null where a log has no end."),
    share("rank_spread", "Difference in bytes between the slowest and the fastest rank, as a share "
          "of the larger; null without a record of all ranks with bytes."),
    share("byte_imbalance", "Difference in bytes between the slowest and the fastest rank, as a "
          "share of the bytes of all; null without a record of all ranks with bytes."),
    share("time_imbalance", "Difference in time between the slowest and the fastest rank, as a "
          "share of the time of all; null without a record of all ranks with time."),
    seconds("late_s", "Time of the slowest rank minus that of the fastest; the largest of several "
            "logs; null without a record of all ranks with time."),
    share("late_share", "late_s as a share of the run time of the log; null where one is unknown."),
    number("fastest_rank", "The fastest rank in the record of late_s; null without one."),
    number("slowest_rank", "The slowest rank in the record of late_s; null without one."),
    share("read_spread", _SPREAD.format(done="read", did="read")),
    share("write_spread", _SPREAD.format(done="written", did="wrote")),
    shared.LOGS,
    shared.CERTAINTY,
)  # fmt: skip

POSIX_FILES: Final = View(
    name="io.posix_files",
    doc="One row per job and file of POSIX, most time first: bytes, times, imbalance.",
    build="harvest_darshan.views.posix_files:posix_files",
    requires=("darshan.posix",),
    settings=shared.ONE_JOB,
    columns=POSIX_FILE_COLUMNS,
    first=words(
        "file program job pid run read_bytes write_bytes read_s write_s meta_s time_share",
        "processes shared reads writes small_reads small_writes late_share late_s rank_spread",
        "byte_imbalance time_imbalance fastest_rank slowest_rank read_spread write_spread",
        "slowest_meta_s slowest_meta_most_s read_extent write_extent logs",
    ),
)

RANK_COLUMNS: Final = (
    shared.RUN,
    shared.JOB,
    number("pid", "Process id, where the log has that of this rank; else null."),
    shared.BEGAN,
    shared.LOG,
    text("program", "Name of the program, without its directory; null without a command line."),
    count("nprocs", "MPI processes of the log; 1 for a process without MPI."),
    number("rank"),
    text("host", "Host of the process, from DXT; null where it has none."),
    count("threads", "Threads with traced I/O; null in stock Darshan, which does not record them."),
    count("operations", "Traced operations; in both DXT_MPIIO and DXT_POSIX they count once."),
    size("bytes", "Bytes that the operations requested."),
    seconds("seconds", "Time in the operations, summed over threads."),
    seconds("median_s", "Median of seconds over the log's ranks with traced operations."),
    share("time_share", "seconds as a share of the run time of the log; above 1 where threads do "
          "I/O at the same time; null where the log has no end."),
    time("first_time", "Start of the first traced operation."),
    time("last_time", "End of the last traced operation."),
    shared.CERTAINTY,
)  # fmt: skip

RANKS: Final = View(
    name="io.ranks",
    doc="One row per log and traced rank (DXT): operations, bytes, seconds, median of its log.",
    build="harvest_darshan.views.processes:ranks",
    requires=("darshan.dxt_segment",),
    settings=shared.ONE_JOB,
    columns=RANK_COLUMNS,
    first=words("rank host pid program run operations bytes seconds time_share median_s threads"),
)

_KNOWN: Final = "null where the layer's records of a log were not read"

BANDWIDTH_COLUMNS: Final = (
    *shared.OF_JOB,
    text("layer", "The module: POSIX, MPI-IO, STDIO, DFS, DAOS, H5D (HDF5 datasets) or "
         "PNETCDF_VAR. Layers overlap: MPI-IO uses POSIX or DFS, and its bytes count in each."),
    size("bytes", f"Bytes read and written through the layer. All columns from here: {_KNOWN}."),
    size("read_bytes", "Bytes read."),
    size("write_bytes", "Bytes written."),
    count("requests", "Reads and writes."),
    seconds("slowest_s", "Time of the slowest process in reads, writes and metadata operations of "
            "the layer. It is the slowest rank of each shared file, plus the slowest of all ranks "
            "for the others. Of logs that ran together the longest counts, of others the sum."),
    rate("bytes_per_s", "bytes / slowest_s, as in Darshan's estimate by the slowest "
                 "process (agg_perf_by_slowest); null without any time."),
    rate("read_bytes_per_s", "read_bytes / read_s: of a process; null without read_s."),
    rate("write_bytes_per_s", "write_bytes / write_s: of a process; null without write_s."),
    seconds("read_s", "Time in reads, summed over processes and threads."),
    seconds("write_s", "Time in writes, summed over processes and threads."),
    seconds("meta_s", "Time in metadata operations, summed over processes."),
    shared.CERTAINTY,
)  # fmt: skip

BANDWIDTH: Final = View(
    name="io.bandwidth",
    doc="One row per job and layer (POSIX, MPI-IO, STDIO, DFS, ...): bytes and rates.",
    build="harvest_darshan.views.jobs:bandwidth",
    requires=("darshan.job",),
    settings={**shared.ONE_JOB, **shared.PER},
    columns=BANDWIDTH_COLUMNS,
    first=words(
        "program job pid layer bytes bytes_per_s slowest_s read_bytes write_bytes",
        "read_bytes_per_s write_bytes_per_s run requests read_s write_s meta_s",
    ),
)

GAIN_COLUMNS: Final = (
    shared.PROGRAM,
    shared.RUN,
    text("finding", "The rule that concerns most of the job's time, or (per=finding) the rule; "
         "`harvest findings` has its text and advice."),
    shared.JOB,
    shared.PID,
    count("processes", "Processes of the job's logs together."),
    shared.BEGAN,
    amount("hours", "Possible gain in process hours, at most: the time that the findings concern, "
           "for example in small reads, or of ranks that wait for a slower one. Reads, writes and "
           "metadata add up; of findings on the same time the longest counts. Null where the time "
           "is 0 or unknown.", "h", ",.3g"),
    share("share", "hours as a share of process time; null where that is unknown."),
    shared.WALL_S,
    texts("findings", "All rules with a finding, the most time first."),
    texts("certainty", f"{shared.CERTAINTY.doc} part: only some requests were watched."),
)  # fmt: skip

GAINS: Final = View(
    name="io.gains",
    doc="Jobs with findings, the largest possible gain in process hours first.",
    build="harvest_darshan.views.gains:gains",
    requires=("darshan.job",),
    settings={
        **shared.ONE_JOB,
        "per": Setting("what a row stands for", str, "job", one_of(("job", "finding"))),
    },
    columns=GAIN_COLUMNS,
    first=words("program job pid finding hours share findings processes wall_s"),
)
