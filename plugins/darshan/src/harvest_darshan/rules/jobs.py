"""Rules on jobs as a whole: interfaces, alignment, metadata, and logs with gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import (
    bytes_in_words,
    count_in_words,
    seconds_in_words,
    share_in_words,
)

from .words import DRISHTI, REPORTS, about_jobs, job_name, named_first, of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["JOB_RULES"]

VIEW: Final = "io.jobs"


def _io_takes(row: dict[str, Any]) -> str:
    if row["time_share"] is None:
        return ""
    return f"; I/O takes {share_in_words(row['time_share'])} of its processes' time"


def stdio(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Jobs that move much through buffered streams."""

    def sentence(row: dict[str, Any]) -> str:
        part = share_in_words(row["stdio_bytes"] / row["bytes"])
        took = "" if row["stdio_share"] is None else (
            f", which takes {share_in_words(row['stdio_share'])} of its processes' time"
        )  # fmt: skip
        return (
            f"{bytes_in_words(row['stdio_bytes'])} of {bytes_in_words(row['bytes'])} ({part}) go "
            f"through STDIO, the buffered streams of C{took}"
        )

    return about_jobs(rows, total, "stdio_bytes", sentence, share="stdio_share")


def many_stdio_requests(
    rows: pl.DataFrame, total: int, *, share: float, requests: float
) -> Iterator[Finding]:
    """Jobs with many calls of buffered streams."""

    def sentence(row: dict[str, Any]) -> str:
        every = row["stdio_requests"] + row["reads"] + row["writes"]
        mean = row["stdio_bytes"] / row["stdio_requests"]
        return (
            f"{of(row['stdio_requests'], every, 'request')} go through STDIO, of "
            f"{bytes_in_words(mean)} each on average"
        )

    return about_jobs(rows, total, "stdio_requests", sentence, share="stdio_share")


def no_mpiio(rows: pl.DataFrame, total: int, *, processes: float) -> Iterator[Finding]:
    """MPI programs that never use MPI-IO."""

    def sentence(row: dict[str, Any]) -> str:
        return (
            f"its {row['largest_log']:,} ranks move {bytes_in_words(row['bytes'])} without MPI-IO"
            f"{_io_takes(row)}"
        )

    return about_jobs(rows, total, "bytes", sentence, most="medium")


