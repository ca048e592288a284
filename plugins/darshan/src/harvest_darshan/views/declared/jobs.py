"""The views of jobs and ranks, what I/O gives and costs, and what their columns mean."""

from __future__ import annotations

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

_UNKNOWN: Final = "null where process_s is not known"
_SUMMED: Final = (
    "null where the logs have no module that counts bytes, or one of them could not be read"
)
_POSIX: Final = "null without POSIX's records, or where those of a log could not be read"
_STDIO: Final = "null without STDIO's records, or where those of a log could not be read"
_WATCHED: Final = "to files whose alignment {0} Darshan knows; null where it knows that of none"

JOB_COLUMNS: Final = (
    *shared.OF_JOB,
    text("exe", "Command line of the job's log that moves most bytes, cut by Darshan to what fits; "
         "null where none has one."),
    number("uid"),
    count("logs", "Logs of the job."),
    count("processes", "Processes of the job's logs together; a log without MPI is of one."),
    shared.LARGEST_LOG,
    seconds("wall_s", "From the first start of a log to the last end; null where one has no end. A "
            "log whose clock has whole seconds lasts to the end of its last one, as Darshan "
            "computes it."),
    seconds("process_s", "Time that the processes of the job ran, summed; null where the end of a "
            "log is not known."),
    seconds("io_s", "Time in reads, writes and metadata operations, summed over processes and "
            "threads: that of the layers in bytes, and of MPI-IO what it took beyond POSIX for the "
            "same file, or beyond DFS for all files of a log, which is mostly waiting for other "
            f"ranks; {_SUMMED}."),
    share("time_share", "io_s / process_s; above 1 where threads of a process do I/O at the same "
          f"time; {_UNKNOWN}, or io_s is not."),
    seconds("meta_s", "The part of io_s in metadata operations (open, stat, seek, ...), of the "
            f"layers in bytes: of MPI-IO for files that POSIX does not count alone; {_SUMMED}."),
    share("meta_share", f"meta_s / process_s; {_UNKNOWN}, or meta_s is not."),
    size("bytes", "Bytes moved, each once: through POSIX, through MPI-IO for files that POSIX does "
         "not count (or counts less of, where Darshan cut it off), through STDIO, and through DFS, "
         "or DAOS where that has more; in logs with none of these, by HDF5's datasets, else "
         f"PnetCDF's variables; {_SUMMED}."),
    count("requests", f"Reads and writes of the layers in bytes; {_SUMMED}."),
    count("files", f"Files that POSIX counts; {_POSIX}."),
    count("reads", f"Read operations that POSIX counts; {_POSIX}."),
    count("writes", f"Write operations that POSIX counts; {_POSIX}."),
    size("read_bytes", f"Bytes read through POSIX; {_POSIX}."),
    size("write_bytes", f"Bytes written through POSIX; {_POSIX}."),
    count("misaligned_memory", "Reads and writes of POSIX whose buffer in memory is not aligned, "
          "of watched_memory; null where that is."),
    count("watched_memory", f"Reads and writes of POSIX {_WATCHED.format('in memory')}."),
    count("misaligned_file", "Reads and writes of POSIX whose offset in the file is not aligned, "
          "of watched_file; null where that is."),
    count("watched_file", f"Reads and writes of POSIX {_WATCHED.format('in the file')}."),
    seconds("posix_s", "Time in reads, writes and metadata operations of POSIX, summed over "
            f"processes and threads; {_POSIX}."),
    share("posix_share", f"posix_s / process_s; {_UNKNOWN}, or posix_s is not."),
    seconds("slowest_meta_s", "The longest that a process spends, at least, in metadata operations "
            "on one file: of a record of all ranks, which has their sum alone, the mean; "
            f"{_POSIX}."),
    path("slowest_meta_file", "The file of slowest_meta_s; null where that is."),
    flag("has_counters", "Whether a log of the job has a module that counts bytes."),
    shared.USES_POSIX,
    shared.USES_MPIIO,
    flag("uses_stdio", "Whether a log of the job has the module STDIO."),
    size("mpiio_bytes", "Bytes moved through MPI-IO, also those of files that POSIX counts as "
         "well; null without its records, or where those of a log could not be read."),
    size("stdio_bytes", f"Bytes moved by buffered I/O (STDIO); {_STDIO}."),
    count("stdio_requests", f"Reads and writes of STDIO; {_STDIO}."),
    seconds("stdio_s", f"Time in reads, writes and metadata operations of STDIO; {_STDIO}."),
    share("stdio_share", f"stdio_s / process_s; {_UNKNOWN}, or stdio_s is not."),
    shared.PARTIAL_MODULES,
    texts("unread_modules", "Modules that could not be read; the rejects of the run say why."),
    text("gaps", "Modules whose numbers are incomplete or not read, and logs that were not "
         "finished, in words; null without any."),
    flag("missing_counters", "Whether a module of partial_modules or unread_modules is more than a "
         "trace (DXT), or a log was not finished."),
    texts("unsummed_modules", "Modules of programs that move bytes of which no sum here has any: "
          "MDHIM does not count them, and PNETCDF_FILE counts those of PNETCDF_VAR, or none."),
    count("copies", "Logs with the same bytes as one of the job's, which are left out; null where "
          "they were harvested by a version that did not compare them."),
    count("unfinished_logs", "Logs that Darshan did not finish: they have no end, or a name that "
          "ends in _partial."),
    text("impossible", "Counters that have a value in a record that none can have: below 0, or a "
         "time that is no number, infinite or above 285 years. They are left out of all sums. Null "
         "without any."),
    shared.CERTAINTY,
)  # fmt: skip

