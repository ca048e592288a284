"""Rules on jobs as a whole: interfaces, alignment, metadata, and logs with gaps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import (
    bytes_in_words,
    count_in_words,
    seconds_in_words,
    share_in_words,
)

from .words import (
    DRISHTI,
    NO_POSIX,
    REPORTS,
    Judge,
    about_jobs,
    certainty,
    job_name,
    named_first,
    of,
    on_jobs,
    taken,
)

if TYPE_CHECKING:
    import polars as pl

    from harvest.findings import Severity

_rule = partial(Rule, view="io.jobs", reports=REPORTS)


def _stdio(row: dict[str, Any]) -> str:
    part = share_in_words(row["stdio_bytes"] / row["bytes"])
    return (
        f"{bytes_in_words(row['stdio_bytes'])} of {bytes_in_words(row['bytes'])} ({part}) go "
        f"through STDIO, the buffered streams of C{taken('these take', row['stdio_share'])}"
    )


def _many_stdio_requests(row: dict[str, Any]) -> str:
    mean = row["stdio_bytes"] / row["stdio_requests"]
    return (
        f"{of(row['stdio_requests'], row['requests'], 'request')} go through STDIO, of "
        f"{bytes_in_words(mean)} each on average{taken('these take', row['stdio_share'])}"
    )


def _no_mpiio(row: dict[str, Any]) -> str:
    return (
        f"its {row['largest_log']:,} ranks move {bytes_in_words(row['bytes'])} without MPI-IO"
        f"{taken('I/O takes', row['time_share'])}"
    )


def _misaligned(what: str, said: str) -> Judge:
    """Jobs whose requests are not aligned, among those of which Darshan watched it."""
    missed, watched = f"misaligned_{what}", f"watched_{what}"

    def sentence(row: dict[str, Any]) -> str:
        part = of(row[missed], row[watched], "request")
        return f"{said.format(part)}{taken('POSIX takes', row['posix_share'])}"

    def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        also = ("part",) if (rows[watched] - rows["reads"] < rows["writes"]).any() else ()
        yield about_jobs(rows, missed, sentence, share="posix_share", also=also)

    return judge


def _mostly_metadata(row: dict[str, Any]) -> str:
    part = share_in_words(row["meta_s"] / row["io_s"])
    on = f", on {count_in_words(row['files'], 'file')} of POSIX" if row["files"] else ""
    return (
        f"{part} of its I/O time are metadata operations "
        f"({seconds_in_words(row['meta_s'])} in all processes{on})"
        f"{taken('these take', row['meta_share'])}"
    )


def one_sided(rows: pl.DataFrame, total: int, *, difference: float) -> Iterator[Finding]:
    """Jobs that mostly read, or mostly write."""
    worst = rows.sort("bytes", descending=True, maintain_order=True, nulls_last=True).row(
        0, named=True
    )
    parts = []
    if None not in (worst["read_bytes"], worst["write_bytes"]):
        moved = worst["read_bytes"] + worst["write_bytes"]
        share = share_in_words(worst["read_bytes"] / moved) if moved else "nothing"
        parts.append(f"of {bytes_in_words(moved)} that go through POSIX, {share} is read")
    # bytes may be counted where no request is, as of what is mapped into memory
    known = None not in (worst["reads"], worst["writes"])
    if known and (requests := worst["reads"] + worst["writes"]):
        parts.append(f"{of(worst['reads'], requests, 'request')} to POSIX are reads")
    what = "; ".join(parts)
    text = named_first(job_name(worst), what, ["low"] * (rows.height - 1))
    yield Finding("low", text, certainty=certainty(rows))


def incomplete(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Jobs whose logs lack records."""
    first, *others = rows.sort("missing_counters", descending=True, maintain_order=True).to_dicts()
    worth: dict[bool, Severity] = {True: "high", False: "medium"}
    effect = (
        "numbers are lower bounds, and files may be missing"
        if first["missing_counters"]
        else "the counters are complete"
    )
    what = f"its logs are incomplete ({first['gaps']}): {effect}"
    text = named_first(job_name(first), what, [worth[row["missing_counters"]] for row in others])
    yield Finding(worth[first["missing_counters"]], text)


