"""Rules on reads and writes: their size, order and interface."""

from __future__ import annotations

from functools import partial
from typing import Final

from harvest import Rule, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words

from .words import DRISHTI, NO_POSIX, REPORTS, Row, of, on_jobs

_rule = partial(Rule, view="io.requests", reports=REPORTS)
_of_posix = partial(on_jobs, takes="{op}s take", each=("op",))
_of_mpiio = partial(_of_posix, share="mpiio_share")


def _redundant(row: Row) -> str:
    done = "read" if row["op"] == "read" else "written"
    part = share_in_words(row["redundant_bytes"] / row["bytes"])
    return (
        f"{bytes_in_words(row['redundant_bytes'])} of {bytes_in_words(row['bytes'])} {done} "
        f"({part}) were {done} before, the most of {row['redundant_file']}"
    )


_OF_JOB: Final = ("job", "pid", "program", "op")
_COST: Final = ("seconds", "time_share", "certainty")
_MPIIO: Final = ("mpiio_s", "mpiio_share", "certainty")
_SMALL: Final = {
    "share": Threshold(0.1, "share of all requests, from 0 to 1"),
    "requests": Threshold(1000, "small requests of a job"),
}
_POSIX_JOBS: Final = "jobs of which a log has the module POSIX, their reads and their writes"
_MPIIO_JOBS: Final = "of which a log has the module MPI-IO, their reads and their writes"
_NO_SIZES: Final = f"{NO_POSIX}; or a record lacks the counters POSIX_SIZE_..., POSIX_ACCESSn_..."
_NO_MPIIO: Final = (
    "MPI-IO's records are not there though a log lists the module: `harvest rejects` says why"
)