JOBS: Final = View(
    name="io.jobs",
    doc="One row per job: its processes and logs, time and bytes by layer, metadata, "
    "alignment, and what its logs lack.",
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
    "those in Darshan's bins to 1 MiB, without those of exactly 1 MiB, as far as it is among the "
    "four most common sizes of a record; these are known of reads and writes together, so that "
    "where a record has both it is at least so many"
)

REQUEST_COLUMNS: Final = (
    *shared.OF_JOB,
    shared.OP,
    count("requests", "Operations that POSIX counts, those that MPI-IO makes included. It and all "
          f"that POSIX counts here: {_POSIX}."),
    size("bytes", "Bytes that they moved; null where requests is."),
    seconds("seconds", "Time in them, summed over processes and threads; null where requests is."),
    share("time_share", "seconds of the time that the job's processes ran, together; null where "
          "the end of a log is not known."),
    count("small", f"Requests of less than 1 MiB: {_SMALL}; null where requests is."),
    path("small_file", "The file with the most small requests; null where there are none."),
    count("small_in_file", "Small requests to that file, or 0; null where requests is."),
    count("random", "Requests that POSIX does not count as sequential, which are those beyond the "
          "last byte of the one before of the same process and file; without the first of each "
          "process to each file, which has none before it; null where requests is."),
    path("random_file", "The file with the most random requests; null where there are none."),
    count("shared", "Requests in records that all ranks of a log share; null where requests is."),
    count("shared_small", "Those of shared that are small; null where requests is."),
    size("redundant_bytes", "By how much the bytes of a file exceed its highest offset, summed "
         "over files: at least so much was read, or written, again; null where requests is."),
    path("redundant_file", "The file with the most redundant bytes; null where there are none."),
    count("independent", "Independent requests to MPI-IO; null without its records."),
    count("collective", "Collective requests to MPI-IO; null without its records."),
    count("split", "Split collective requests to MPI-IO; null without its records."),
    count("nonblocking", "Nonblocking requests to MPI-IO; null without its records."),
    seconds("mpiio_s", "Time in requests to MPI-IO, that in POSIX below it included; null without "
            "its records."),
    share("mpiio_share", "mpiio_s of the time that the job's processes ran, together; null without "
          "records of MPI-IO, or where the end of a log is not known."),
    shared.LARGEST_LOG,
    shared.USES_POSIX,
    shared.USES_MPIIO,
    shared.CERTAINTY,
)  # fmt: skip

REQUESTS: Final = View(
    name="io.requests",
    doc="Two rows per job, for reads and writes: small, random, redundant, shared, and "
    "how MPI-IO was asked.",
    build="harvest_darshan.views.requests:requests",
    requires=("darshan.job", "darshan.posix", "darshan.mpiio"),
    settings={**shared.ONE_JOB, **shared.PER},
    columns=REQUEST_COLUMNS,
    first=words(
        "op program job pid run requests bytes seconds time_share small random",
        "redundant_bytes shared began small_file small_in_file random_file shared_small",
        "redundant_file independent collective split nonblocking mpiio_s mpiio_share",
        "largest_log uses_posix uses_mpiio",
    ),
)

