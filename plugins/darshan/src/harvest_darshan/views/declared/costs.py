"""The views of what I/O gives and costs: bandwidth by layer, and what there is to gain."""

from __future__ import annotations

from typing import Final

from harvest import Setting, View
from harvest.columns import amount, count, rate, seconds, share, size, text, texts
from harvest.toolkit.settings import one_of

from ...counters import words
from . import shared

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
    build="harvest_darshan.views.bandwidth:bandwidth",
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