REQUEST_RULES: Final = (
    _rule(
        name="io.small_requests",
        doc="Many requests below 1 MiB: each costs a call and, on a parallel file system, a round "
        "trip, whatever its size.",
        among="uses_posix",
        where="small > {requests} and small > {share} * requests",
        columns=(*_OF_JOB, "small", "requests", "small_file", "small_in_file", *_COST),
        judge=_of_posix(
            "small",
            lambda row: (
                f"{of(row['small'], row['requests'], row['op'])} are smaller than 1 MiB, "
                f"the most ({row['small_in_file']:,}) of {row['small_file']}"
            ),
        ),
        advice="Read and write larger pieces at once: buffer, or raise the chunk size of the "
        "format. With MPI-IO, use collective calls, which gather requests.",
        reference=f"{DRISHTI}: P05, P06, without requests of exactly 1 MiB",
        numerator="requests to POSIX of less than 1 MiB: those in Darshan's bins to 1 MiB, without "
        "those of exactly 1 MiB as far as it is among the four most common sizes",
        denominator="all requests to POSIX, of the same kind",
        judged=_POSIX_JOBS,
        unable=_NO_SIZES,
        thresholds=_SMALL,
    ),
    _rule(
        name="io.small_requests_shared",
        doc="Many requests below 1 MiB to files that all ranks share: they also compete for "
        "the file's locks.",
        among="uses_posix and largest_log > 1",
        where="shared_small > {requests} and shared_small > {share} * shared",
        columns=(*_OF_JOB, "shared_small", "shared", *_COST),
        judge=_of_posix(
            "shared_small",
            lambda row: (
                f"{of(row['shared_small'], row['shared'], row['op'])} of files that all "
                "ranks share are smaller than 1 MiB"
            ),
        ),
        advice="Let MPI-IO gather the requests of the ranks by collective calls, or write a file "
        "per node.",
        reference=f"{DRISHTI}: P15, P16, without requests of exactly 1 MiB",
        numerator="requests of less than 1 MiB, as in io.small_requests, in POSIX's records of all "
        "ranks",
        denominator="all requests in these records, of the same kind",
        judged="jobs with a log of several processes that has the module POSIX; files that only "
        "some of the ranks open have records of their own and are left out, as are all where "
        "DARSHAN_DISABLE_SHARED_REDUCTION was set",
        unable=_NO_SIZES,
        thresholds=_SMALL,
    ),
    _rule(
        name="io.random_access",
        doc="Many requests at an offset before the end of the one before: neither read-ahead "
        "nor write-behind of the file system helps them.",
        among="uses_posix",
        where="random > {requests} and random > {share} * requests",
        columns=(*_OF_JOB, "random", "requests", "random_file", *_COST),
        judge=_of_posix(
            "random",
            lambda row: (
                f"{of(row['random'], row['requests'], row['op'])} do not begin behind the "
                f"one before, the most of {row['random_file']}"
            ),
        ),
        advice="Sort requests by offset, or lay the data out in the order of their use.",
        reference=f"{DRISHTI}: P11, P13, without the first request of each process to a file",
        numerator="requests to POSIX that are not sequential (POSIX_SEQ_...), without the first of "
        "each process to each file, which has none before it",
        denominator="all requests to POSIX, of the same kind",
        judged=_POSIX_JOBS,
        unable=NO_POSIX,
        thresholds={
            "share": Threshold(0.2, "share of all requests, from 0 to 1"),
            "requests": Threshold(1000, "random requests of a job"),
        },
    ),
    _rule(
        name="io.redundant",
        doc="More bytes moved than the file is long, as far as was accessed: the same bytes were "
        "read by several processes or again and again.",
        among="uses_posix",
        where="redundant_bytes > {size} and redundant_bytes > {share} * bytes",
        columns=(*_OF_JOB, "redundant_bytes", "bytes", "redundant_file", *_COST),
        judge=_of_posix("redundant_bytes", _redundant),
        advice="Read once and pass the data on (broadcast, shared memory), or keep them in memory.",
        reference="Darshan's POSIX_MAX_BYTE_READ and _WRITTEN, which Drishti 0.8 (P09, P10) "
        "compares the other way round; the limits are ours",
        numerator="bytes moved through POSIX beyond the highest offset of their file, summed over "
        "files",
        denominator="all bytes moved through POSIX, of the same kind",
        judged=_POSIX_JOBS,
        unable=NO_POSIX,
        thresholds={
            "share": Threshold(0.1, "share of all bytes of the kind, from 0 to 1"),
            "size": Threshold(10e6, "bytes of a job"),
        },
    ),
    _rule(
        name="io.independent_mpiio",
        doc="MPI-IO is used, but every rank asks for itself, so that requests are not merged.",
        among="uses_mpiio and largest_log > 1",
        where="collective + split = 0 and independent > {requests}",
        columns=(*_OF_JOB, "independent", "collective", "split", *_MPIIO),
        judge=_of_mpiio(
            "independent",
            lambda row: (
                f"{row['independent']:,} {row['op']}s through MPI-IO are independent, none "
                "is collective"
            ),
        ),
        advice="Use collective calls (MPI_File_write_all and its like; in HDF5, "
        "H5FD_MPIO_COLLECTIVE).",
        reference=f"{DRISHTI}: M02, M03",
        numerator="independent requests to MPI-IO, where none is collective",
        judged=f"jobs with a log of several processes, {_MPIIO_JOBS}",
        unable=_NO_MPIIO,
        thresholds={"requests": Threshold(1000, "independent requests of a job")},
    ),
    _rule(
        name="io.blocking_mpiio",
        doc="All requests to MPI-IO block, so that computing waits for them.",
        among="uses_mpiio",
        where="nonblocking + split = 0 and 1.0 * independent + collective > {requests}",
        columns=(*_OF_JOB, "independent", "collective", "nonblocking", "split", *_MPIIO),
        judge=_of_mpiio(
            "mpiio_s",
            lambda row: (
                f"its {count_in_words(row['independent'] + row['collective'], row['op'])} "
                "through MPI-IO wait until they are done; none is non-blocking"
            ),
            most="medium",
        ),
        advice="Where there is something to compute meanwhile, use non-blocking calls "
        "(MPI_File_iwrite and its like; in HDF5, the asynchronous VOL connector).",
        reference=f"{DRISHTI}: M06, M07",
        numerator="requests to MPI-IO that block, where none is non-blocking or split",
        judged=f"jobs {_MPIIO_JOBS}",
        unable=_NO_MPIIO,
        thresholds={"requests": Threshold(0, "requests of a job to MPI-IO")},
    ),
)