_SPREAD: Final = (
    "Among processes with a record of their own, the most bytes {done} minus the fewest, as a "
    "share of the most; 0 where none {did} any, null without such a process."
)

POSIX_FILE_COLUMNS: Final = (
    shared.RUN,
    shared.JOB,
    shared.PID,
    shared.BEGAN,
    shared.PROGRAM,
    path("file", 'Name of the file; "(not named)" where the logs do not name it.'),
    shared.RECORD_ID,
    count("processes", "Processes with a record of their own of the file; the record of a log's "
          "only process is its own."),
    flag("shared", "Whether a log has one record of the file for all its ranks, of several."),
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
    seconds("meta_s", "Time in metadata operations (open, stat, seek, ...), summed over "
            "processes."),
    seconds("slowest_meta_s", "The longest that a process spends, at least, in metadata "
            "operations: of a record of all ranks, which has their sum alone, the mean."),
    seconds("slowest_meta_most_s", "The longest that a process may spend in them: of a record of "
            "all ranks their sum, or all that the slowest rank takes, if that is less; null where "
            "one is not known."),
    share("time_share", "read_s, write_s and meta_s of the time that the job's processes ran, "
          "together; null where the end of a log is not known."),
    share("rank_spread", "In the record of all ranks, how far the slowest and the fastest rank are "
          "apart in bytes moved, as a share of the more of the two; null without one that moved "
          "any."),
    share("byte_imbalance", "In the record of all ranks, how far the slowest and the fastest rank "
          "are apart in bytes moved, as a share of the bytes of all; null without one that moved "
          "any."),
    share("time_imbalance", "In the record of all ranks, how far the slowest and the fastest rank "
          "are apart in time, as a share of the time of all; null without one that took any."),
    seconds("late_s", "In the record of all ranks, by how much the slowest rank took longer than "
            "the fastest; the largest where several logs have such a record; null without one that "
            "took any time."),
    share("late_share", "late_s of the time that the log ran; null where one of them is not "
          "known."),
    number("fastest_rank", "The fastest rank in the record of late_s; null without one."),
    number("slowest_rank", "The slowest rank in the record of late_s; null without one."),
    share("read_spread", _SPREAD.format(done="read", did="read")),
    share("write_spread", _SPREAD.format(done="written", did="wrote")),
    shared.CERTAINTY,
)  # fmt: skip

POSIX_FILES: Final = View(
    name="io.posix_files",
    doc="One row per job and file that POSIX counts, most time first: bytes, times, small "
    "requests, and how unequal its processes are.",
    build="harvest_darshan.views.posix_files:posix_files",
    requires=("darshan.posix",),
    settings=shared.ONE_JOB,
    columns=POSIX_FILE_COLUMNS,
    first=words(
        "file program job pid run read_bytes write_bytes read_s write_s meta_s time_share",
        "processes shared reads writes small_reads small_writes late_share late_s rank_spread",
        "byte_imbalance time_imbalance fastest_rank slowest_rank read_spread write_spread",
        "slowest_meta_s slowest_meta_most_s read_extent write_extent",
    ),
)

RANK_COLUMNS: Final = (
    shared.RUN,
    shared.JOB,
    number("pid", "Process id, where the log has that of this rank; else null."),
    shared.BEGAN,
    shared.LOG,
    text("program", "Name of the program in the log's command line, without its directory; null "
         "where the log has none."),
    count("nprocs", "MPI processes of the log; 1 for a process without MPI."),
    number("rank"),
    text("host", "Host of the process, as DXT names it; null where it does not."),
    count("threads", "Threads that did traced I/O; null in stock Darshan, which does not record "
          "them."),
    count("operations", "Operations that DXT traced; what is traced in both DXT_MPIIO and "
          "DXT_POSIX counts once, as the latter."),
    size("bytes", "Bytes that they asked for."),
    seconds("seconds", "Time in them, summed over threads."),
    seconds("median_s", "Median of seconds over the log's ranks; those without traced operations "
            "are left out."),
    share("time_share", "seconds of the time that the log's processes ran, each; above 1 where "
          "threads do I/O at the same time; null where the end of the log is not known."),
    time("first_time", "Start of the first traced operation."),
    time("last_time", "End of the last traced operation."),
    shared.CERTAINTY,
)  # fmt: skip