def impossible(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Jobs with numbers that cannot be."""
    first = rows.row(0, named=True)
    names = first["impossible"].split(", ")
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    what = (
        f"its logs have values that cannot be, below 0 or no finite time, of "
        f"{', '.join(names[:SHOWN])}{more}: they are left out, and sums are lower bounds"
    )
    text = named_first(job_name(first), what, ["medium"] * (rows.height - 1))
    yield Finding("medium", text, certainty=certainty(rows))


def copied(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Jobs of whose logs there are copies."""
    worst = rows.sort("copies", descending=True, maintain_order=True).row(0, named=True)
    found = count_in_words(worst["copies"], "copy", "copies")
    are = "is" if worst["copies"] == 1 else "are"
    what = (
        f"beside its {count_in_words(worst['logs'], 'log')} there {are} {found} with the same "
        f"bytes, which {are} left out"
    )
    yield Finding("low", named_first(job_name(worst), what, ["low"] * (rows.height - 1)))


SHOWN: Final = 6
"""Counters that a sentence names, at most."""

_OF_JOB: Final = ("job", "pid", "program", "logs", "processes")
_COST: Final = ("io_s", "time_share", "certainty")
_POSIX_COST: Final = ("reads", "writes", "posix_s", "posix_share", "certainty")
_STDIO: Final = ("stdio_bytes", "stdio_requests", "stdio_s", "stdio_share", "certainty")
_ALL_LAYERS: Final = (
    "through all layers that the logs count (POSIX, MPI-IO, STDIO, DFS or DAOS; HDF5 and PnetCDF "
    "where a log has none of these), each byte once"
)
_NO_SUM: Final = (
    "the records of a module that counts bytes are not there though a log lists it: `harvest "
    "rejects` says why; MDHIM counts no bytes and is in no sum"
)
_MISALIGNED: Final = {
    "share": Threshold(0.1, "share of the reads and writes that were watched, from 0 to 1")
}
_WATCHED: Final = (
    "jobs of which a log has the module POSIX; requests to files whose {what} alignment Darshan "
    "does not know are left out"
)
_UNWATCHED: Final = (
    "Darshan watched the alignment of no request (POSIX_{what}_NOT_ALIGNED or "
    "POSIX_{what}_ALIGNMENT is -1){more}; or "
) + NO_POSIX

JOB_RULES: Final = (
    _rule(
        name="io.stdio",
        doc="Much goes through C's buffered streams (fopen, fread, fwrite), which parallel file "
        "systems serve badly: small buffers, one process at a time.",
        among="uses_stdio",
        where="stdio_bytes > {share} * bytes",
        columns=(*_OF_JOB, "bytes", *_STDIO),
        judge=on_jobs("stdio_bytes", _stdio, share="stdio_share"),
        advice="Use POSIX calls with large buffers, MPI-IO or a library upon it (HDF5, PnetCDF).",
        reference=f"{DRISHTI}: S01",
        numerator="bytes moved through STDIO",
        denominator=f"bytes moved {_ALL_LAYERS}",
        judged="jobs of which a log has the module STDIO",
        unable=_NO_SUM,
        thresholds={"share": Threshold(0.1, "share of all bytes, from 0 to 1")},
    ),
    _rule(
        name="io.many_stdio_requests",
        doc="Many small calls of C's buffered streams, as of logging or of reading line by line.",
        among="uses_stdio",
        where="stdio_requests > {requests} and stdio_requests > {share} * requests "
        "and stdio_bytes < {size} * stdio_requests",
        columns=(*_OF_JOB, "requests", *_STDIO),
        judge=on_jobs("stdio_requests", _many_stdio_requests, share="stdio_share"),
        advice="Write less, or collect it and write it at once; setvbuf enlarges the buffer.",
        reference="the limits of Drishti 0.8 for small requests (P05, P06), applied to STDIO",
        numerator="reads and writes of STDIO, whose mean size is small",
        denominator=f"reads and writes {_ALL_LAYERS}",
        judged="jobs of which a log has the module STDIO",
        unable=_NO_SUM,
        thresholds={
            "size": Threshold(1e6, "mean bytes of a request from which it is not small"),
            "share": Threshold(0.1, "share of the requests to all layers, from 0 to 1"),
            "requests": Threshold(1000, "requests of a job to STDIO"),
        },
    ),
    _rule(
        name="io.no_mpiio",
        doc="An MPI program that does without MPI-IO cannot use collective I/O.",
        among="largest_log > {processes} and has_counters",
        where="bytes > 0 and uses_mpiio = false",
        columns=(*_OF_JOB, "largest_log", "bytes", "uses_mpiio", *_COST),
        judge=on_jobs("bytes", _no_mpiio, most="medium"),
        advice="Where ranks share files, use MPI-IO or a library upon it (HDF5, PnetCDF).",
        reference=f"{DRISHTI}: M01, for programs of more than one process",
        numerator=f"bytes moved {_ALL_LAYERS}, where no log has the module MPI-IO",
        judged="jobs with a log of several processes that has a module that counts bytes",
        unable=_NO_SUM,
        thresholds={"processes": Threshold(1, "processes of an MPI program")},
    ),
    _rule(
        name="io.misaligned_file",
        doc="Requests that begin within a block of the file system: it reads and locks whole "
        "blocks, so that neighbours wait for each other.",
        among="uses_posix",
        where="misaligned_file > {share} * watched_file",
        columns=(*_OF_JOB, "misaligned_file", "watched_file", *_POSIX_COST),
        judge=_misaligned("file", "{} to POSIX begin within a block of the file system"),
        advice="Begin requests at multiples of the block or stripe size (in HDF5, "
        "H5Pset_alignment).",
        reference=f"{DRISHTI}: P08",
        numerator="reads and writes of POSIX whose offset is not a multiple of "
        "POSIX_FILE_ALIGNMENT",
        denominator="reads and writes of POSIX to files whose alignment Darshan knows",
        judged=_WATCHED.format(what="file"),
        unable=_UNWATCHED.format(what="FILE", more=""),
        thresholds=_MISALIGNED,
    ),
    _rule(
        name="io.misaligned_memory",
        doc="Buffers that do not begin at a word of memory are copied more slowly.",
        among="uses_posix",
        where="misaligned_memory > {share} * watched_memory",
        columns=(*_OF_JOB, "misaligned_memory", "watched_memory", *_POSIX_COST),
        judge=_misaligned("memory", "the buffers of {} to POSIX are not aligned in memory"),
        advice="Allocate buffers aligned (posix_memalign, or arrays rather than slices of them).",
        reference=f"{DRISHTI}: P07",
        numerator="reads and writes of POSIX whose buffer is not a multiple of POSIX_MEM_ALIGNMENT",
        denominator="reads and writes of POSIX of which Darshan knows the alignment",
        judged=_WATCHED.format(what="memory"),
        unable=_UNWATCHED.format(what="MEM", more=", which DARSHAN_MEMALIGN sets"),
        thresholds=_MISALIGNED,
    ),
    _rule(
        name="io.mostly_metadata",
        doc="A job that spends its I/O time in opening, seeking and asking about files, not in "
        "moving data: many small files, imports of Python, or files opened again and again.",
        among="has_counters",
        where="meta_s > {seconds} and meta_s > {share} * io_s",
        columns=(*_OF_JOB, "meta_s", "io_s", "files", "meta_share", "time_share", "certainty"),
        judge=on_jobs("meta_s", _mostly_metadata, share="meta_share"),
        advice="Join small files, keep files open, and put software on a local disk or in an "
        "image.",
        reference="PyDarshan's plot of I/O cost, which sets the same times beside each other; "
        "the limits are ours",
        numerator="time in metadata operations, summed over processes, s; of MPI-IO only for files "
        "that POSIX does not count",
        denominator="time in reads, writes and metadata operations, summed over processes, s",
        judged="jobs of which a log has a module that counts bytes",
        unable=_NO_SUM,
        thresholds={
            "share": Threshold(0.5, "share of the I/O time, from 0 to 1"),
            "seconds": Threshold(10, "seconds of metadata operations in all processes"),
        },
    ),
    _rule(
        name="io.one_sided",
        doc="A job that mostly reads, or mostly writes: what is worth tuning.",
        among="uses_posix",
        where="abs(read_bytes - write_bytes) > {difference} * (1.0 * read_bytes + write_bytes) "
        "or abs(reads - writes) > {difference} * (1.0 * reads + writes)",
        columns=(*_OF_JOB, "read_bytes", "write_bytes", "reads", "writes", "bytes", "certainty"),
        judge=one_sided,
        advice="Tune what there is more of: stripes and read-ahead for reads, aggregation and "
        "write-behind for writes.",
        reference=f"{DRISHTI}: P01 to P04",
        numerator="reads minus writes of POSIX: of bytes, or of requests",
        denominator="reads and writes of POSIX together",
        judged="jobs of which a log has the module POSIX; other layers are left out",
        unable=NO_POSIX,
        thresholds={
            "difference": Threshold(0.1, "reads minus writes, of both: of bytes or requests")
        },
    ),
    _rule(
        name="io.incomplete_logs",
        doc="Logs whose records Darshan cut off for want of memory, with modules that could not be "
        "read, or that Darshan did not finish.",
        where="gaps is not null",
        columns=(*_OF_JOB, "gaps", "missing_counters"),
        judge=incomplete,
        advice="Run with more memory for Darshan (DARSHAN_MODMEM, or MODMEM in its "
        "configuration) and without needless files (NAME_EXCLUDE); `harvest rejects` says why a "
        "module could not be read; a log is finished when its program ends in order.",
        reference="the log's own partial flags, end and name; Darshan's runtime documentation",
        numerator="modules that a log marks as partial, or that could not be read, and logs "
        "without an end or with the name of one that is not done (.darshan_partial)",
        judged="all jobs",
        unable="never",
    ),
    _rule(
        name="io.impossible_values",
        doc="Counters with values that cannot be, as bytes below 0 or an infinite time: the log, "
        "or what wrote it, is damaged there.",
        where="impossible is not null",
        columns=(*_OF_JOB, "impossible", "certainty"),
        judge=impossible,
        advice="Look at the records themselves (darshan.posix and its like, or darshan-parser); "
        "take the log anew, or from a newer Darshan.",
        reference="counters are numbers of operations and bytes, or finite times",
        numerator="counters that have such a value in a record of a layer that counts bytes",
        judged="all jobs",
        unable="never",
    ),
    _rule(
        name="io.copied_logs",
        doc="Logs that are there more than once: each counts once, in all views and findings.",
        where="copies > 0",
        columns=(*_OF_JOB, "copies", "run"),
        judge=copied,
        advice="Remove the copies, or harvest a directory without them; record types keep the "
        "rows of all.",
        reference="the SHA-256 of the logs (darshan.job, sha256)",
        numerator="logs whose bytes are those of another log",
        judged="jobs whose logs were read with their SHA-256",
        unable="the logs were harvested by an older version: `harvest run --force` reads them "
        "again",
    ),
)
