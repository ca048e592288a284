"""Rules on reads and writes: their size, order and interface."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from harvest import Rule, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words
from harvest.toolkit.layout import shorten

from .words import DRISHTI, NO_POSIX, REPORTS, NamesWorst, Row, is_mpi, part, ratio

_rule = partial(Rule, view="io.requests", reports=REPORTS)
_of_posix = partial(NamesWorst, takes="{op}s take", each=("op",))
_of_mpiio = partial(_of_posix, share="mpiio_share")

PATH: Final = 60
"""Maximum characters of a path in a detail; the evidence contains the full path."""


def _file(row: Row, column: str) -> str:
    return shorten(row[column] or "(not named)", PATH, "id")


def _small(row: Row) -> str:
    found = part(row["small"], row["requests"], row["op"])
    return f"{found}, {row['small_in_file']:,} of them to {_file(row, 'small_file')}"


def _fewer_requests(rows: Sequence[Row]) -> str:
    """Advise programs of several ranks that use MPI-IO: only they have collective calls."""
    if is_mpi(rows[0]) and rows[0]["uses_mpiio"]:
        return "Use collective MPI-IO calls, which merge requests, or larger chunks in the file."
    return ""


def _random(row: Row) -> str:
    found = part(row["random"], row["requests"], row["op"])
    return f"{found} start before the end of the last one, most in {_file(row, 'random_file')}"


def _redundant(row: Row) -> str:
    moved, whole = bytes_in_words(row["redundant_bytes"]), bytes_in_words(row["bytes"])
    return f"{moved} of {whole} were {_done(row)} before, most in {_file(row, 'redundant_file')}"


def _done(row: Row) -> str:
    return "read" if row["op"] == "read" else "written"


def _once(rows: Sequence[Row]) -> str:
    if rows[0]["op"] == "write":
        return "Keep data in memory until they are final, and write them once."
    if all("one_process" in row["certainty"] for row in rows):
        return "Read once and keep the data in memory."
    return ""


_OF_JOB: Final = ("job", "pid", "program", "logs", "op")
_COST: Final = ("seconds", "time_share", "certainty")
_MPIIO: Final = ("mpiio_s", "mpiio_share", "certainty")
_SMALL: Final = {
    "share": Threshold(0.1, "share of all requests, from 0 to 1"),
    "requests": Threshold(1000, "small requests of a job"),
}
_POSIX_JOBS: Final = "jobs with the module POSIX in a log; reads and writes apart"
_MPIIO_JOBS: Final = "with the module MPI-IO in a log; reads and writes apart"
_NO_SIZES: Final = f"{NO_POSIX}; or a record lacks POSIX_SIZE_... or POSIX_ACCESSn_..."
_NO_MPIIO: Final = "a log lists MPI-IO without records: `harvest rejects` says why"

_posix_rule = partial(_rule, among="uses_posix", judged=_POSIX_JOBS, unable=NO_POSIX)

REQUEST_RULES: Final = (
    _posix_rule(
        name="io.small_requests",
        doc="Many requests below 1 MiB. Each costs a round trip on a parallel file system.",
        where="small > {requests} and small > {share} * requests",
        columns=(
            *(*_OF_JOB, "small", "requests", "small_file", "small_in_file", *_COST),
            *("largest_log", "uses_mpiio"),
        ),
        judge=_of_posix(
            "small",
            lambda row: f"{ratio(row, 'small')} of {row['op']}s are below 1 MiB",
            _small,
            advice=_fewer_requests,
        ),
        advice="Buffer to read and write larger pieces, or use larger chunks in the file format.",
        reference=f"{DRISHTI}: P05, P06, without requests of exactly 1 MiB",
        numerator="POSIX requests below 1 MiB: those in Darshan's bins to 1 MiB, less those of "
        "exactly 1 MiB if it is one of the four most common sizes",
        denominator="all POSIX requests of the same kind",
        unable=_NO_SIZES,
        thresholds=_SMALL,
    ),
    _rule(
        name="io.small_requests_shared",
        doc="Many requests below 1 MiB to shared files. They compete for the locks of the file.",
        among="uses_posix and largest_log > 1",
        where="shared_small > {requests} and shared_small > {share} * shared",
        columns=(*_OF_JOB, "shared_small", "shared", *_COST),
        judge=_of_posix(
            "shared_small",
            lambda row: (
                f"{ratio(row, 'shared_small', 'shared')} of shared-file {row['op']}s are small"
            ),
            lambda row: (
                f"{part(row['shared_small'], row['shared'], row['op'])} to files that all ranks "
                "share are below 1 MiB"
            ),
        ),
        advice="Merge requests with collective MPI-IO calls, or write a file per node.",
        reference=f"{DRISHTI}: P15, P16, without requests of exactly 1 MiB",
        numerator="requests below 1 MiB, as in io.small_requests, in POSIX records of all ranks",
        denominator="all requests of the same kind in these records",
        judged="jobs with POSIX in a log of several processes; files that only some ranks open, "
        "or all with DARSHAN_DISABLE_SHARED_REDUCTION, have no record of all ranks",
        unable=_NO_SIZES,
        thresholds=_SMALL,
    ),
    _posix_rule(
        name="io.random_access",
        doc="Many requests before the end of the last one, without help of read-ahead.",
        where="random > {requests} and random > {share} * requests",
        columns=(*_OF_JOB, "random", "requests", "random_file", *_COST),
        judge=_of_posix(
            "random", lambda row: f"{ratio(row, 'random')} of {row['op']}s are random", _random
        ),
        advice="Sort requests by offset, or store the data in the order of their use.",
        reference=f"{DRISHTI}: P11, P13, without the first request of each process to a file",
        numerator="POSIX requests out of sequence (POSIX_SEQ_...), without the first to each file",
        denominator="all POSIX requests of the same kind",
        thresholds={
            "share": Threshold(0.2, "share of all requests, from 0 to 1"),
            "requests": Threshold(1000, "random requests of a job"),
        },
    ),
    _posix_rule(
        name="io.redundant",
        doc="More bytes moved than the accessed part of the file has.",
        where="redundant_bytes > {size} and redundant_bytes > {share} * bytes",
        columns=(*_OF_JOB, "redundant_bytes", "bytes", "redundant_file", *_COST),
        judge=_of_posix(
            "redundant_bytes",
            lambda row: (
                f"{ratio(row, 'redundant_bytes', 'bytes')} of bytes {_done(row)} are repeats"
            ),
            _redundant,
            advice=_once,
        ),
        advice="Read once and pass the data on (broadcast, shared memory), or keep them in memory.",
        reference="POSIX_MAX_BYTE_READ, _WRITTEN; Drishti 0.8 (P09, P10) compares in reverse",
        numerator="POSIX bytes beyond the highest offset of their file, summed over files",
        denominator="all POSIX bytes of the same kind",
        thresholds={
            "share": Threshold(0.1, "share of all bytes of the kind, from 0 to 1"),
            "size": Threshold(10e6, "bytes of a job"),
        },
    ),
    _rule(
        name="io.independent_mpiio",
        doc="All requests to MPI-IO are independent, so it does not merge those of ranks.",
        among="uses_mpiio and largest_log > 1",
        where="collective + split = 0 and independent > {requests}",
        columns=(*_OF_JOB, "independent", "collective", "split", *_MPIIO),
        judge=_of_mpiio(
            "independent",
            lambda row: f"{row['independent']:,} MPI-IO {row['op']}s, none collective",
            lambda row: f"Every rank calls MPI-IO by itself for its {row['op']}s",
        ),
        advice="Use collective calls (MPI_File_read_all, _write_all, H5FD_MPIO_COLLECTIVE).",
        reference=f"{DRISHTI}: M02, M03",
        numerator="independent requests to MPI-IO, where none is collective",
        judged=f"jobs with a log of several processes, and {_MPIIO_JOBS}",
        unable=_NO_MPIIO,
        thresholds={"requests": Threshold(1000, "independent requests of a job")},
    ),
    _rule(
        name="io.blocking_mpiio",
        doc="All requests to MPI-IO block, so computing waits for them.",
        among="uses_mpiio",
        where="nonblocking + split = 0 and 1.0 * independent + collective > {requests}",
        columns=(*_OF_JOB, "independent", "collective", "nonblocking", "split", *_MPIIO),
        judge=_of_mpiio(
            "mpiio_s",
            lambda row: count_in_words(
                row["independent"] + row["collective"], f"blocking MPI-IO {row['op']}"
            ),
            lambda row: f"No {row['op']} is non-blocking, so computing waits for all of them",
            most="medium",
        ),
        advice="Compute during I/O with non-blocking calls (MPI_File_iread, MPI_File_iwrite).",
        reference=f"{DRISHTI}: M06, M07",
        numerator="blocking requests to MPI-IO, where none is non-blocking or split",
        judged=f"jobs {_MPIIO_JOBS}",
        unable=_NO_MPIIO,
        thresholds={"requests": Threshold(0, "requests of a job to MPI-IO")},
    ),
)
