"""Rules on reads and writes: their size, order and interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words

from .words import DRISHTI, REPORTS, about_jobs, of

if TYPE_CHECKING:
    import polars as pl

    from harvest.api.rule import Severity

__all__ = ["REQUEST_RULES"]

VIEW: Final = "io.requests"
Sentence: TypeAlias = Callable[[dict[str, Any]], str]


def _per_op(
    rows: pl.DataFrame,
    total: int,
    measure: str,
    sentence: Sentence,
    *,
    share: str = "time_share",
    most: Severity = "high",
) -> Iterator[Finding]:
    """A finding on reads and one on writes; the view has two rows per job."""
    for (op,), some in rows.group_by("op", maintain_order=True):
        yield from about_jobs(
            some, total // 2, measure, sentence, share=share, most=most, where={"op": str(op)}
        )


def _taken(row: dict[str, Any], share: str = "time_share") -> str:
    """``; reads take 12 % of its processes' time``."""
    if row[share] is None:
        return ""
    return f"; {row['op']}s take {share_in_words(row[share])} of its processes' time"


def small_requests(
    rows: pl.DataFrame, total: int, *, share: float, requests: float
) -> Iterator[Finding]:
    """Requests below 1 MiB, and the file with the most."""

    def sentence(row: dict[str, Any]) -> str:
        return (
            f"{of(row['small'], row['requests'], row['op'])} are smaller than 1 MiB, the most "
            f"({row['small_in_file']:,}) of {row['small_file']}{_taken(row)}"
        )

    return _per_op(rows, total, "small", sentence)


def small_requests_shared(
    rows: pl.DataFrame, total: int, *, share: float, requests: float
) -> Iterator[Finding]:
    """Requests below 1 MiB to files that all ranks share."""

    def sentence(row: dict[str, Any]) -> str:
        return (
            f"{of(row['shared_small'], row['shared'], row['op'])} of files that all ranks share "
            f"are smaller than 1 MiB{_taken(row)}"
        )

    return _per_op(rows, total, "shared_small", sentence)


def random_access(
    rows: pl.DataFrame, total: int, *, share: float, requests: float
) -> Iterator[Finding]:
    """Requests that go back in the file."""

    def sentence(row: dict[str, Any]) -> str:
        return (
            f"{of(row['random'], row['requests'], row['op'])} do not begin behind the one before, "
            f"the most of {row['random_file']}{_taken(row)}"
        )

    return _per_op(rows, total, "random", sentence)


def redundant(rows: pl.DataFrame, total: int, *, share: float, size: float) -> Iterator[Finding]:
    """Bytes beyond the highest offset of their file: read or written more than once."""

    def sentence(row: dict[str, Any]) -> str:
        done = "read" if row["op"] == "read" else "written"
        part = share_in_words(row["redundant_bytes"] / row["bytes"])
        return (
            f"{bytes_in_words(row['redundant_bytes'])} of {bytes_in_words(row['bytes'])} {done} "
            f"({part}) were {done} before, the most of {row['redundant_file']}{_taken(row)}"
        )

    return _per_op(rows, total, "redundant_bytes", sentence)


def independent_mpiio(rows: pl.DataFrame, total: int, *, requests: float) -> Iterator[Finding]:
    """MPI-IO without a single collective request."""

    def sentence(row: dict[str, Any]) -> str:
        return (
            f"all {row['independent']:,} {row['op']}s through MPI-IO are independent, none is "
            f"collective{_taken(row, 'mpiio_share')}"
        )

    return _per_op(rows, total, "independent", sentence, share="mpiio_share")


def blocking_mpiio(rows: pl.DataFrame, total: int, *, requests: float) -> Iterator[Finding]:
    """MPI-IO that waits for every request."""

    def sentence(row: dict[str, Any]) -> str:
        asked = row["independent"] + row["collective"]
        return (
            f"its {count_in_words(asked, row['op'])} through MPI-IO wait until they are done; "
            f"none is non-blocking{_taken(row, 'mpiio_share')}"
        )

    return _per_op(rows, total, "mpiio_s", sentence, share="mpiio_share", most="medium")