RANKS: Final = View(
    name="io.ranks",
    doc="One row per log and rank that DXT traced: operations, bytes, seconds, and the "
    "median of its program.",
    build="harvest_darshan.views.processes:ranks",
    requires=("darshan.dxt_segment",),
    settings=shared.ONE_JOB,
    columns=RANK_COLUMNS,
    first=words(
        "rank host pid program run operations bytes seconds time_share median_s threads",
    ),
)


_KNOWN: Final = "null where the layer's records of a log could not be read"


BANDWIDTH_COLUMNS: Final = (
    *shared.OF_JOB,
    text("layer", "The module that counts: POSIX, MPI-IO, STDIO, DFS, DAOS, H5D (datasets of HDF5) "
         "or PNETCDF_VAR. Layers overlap: what goes through MPI-IO reaches the file system through "
         "POSIX or DFS, and counts in each."),
    size("bytes", f"Bytes read and written through the layer. It and all below: {_KNOWN}."),
    size("read_bytes", "Bytes read."),
    size("write_bytes", "Bytes written."),
    count("requests", "Reads and writes."),
    seconds("slowest_s", "Time of the slowest process in reads, writes and metadata operations of "
            "the layer: of files that all ranks share that of the slowest rank of each, of others "
            "the most of any rank. Of logs that ran together the most counts, of those one after "
            "another the sum."),
    rate("bytes_per_s", "bytes / slowest_s: the rate of the job, as Darshan's own estimate by the "
         "slowest process (agg_perf_by_slowest); null without any time."),
    rate("read_bytes_per_s", "read_bytes / read_s: a process while it reads; null without time in "
         "reads."),
    rate("write_bytes_per_s", "write_bytes / write_s: a process while it writes; null without time "
         "in writes."),
    seconds("read_s", "Time in reads, summed over processes and threads."),
    seconds("write_s", "Time in writes, summed over processes and threads."),
    seconds("meta_s", "Time in metadata operations, summed over processes."),
    shared.CERTAINTY,
)  # fmt: skip

BANDWIDTH: Final = View(
    name="io.bandwidth",
    doc="One row per job and layer (POSIX, MPI-IO, STDIO, DFS, ...): bytes, and how fast they "
    "moved, of the job and of a process.",
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
    text("finding", "The rule that found what concerns most of the job's time, or (per=finding) "
         "the rule; `harvest findings` says what it found, and what to try."),
    shared.JOB,
    shared.PID,
    count("processes", "Processes of the job's logs together."),
    shared.BEGAN,
    amount("hours", "Process hours that may be gained, at most: those that the findings concern, "
           "as reads that are small, or by which ranks wait for a slower one. Reads, writes and "
           "metadata add up; of findings on the same time, and of those on more than one of these, "
           "the most counts. Null where the findings cost no time, or it is not "
           "known.", "h", ",.3g"),
    share("share", "hours of the time that the job's processes ran; null where that is unknown."),
    seconds("wall_s", "From the first start of a log to the last end; null where one has no end. A "
            "log whose clock has whole seconds lasts to the end of its last one, as Darshan "
            "computes it."),
    texts("findings", "All rules that found something, the most time first."),
    texts("certainty", f"{shared.CERTAINTY.doc} And part: what a rule needs was watched in a part "
          "alone."),
)  # fmt: skip

GAINS: Final = View(
    name="io.gains",
    doc="Jobs ranked by what there is to gain: their findings, the process hours that these "
    "concern, and how sure that is.",
    build="harvest_darshan.views.gains:gains",
    requires=("darshan.job",),
    settings={
        **shared.ONE_JOB,
        "per": Setting("what a row stands for", str, "job", one_of(("job", "finding"))),
    },
    columns=GAIN_COLUMNS,
    first=words(
        "program job pid finding hours share findings processes wall_s",
    ),
)
