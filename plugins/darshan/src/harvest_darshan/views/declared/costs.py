"""The views of what I/O gives and costs: bandwidth by layer, and what there is to gain."""

from __future__ import annotations

from typing import Final

from harvest import Column, Setting, View
from harvest.toolkit.settings import one_of
from harvest_toolkit.columns import seconds, share, size

from . import shared

_KNOWN: Final = "null where the layer's records of a log could not be read"


def _rate(name: str, doc: str) -> Column:
    return Column(name, unit="bytes/s", format="bytes", doc=doc)


_BANDWIDTH: Final = (
    shared.PROGRAM,
    shared.JOB,
    shared.PID,
    Column(
        "layer",
        doc="The module that counts: POSIX, MPI-IO, STDIO, DFS, DAOS, H5D (datasets of HDF5) or "
        "PNETCDF_VAR. Layers overlap: what goes through MPI-IO reaches the file system through "
        "POSIX or DFS, and counts in each.",
    ),
    size("bytes", f"Bytes read and written through the layer. It and all below: {_KNOWN}."),
    _rate(
        "bytes_per_s",
        "bytes / slowest_s: the rate of the job, as Darshan's own estimate by the slowest process "
        "(agg_perf_by_slowest); null without any time.",
    ),
    seconds(
        "slowest_s",
        "Time of the slowest process in reads, writes and metadata operations of the layer: of "
        "files that all ranks share that of the slowest rank of each, of others the most of any "
        "rank. Of logs that ran together the most counts, of those one after another the sum.",
    ),
    size("read_bytes", "Bytes read."),
    size("write_bytes", "Bytes written."),
    _rate(
        "read_bytes_per_s",
        "read_bytes / read_s: a process while it reads; null without time in reads.",
    ),
    _rate(
        "write_bytes_per_s",
        "write_bytes / write_s: a process while it writes; null without time in writes.",
    ),
    shared.RUN,
    Column("requests", doc="Reads and writes."),
    seconds("read_s", "Time in reads, summed over processes and threads."),
    seconds("write_s", "Time in writes, summed over processes and threads."),
    seconds("meta_s", "Time in metadata operations, summed over processes."),
    shared.BEGAN,
    shared.LOG_OF_JOB,
    shared.CERTAINTY,
)

BANDWIDTH: Final = View(
    name="io.bandwidth",
    doc="One row per job and layer (POSIX, MPI-IO, STDIO, DFS, ...): bytes, and how fast they "
    "moved, of the job and of a process.",
    build="harvest_darshan.views.bandwidth:bandwidth",
    requires=("darshan.job",),
    settings={**shared.ONE_JOB, **shared.PER},
    columns=_BANDWIDTH,
)

_GAINS: Final = (
    shared.PROGRAM,
    shared.JOB,
    shared.PID,
    Column(
        "finding",
        doc="The rule that found what concerns most of the job's time, or (per=finding) the rule; "
        "`harvest findings` says what it found, and what to try.",
    ),
    Column(
        "hours",
        unit="h",
        format=",.3g",
        doc="Process hours that may be gained, at most: those that the findings concern, as reads "
        "that are small, or by which ranks wait for a slower one. Reads, writes and metadata add "
        "up; of findings on the same time, and of those on more than one of these, the most "
        "counts. Null where the findings cost no time, or it is not known.",
    ),
    share("share", "hours of the time that the job's processes ran; null where that is unknown."),
    Column("findings", doc="All rules that found something, the most time first."),
    Column("processes", doc="Processes of the job's logs together."),
    seconds(
        "wall_s",
        "From the first start of a log to the last end; null where one has no end. A log whose "
        "clock has whole seconds lasts to the end of its last one, as Darshan computes it.",
    ),
    shared.RUN,
    shared.BEGAN,
    Column(
        "certainty",
        doc=f"{shared.CERTAINTY.doc} And part: what a rule needs was watched in a part alone.",
    ),
)

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
    columns=_GAINS,
)