_OF_JOB: Final = ("job", "program", "op")
_COST: Final = ("seconds", "time_share")
_MPIIO: Final = ("mpiio_s", "mpiio_share")
_SMALL: Final = {
    "share": Threshold(0.1, "share of all requests, from 0 to 1"),
    "requests": Threshold(1000, "small requests of a job"),
}

REQUEST_RULES: Final = (
    Rule(
        name="io.small_requests",
        doc="Many requests below 1 MiB: each costs a call and, on a parallel file system, a round "
        "trip, whatever its size.",
        view=VIEW,
        where="small > {requests} and small > {share} * requests",
        columns=(*_OF_JOB, "small", "requests", "small_file", "small_in_file", *_COST),
        judge=small_requests,
        advice="Read and write larger pieces at once: buffer, or raise the chunk size of the "
        "format. With MPI-IO, use collective calls, which gather requests.",
        reference=f"{DRISHTI}: P05, P06",
        thresholds=_SMALL,
        reports=REPORTS,
    ),
    Rule(
        name="io.small_requests_shared",
        doc="Many requests below 1 MiB to files that all ranks share: they also compete for "
        "the file's locks.",
        view=VIEW,
        where="shared_small > {requests} and shared_small > {share} * shared",
        columns=(*_OF_JOB, "shared_small", "shared", *_COST),
        judge=small_requests_shared,
        advice="Let MPI-IO gather the requests of the ranks by collective calls, or write a file "
        "per node.",
        reference=f"{DRISHTI}: P15, P16",
        thresholds=_SMALL,
        reports=REPORTS,
    ),
    Rule(
        name="io.random_access",
        doc="Many requests at an offset before the end of the one before: neither read-ahead "
        "nor write-behind of the file system helps them.",
        view=VIEW,
        where="random > {requests} and random > {share} * requests",
        columns=(*_OF_JOB, "random", "requests", "random_file", *_COST),
        judge=random_access,
        advice="Sort requests by offset, or lay the data out in the order of their use.",
        reference=f"{DRISHTI}: P11, P13",
        thresholds={
            "share": Threshold(0.2, "share of all requests, from 0 to 1"),
            "requests": Threshold(1000, "random requests of a job"),
        },
        reports=REPORTS,
    ),
    Rule(
        name="io.redundant",
        doc="More bytes moved than the file is long, as far as was accessed: the same bytes were "
        "read by several processes or again and again.",
        view=VIEW,
        where="redundant_bytes > {size} and redundant_bytes > {share} * bytes",
        columns=(*_OF_JOB, "redundant_bytes", "bytes", "redundant_file", *_COST),
        judge=redundant,
        advice="Read once and pass the data on (broadcast, shared memory), or keep them in memory.",
        reference="Darshan's POSIX_MAX_BYTE_READ and _WRITTEN, which Drishti 0.8 (P09, P10) "
        "compares the other way round; the limits are ours",
        thresholds={
            "share": Threshold(0.1, "share of all bytes of the kind, from 0 to 1"),
            "size": Threshold(10e6, "bytes of a job"),
        },
        reports=REPORTS,
    ),
    Rule(
        name="io.independent_mpiio",
        doc="MPI-IO is used, but every rank asks for itself, so that requests are not merged.",
        view=VIEW,
        where="collective = 0 and independent > {requests}",
        columns=(*_OF_JOB, "independent", "collective", *_MPIIO),
        judge=independent_mpiio,
        advice="Use collective calls (MPI_File_write_all and its like; in HDF5, "
        "H5FD_MPIO_COLLECTIVE).",
        reference=f"{DRISHTI}: M02, M03",
        thresholds={"requests": Threshold(1000, "independent requests of a job")},
        reports=REPORTS,
    ),
    Rule(
        name="io.blocking_mpiio",
        doc="All requests to MPI-IO block, so that computing waits for them.",
        view=VIEW,
        where="nonblocking = 0 and independent + collective > {requests}",
        columns=(*_OF_JOB, "independent", "collective", "nonblocking", *_MPIIO),
        judge=blocking_mpiio,
        advice="Where there is something to compute meanwhile, use non-blocking calls "
        "(MPI_File_iwrite and its like; in HDF5, the asynchronous VOL connector).",
        reference=f"{DRISHTI}: M06, M07",
        thresholds={"requests": Threshold(0, "requests of a job to MPI-IO")},
        reports=REPORTS,
    ),
)
