"""Rules on whole jobs: interfaces, alignment, metadata, and incomplete logs."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from harvest import Rule, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words
from harvest.toolkit.layout import shorten

from .words import DRISHTI, NO_POSIX, REPORTS, NamesWorst, Row, is_mpi, part, ratio

_rule = partial(Rule, view="io.jobs", reports=REPORTS)
_of_stdio = partial(NamesWorst, takes="they take", share="stdio_share")
_of_posix = partial(NamesWorst, takes="POSIX takes", share="posix_share")
_informs = partial(NamesWorst, severity=lambda row: "low")


def _larger_buffers(rows: Sequence[Row]) -> str:
    """Advise a program of one process, which does not need MPI-IO."""
    if is_mpi(rows[0]):
        return ""
    return "Use POSIX calls with large buffers, or enlarge the buffers of streams with setvbuf."


def _metadata(row: Row) -> str:
    on = f" on {count_in_words(row['files'], 'POSIX file')}" if row["files"] else ""
    spent = seconds_in_words(row["meta_s"])
    return f"Open, stat, seek and other metadata operations{on} take {spent} in all processes"


def _sides(row: Row) -> list[tuple[float, str, float]]:
    """Return, for bytes and for requests, the share of reads, the word, and the total."""
    sides = []
    for what, *names in (("bytes", "read_bytes", "write_bytes"), ("requests", "reads", "writes")):
        reads, writes = (row[name] for name in names)
        # there may be bytes without requests, for example of files mapped into memory
        if None not in (reads, writes) and reads + writes:
            sides.append((reads / (reads + writes), what, reads + writes))
    return sides


def _one_side(row: Row) -> str:
    share, what, _ = max(_sides(row), key=lambda side: abs(side[0] - 0.5))
    side = "reads" if share >= 0.5 else "writes"
    return f"{share_in_words(max(share, 1 - share))} of POSIX {what} are {side}"


def _both_sides(row: Row) -> str:
    parts = []
    for share, what, whole in _sides(row):
        amount = bytes_in_words(whole) if what == "bytes" else count_in_words(int(whole), "request")
        parts.append(f"{share_in_words(share)} of {amount}")
    return f"POSIX reads {' and '.join(parts)}"


def _tuning(rows: Sequence[Row]) -> str:
    sides = {_one_side(row).split()[-1] for row in rows}
    if sides == {"reads"}:
        return "Tune reads first: stripe count and read-ahead."
    return "Tune writes first: aggregation and write-behind." if sides == {"writes"} else ""


def _incomplete(row: Row) -> str:
    if row["missing_counters"]:
        return f"{row['gaps']}: numbers are lower bounds, and files may be missing"
    return f"{row['gaps']}: the trace is incomplete, the counters are complete"


def _complete_logs(rows: Sequence[Row]) -> str:
    """Advise how to avoid the gaps of these logs."""
    gaps = "; ".join(row["gaps"] for row in rows)
    steps = {
        "cut off": "Give Darshan more memory (DARSHAN_MODMEM) or exclude files (NAME_EXCLUDE).",
        "not read": "Run `harvest rejects` to see why a module was not read.",
        "not finished": "Let the program end normally, so that Darshan finishes its log.",
    }
    return " ".join(step for gap, step in steps.items() if gap in gaps)


def _impossible(row: Row) -> str:
    names = row["impossible"].split(", ")
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return (
        f"{', '.join(names[:SHOWN])}{more}: below 0 or not a finite time. These values are left "
        "out, so sums are lower bounds"
    )


SHOWN: Final = 3
"""Maximum number of counters that a detail names."""

_OF_JOB: Final = ("job", "pid", "program", "logs", "processes")
_COST: Final = ("io_s", "time_share", "certainty")
_POSIX_COST: Final = ("reads", "writes", "posix_s", "posix_share", "certainty")
_STDIO: Final = ("stdio_bytes", "stdio_requests", "stdio_s", "stdio_share", "certainty")
_ALL_LAYERS: Final = (
    "through POSIX, MPI-IO, STDIO, DFS or DAOS (else HDF5, PnetCDF), each byte once"
)
_NO_SUM: Final = (
    "a log lists a module without records: `harvest rejects` says why; MDHIM has no bytes"
)
_WATCHED: Final = "jobs with POSIX in a log, without files that have no {what} alignment"
_UNWATCHED: Final = (
    "POSIX_{what}_NOT_ALIGNED or POSIX_{what}_ALIGNMENT is -1{more}; or "
) + NO_POSIX

_aligned_rule = partial(
    _rule,
    among="uses_posix",
    thresholds={"share": Threshold(0.1, "share of the watched reads and writes, from 0 to 1")},
)
_stdio_rule = partial(
    _rule, among="uses_stdio", judged="jobs with the module STDIO in a log", unable=_NO_SUM
)

JOB_RULES: Final = (
    _stdio_rule(
        name="io.stdio",
        doc="Many bytes go through C's buffered streams (fopen, fread, fwrite). Their buffers are "
        "small, which parallel file systems serve badly.",
        where="stdio_bytes > {share} * bytes",
        columns=(*_OF_JOB, "bytes", *_STDIO, "largest_log"),
        judge=_of_stdio(
            "stdio_bytes",
            lambda row: f"{ratio(row, 'stdio_bytes', 'bytes')} of bytes go through STDIO",
            lambda row: (
                f"{bytes_in_words(row['stdio_bytes'])} of {bytes_in_words(row['bytes'])} use "
                "C's buffered streams"
            ),
            advice=_larger_buffers,
        ),
        advice="Use POSIX calls with large buffers, or MPI-IO, HDF5 or PnetCDF.",
        reference=f"{DRISHTI}: S01",
        numerator="bytes moved through STDIO",
        denominator=f"bytes moved {_ALL_LAYERS}",
        thresholds={"share": Threshold(0.1, "share of all bytes, from 0 to 1")},
    ),
    _stdio_rule(
        name="io.many_stdio_requests",
        doc="Many small calls of C's buffered streams, for example to log or to read lines.",
        where="stdio_requests > {requests} and stdio_requests > {share} * requests "
        "and stdio_bytes < {size} * stdio_requests",
        columns=(*_OF_JOB, "requests", *_STDIO),
        judge=_of_stdio(
            "stdio_requests",
            lambda row: f"{ratio(row, 'stdio_requests', 'requests')} of requests use STDIO",
            lambda row: (
                f"{part(row['stdio_requests'], row['requests'], 'request')} move "
                f"{bytes_in_words(row['stdio_bytes'] / row['stdio_requests'])} each on average"
            ),
        ),
        advice="Read and write larger pieces, or enlarge the buffers of streams with setvbuf.",
        reference="the limits of Drishti 0.8 for small requests (P05, P06), applied to STDIO",
        numerator="reads and writes of STDIO with a small mean size",
        denominator=f"reads and writes {_ALL_LAYERS}",
        thresholds={
            "size": Threshold(1e6, "mean bytes of a request that is not small"),
            "share": Threshold(0.1, "share of the requests to all layers, from 0 to 1"),
            "requests": Threshold(1000, "requests of a job to STDIO"),
        },
    ),
    _rule(
        name="io.no_mpiio",
        doc="An MPI program without MPI-IO cannot use collective I/O.",
        among="largest_log > {processes} and has_counters",
        where="bytes > 0 and uses_mpiio = false",
        columns=(*_OF_JOB, "largest_log", "bytes", "uses_mpiio", *_COST),
        judge=NamesWorst(
            "bytes",
            lambda row: (
                f"{row['largest_log']:,} ranks move {bytes_in_words(row['bytes'])} without MPI-IO"
            ),
            lambda row: "They cannot use collective I/O",
            "I/O takes",
            most="medium",
        ),
        advice="Use MPI-IO or a library on top of it (HDF5, PnetCDF) where ranks share files.",
        reference=f"{DRISHTI}: M01, for programs of more than one process",
        numerator=f"bytes moved {_ALL_LAYERS}, where no log has the module MPI-IO",
        judged="jobs with a log of several processes and a module that counts bytes",
        unable=_NO_SUM,
        thresholds={"processes": Threshold(1, "processes of an MPI program")},
    ),
    _aligned_rule(
        name="io.misaligned_file",
        doc="Requests that start inside a block of the file system. It reads and locks whole "
        "blocks, so neighbours wait for each other.",
        where="misaligned_file > {share} * watched_file",
        columns=(*_OF_JOB, "misaligned_file", "watched_file", *_POSIX_COST),
        judge=_of_posix(
            "misaligned_file",
            lambda row: (
                f"{ratio(row, 'misaligned_file', 'watched_file')} of requests start inside a block"
            ),
            lambda row: (
                f"{part(row['misaligned_file'], row['watched_file'], 'POSIX request')} do not "
                "start at a block of the file system"
            ),
            watched="watched_file",
        ),
        advice="Start requests at multiples of the block or stripe size (HDF5: H5Pset_alignment).",
        reference=f"{DRISHTI}: P08",
        numerator="POSIX requests whose offset is not a multiple of POSIX_FILE_ALIGNMENT",
        denominator="reads and writes of POSIX to files whose alignment Darshan records",
        judged=_WATCHED.format(what="file"),
        unable=_UNWATCHED.format(what="FILE", more=""),
    ),
    _aligned_rule(
        name="io.misaligned_memory",
        doc="Buffers that do not start at a word of memory are copied more slowly.",
        where="misaligned_memory > {share} * watched_memory",
        columns=(*_OF_JOB, "misaligned_memory", "watched_memory", *_POSIX_COST),
        judge=_of_posix(
            "misaligned_memory",
            lambda row: (
                f"{ratio(row, 'misaligned_memory', 'watched_memory')} of buffers are misaligned"
            ),
            lambda row: (
                f"{part(row['misaligned_memory'], row['watched_memory'], 'POSIX request')} use a "
                "buffer that is not aligned in memory"
            ),
            watched="watched_memory",
        ),
        advice="Allocate aligned buffers (posix_memalign), or pass whole arrays instead of slices.",
        reference=f"{DRISHTI}: P07",
        numerator="reads and writes of POSIX whose buffer is not a multiple of POSIX_MEM_ALIGNMENT",
        denominator="reads and writes of POSIX whose alignment Darshan records",
        judged=_WATCHED.format(what="memory"),
        unable=_UNWATCHED.format(what="MEM", more=", which DARSHAN_MEMALIGN sets"),
    ),
    _rule(
        name="io.mostly_metadata",
        doc="A job that spends its I/O time on metadata, for example of small files or imports.",
        among="has_counters",
        where="meta_s > {seconds} and meta_s > {share} * io_s",
        columns=(*_OF_JOB, "meta_s", "io_s", "files", "meta_share", "time_share", "certainty"),
        judge=NamesWorst(
            "meta_s",
            lambda row: f"{ratio(row, 'meta_s', 'io_s')} of I/O time is metadata",
            _metadata,
            "this is",
            share="meta_share",
        ),
        advice="Merge small files, keep files open, or move software to a local disk or image.",
        reference="PyDarshan's plot of I/O cost compares the same times; the limits are ours",
        numerator="metadata time in all processes, s; of MPI-IO only for files without POSIX",
        denominator="time in reads, writes and metadata operations, summed over processes, s",
        judged="jobs with a module that counts bytes in a log",
        unable=_NO_SUM,
        thresholds={
            "share": Threshold(0.5, "share of the I/O time, from 0 to 1"),
            "seconds": Threshold(10, "seconds of metadata operations in all processes"),
        },
    ),
    _rule(
        name="io.one_sided",
        doc="A job that mostly reads, or mostly writes: tune that side first.",
        among="uses_posix",
        where="abs(read_bytes - write_bytes) > {difference} * (1.0 * read_bytes + write_bytes) "
        "or abs(reads - writes) > {difference} * (1.0 * reads + writes)",
        columns=(*_OF_JOB, "read_bytes", "write_bytes", "reads", "writes", "bytes", "certainty"),
        judge=_informs("bytes", _one_side, _both_sides, advice=_tuning),
        advice="Tune the larger side first: stripes and read-ahead for reads, aggregation and "
        "write-behind for writes.",
        reference=f"{DRISHTI}: P01 to P04",
        numerator="reads minus writes of POSIX: of bytes, or of requests",
        denominator="reads and writes of POSIX together",
        judged="jobs with the module POSIX in a log, without other layers",
        unable=NO_POSIX,
        thresholds={
            "difference": Threshold(0.1, "reads minus writes, of both: of bytes or requests")
        },
    ),
    _rule(
        name="io.incomplete_logs",
        doc="Logs that Darshan cut off because it ran out of memory, or did not finish, or with "
        "modules that could not be read.",
        where="gaps is not null",
        columns=(*_OF_JOB, "gaps", "missing_counters"),
        judge=NamesWorst(
            "missing_counters",
            lambda row: f"logs incomplete, {shorten(row['gaps'].replace('; ', ', '), 27, 'id')}",
            _incomplete,
            severity=lambda row: "high" if row["missing_counters"] else "medium",
            advice=_complete_logs,
        ),
        advice="Give Darshan more memory (DARSHAN_MODMEM), exclude files (NAME_EXCLUDE), and let "
        "the program end normally; `harvest rejects` says why a module was not read.",
        reference="the log's own partial flags, end and name; Darshan's runtime documentation",
        numerator="modules that are partial or not read, and unfinished logs",
        judged="all jobs",
        unable="never",
    ),
    _rule(
        name="io.impossible_values",
        doc="Counters with impossible values, for example bytes below 0 or an infinite time. The "
        "log, or what wrote it, is damaged there.",
        where="impossible is not null",
        columns=(*_OF_JOB, "impossible", "certainty"),
        judge=NamesWorst(
            None,
            lambda row: (
                count_in_words(row["impossible"].count(", ") + 1, "counter has", "counters have")
                + " impossible values"
            ),
            _impossible,
            severity=lambda row: "medium",
        ),
        advice="Look at the records with darshan-parser. Record again, with a newer Darshan.",
        reference="counters are numbers of operations and bytes, or finite times",
        numerator="counters that have such a value in a record of a layer that counts bytes",
        judged="all jobs",
        unable="never",
    ),
    _rule(
        name="io.copied_logs",
        doc="Logs with the same bytes as another log. Views and findings count each log once.",
        where="copies > 0",
        columns=(*_OF_JOB, "copies", "run"),
        judge=_informs(
            "copies",
            lambda row: (
                count_in_words(row["copies"], "copied log is", "copied logs are") + " left out"
            ),
            lambda row: (
                f"{count_in_words(row['logs'], 'log counts', 'logs count')}; a copy has the same "
                "bytes as one of these"
            ),
        ),
        advice="Remove the copies, or harvest a directory without them. Record types keep the rows "
        "of all logs.",
        reference="the SHA-256 of the logs (darshan.job, sha256)",
        numerator="logs with the same bytes as another log",
        judged="jobs whose logs were read with their SHA-256",
        unable="an older version harvested the logs: `harvest run --force` reads them again",
    ),
)
