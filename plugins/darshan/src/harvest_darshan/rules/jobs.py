"""Rules on jobs as a whole: interfaces, alignment, metadata, and logs with gaps."""

from __future__ import annotations

from functools import partial
from typing import Final

from harvest import Rule, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words

from .words import DRISHTI, NO_POSIX, REPORTS, Row, of, on_jobs, ranked

_rule = partial(Rule, view="io.jobs", reports=REPORTS)
_of_stdio = partial(on_jobs, takes="these take", share="stdio_share")
_of_posix = partial(on_jobs, takes="POSIX takes", share="posix_share")


def _mostly_metadata(row: Row) -> str:
    part = share_in_words(row["meta_s"] / row["io_s"])
    on = f", on {count_in_words(row['files'], 'file')} of POSIX" if row["files"] else ""
    spent = seconds_in_words(row["meta_s"])
    return f"{part} of its I/O time are metadata operations ({spent} in all processes{on})"


def _one_sided(row: Row) -> str:
    parts = []
    if None not in (row["read_bytes"], row["write_bytes"]):
        moved = row["read_bytes"] + row["write_bytes"]
        share = share_in_words(row["read_bytes"] / moved) if moved else "nothing"
        parts.append(f"of {bytes_in_words(moved)} that go through POSIX, {share} is read")
    # bytes may be counted where no request is, as of what is mapped into memory
    known = None not in (row["reads"], row["writes"])
    if known and (requests := row["reads"] + row["writes"]):
        parts.append(f"{of(row['reads'], requests, 'request')} to POSIX are reads")
    return "; ".join(parts)


def _incomplete(row: Row) -> str:
    lower = "numbers are lower bounds, and files may be missing"
    effect = lower if row["missing_counters"] else "the counters are complete"
    return f"its logs are incomplete ({row['gaps']}): {effect}"


def _impossible(row: Row) -> str:
    names = row["impossible"].split(", ")
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return (
        f"its logs have values that cannot be, below 0 or no finite time, of "
        f"{', '.join(names[:SHOWN])}{more}: they are left out, and sums are lower bounds"
    )


def _copied(row: Row) -> str:
    logs, copies = row["logs"], row["copies"]
    are = "is" if copies == 1 else "are"
    return (
        f"beside its {count_in_words(logs, 'log')} there {are} "
        f"{count_in_words(copies, 'copy', 'copies')} with the same bytes, which {are} left out"
    )


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
        judge=_of_stdio(
            "stdio_bytes",
            lambda row: (
                f"{bytes_in_words(row['stdio_bytes'])} of {bytes_in_words(row['bytes'])} "
                f"({share_in_words(row['stdio_bytes'] / row['bytes'])}) go through STDIO, the "
                "buffered streams of C"
            ),
        ),
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
        judge=_of_stdio(
            "stdio_requests",
            lambda row: (
                f"{of(row['stdio_requests'], row['requests'], 'request')} go through "
                f"STDIO, of {bytes_in_words(row['stdio_bytes'] / row['stdio_requests'])} each on "
                "average"
            ),
        ),
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
        judge=on_jobs(
            "bytes",
            lambda row: (
                f"its {row['largest_log']:,} ranks move {bytes_in_words(row['bytes'])} "
                "without MPI-IO"
            ),
            "I/O takes",
            most="medium",
        ),
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
        judge=_of_posix(
            "misaligned_file",
            lambda row: (
                f"{of(row['misaligned_file'], row['watched_file'], 'request')} to POSIX "
                "begin within a block of the file system"
            ),
            watched="watched_file",
        ),
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
        judge=_of_posix(
            "misaligned_memory",
            lambda row: (
                "the buffers of "
                f"{of(row['misaligned_memory'], row['watched_memory'], 'request')} to POSIX are "
                "not aligned in memory"
            ),
            watched="watched_memory",
        ),
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
        judge=on_jobs("meta_s", _mostly_metadata, "these take", share="meta_share"),
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
        judge=ranked("bytes", _one_sided, lambda row: "low", sure=True),
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
        judge=ranked(
            "missing_counters",
            _incomplete,
            lambda row: "high" if row["missing_counters"] else "medium",
        ),
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
        judge=ranked(None, _impossible, lambda row: "medium", sure=True),
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
        judge=ranked("copies", _copied, lambda row: "low"),
        advice="Remove the copies, or harvest a directory without them; record types keep the "
        "rows of all.",
        reference="the SHA-256 of the logs (darshan.job, sha256)",
        numerator="logs whose bytes are those of another log",
        judged="jobs whose logs were read with their SHA-256",
        unable="the logs were harvested by an older version: `harvest run --force` reads them "
        "again",
    ),
)