def misaligned_file(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Jobs whose requests begin within blocks of the file system."""

    def sentence(row: dict[str, Any]) -> str:
        every = row["reads"] + row["writes"]
        return (
            f"{of(row['misaligned_file'], every, 'request')} begin within a block of the file "
            f"system{_io_takes(row)}"
        )

    return about_jobs(rows, total, "misaligned_file", sentence)


def misaligned_memory(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Jobs whose buffers begin within words of memory."""

    def sentence(row: dict[str, Any]) -> str:
        every = row["reads"] + row["writes"]
        return (
            f"the buffers of {of(row['misaligned_memory'], every, 'request')} are not aligned in "
            f"memory{_io_takes(row)}"
        )

    return about_jobs(rows, total, "misaligned_memory", sentence)


def mostly_metadata(
    rows: pl.DataFrame, total: int, *, share: float, seconds: float
) -> Iterator[Finding]:
    """Jobs that spend more in metadata operations than in moving data."""

    def sentence(row: dict[str, Any]) -> str:
        part = share_in_words(row["meta_s"] / row["io_s"])
        took = "" if row["meta_share"] is None else (
            f", {share_in_words(row['meta_share'])} of its processes' time"
        )  # fmt: skip
        return (
            f"{part} of its I/O time are metadata operations on "
            f"{count_in_words(row['files'], 'file')} ({seconds_in_words(row['meta_s'])}{took})"
        )

    return about_jobs(rows, total, "meta_s", sentence, share="meta_share")


def one_sided(rows: pl.DataFrame, total: int, *, difference: float) -> Iterator[Finding]:
    """Jobs that mostly read, or mostly write."""
    worst = rows.sort("bytes", descending=True, maintain_order=True).row(0, named=True)
    requests = worst["reads"] + worst["writes"]
    moved = worst["read_bytes"] + worst["write_bytes"]
    share = share_in_words(worst["read_bytes"] / moved) if moved else "nothing"
    what = (
        f"{share} of {bytes_in_words(moved)} are read, in "
        f"{of(worst['reads'], requests, 'request')}; the others are writes"
    )
    yield Finding("low", named_first(job_name(worst), what, rows.height, total, "job"))


def incomplete(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Jobs whose logs lack records."""
    counted = rows.filter(rows["missing_counters"])
    worst = (counted if counted.height else rows).row(0, named=True)
    effect = (
        "numbers are lower bounds, and files may be missing"
        if counted.height
        else "the counters are complete"
    )
    what = f"its logs are incomplete ({worst['gaps']}): {effect}"
    text = named_first(job_name(worst), what, rows.height, total, "job")
    yield Finding("high" if counted.height else "medium", text)


_OF_JOB: Final = ("job", "program", "logs", "processes")
_COST: Final = ("io_s", "time_share")
_MISALIGNED: Final = {"share": Threshold(0.1, "share of all reads and writes, from 0 to 1")}

JOB_RULES: Final = (
    Rule(
        name="io.stdio",
        doc="Much goes through C's buffered streams (fopen, fread, fwrite), which parallel file "
        "systems serve badly: small buffers, one process at a time.",
        view=VIEW,
        where="stdio_bytes > {share} * bytes",
        columns=(*_OF_JOB, "stdio_bytes", "bytes", "stdio_requests", "stdio_s", "stdio_share"),
        judge=stdio,
        advice="Use POSIX calls with large buffers, MPI-IO or a library upon it (HDF5, PnetCDF).",
        reference=f"{DRISHTI}: S01",
        thresholds={"share": Threshold(0.1, "share of all bytes, from 0 to 1")},
        reports=REPORTS,
    ),
    Rule(
        name="io.many_stdio_requests",
        doc="Many calls of C's buffered streams, as of logging or of reading line by line.",
        view=VIEW,
        where="stdio_requests > {requests} and "
        "stdio_requests > {share} * (stdio_requests + reads + writes)",
        columns=(
            *_OF_JOB, "stdio_requests", "reads", "writes", "stdio_bytes", "stdio_s", "stdio_share"
        ),
        judge=many_stdio_requests,
        advice="Write less, or collect it and write it at once; setvbuf enlarges the buffer.",
        reference="the limits of Drishti 0.8 for small requests (P05, P06), applied to STDIO",
        thresholds={
            "share": Threshold(0.1, "share of the requests to POSIX and STDIO, from 0 to 1"),
            "requests": Threshold(1000, "requests of a job to STDIO"),
        },
        reports=REPORTS,
    ),
    Rule(
        name="io.no_mpiio",
        doc="An MPI program that does without MPI-IO cannot use collective I/O.",
        view=VIEW,
        where="largest_log > {processes} and bytes > 0 and uses_mpiio = false",
        columns=(*_OF_JOB, "largest_log", "bytes", "uses_mpiio", *_COST),
        judge=no_mpiio,
        advice="Where ranks share files, use MPI-IO or a library upon it (HDF5, PnetCDF).",
        reference=f"{DRISHTI}: M01, for programs of more than one process",
        thresholds={"processes": Threshold(1, "processes of an MPI program")},
        reports=REPORTS,
    ),
    Rule(
        name="io.misaligned_file",
        doc="Requests that begin within a block of the file system: it reads and locks whole "
        "blocks, so that neighbours wait for each other.",
        view=VIEW,
        where="misaligned_file > {share} * (reads + writes)",
        columns=(*_OF_JOB, "misaligned_file", "reads", "writes", *_COST),
        judge=misaligned_file,
        advice="Begin requests at multiples of the block or stripe size (in HDF5, "
        "H5Pset_alignment).",
        reference=f"{DRISHTI}: P08",
        thresholds=_MISALIGNED,
        reports=REPORTS,
    ),
    Rule(
        name="io.misaligned_memory",
        doc="Buffers that do not begin at a word of memory are copied more slowly.",
        view=VIEW,
        where="misaligned_memory > {share} * (reads + writes)",
        columns=(*_OF_JOB, "misaligned_memory", "reads", "writes", *_COST),
        judge=misaligned_memory,
        advice="Allocate buffers aligned (posix_memalign, or arrays rather than slices of them).",
        reference=f"{DRISHTI}: P07",
        thresholds=_MISALIGNED,
        reports=REPORTS,
    ),
    Rule(
        name="io.mostly_metadata",
        doc="A job that spends its I/O time in opening, seeking and asking about files, not in "
        "moving data: many small files, imports of Python, or files opened again and again.",
        view=VIEW,
        where="meta_s > {seconds} and meta_s > {share} * io_s",
        columns=(*_OF_JOB, "meta_s", "io_s", "files", "meta_share", "time_share"),
        judge=mostly_metadata,
        advice="Join small files, keep files open, and put software on a local disk or in an "
        "image.",
        reference="PyDarshan's plot of I/O cost, which sets the same times beside each other; "
        "the limits are ours",
        thresholds={
            "share": Threshold(0.5, "share of the I/O time, from 0 to 1"),
            "seconds": Threshold(10, "seconds of metadata operations in all processes"),
        },
        reports=REPORTS,
    ),
    Rule(
        name="io.one_sided",
        doc="A job that mostly reads, or mostly writes: what is worth tuning.",
        view=VIEW,
        where="abs(read_bytes - write_bytes) > {difference} * (read_bytes + write_bytes) "
        "or abs(reads - writes) > {difference} * (reads + writes)",
        columns=(*_OF_JOB, "read_bytes", "write_bytes", "reads", "writes", "bytes"),
        judge=one_sided,
        advice="Tune what there is more of: stripes and read-ahead for reads, aggregation and "
        "write-behind for writes.",
        reference=f"{DRISHTI}: P01 to P04",
        thresholds={
            "difference": Threshold(0.1, "reads minus writes, of both: of bytes or requests")
        },
        reports=REPORTS,
    ),
    Rule(
        name="io.incomplete_logs",
        doc="Logs whose records Darshan cut off for want of memory, or with modules that could "
        "not be read.",
        view=VIEW,
        where="gaps is not null",
        columns=(*_OF_JOB, "gaps", "missing_counters"),
        judge=incomplete,
        advice="Run with more memory for Darshan (DARSHAN_MODMEM, or MODMEM in its "
        "configuration) and without needless files (NAME_EXCLUDE); `harvest rejects` says why a "
        "module could not be read.",
        reference="the log's own partial flags; Darshan's runtime documentation",
        reports=REPORTS,
    ),
)  # fmt: skip
