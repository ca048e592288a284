"""Rules on files and ranks: long metadata operations, and unequal work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words

from . import words
from .words import DRISHTI, REPORTS, NamesWorst, Row, job_name

if TYPE_CHECKING:
    import polars as pl

_rule = partial(Rule, view="io.posix_files", requires=("darshan.job",), reports=REPORTS)
_on_files = partial(NamesWorst, name=lambda row: str(row["file"]), of="file")
_on_late = partial(_on_files, "late_share", share="late_share")


def _late(row: Row) -> str:
    """Format ``rank 3 is 1.2 s slower than rank 0``."""
    slower = f"{seconds_in_words(row['late_s'])} slower"
    return f"rank {row['slowest_rank']} is {slower} than rank {row['fastest_rank']}"


def _of_run(row: Row) -> str:
    """Format ``9 % of the run of job 7 (a.out)``."""
    share = "an unknown part" if row["late_share"] is None else share_in_words(row["late_share"])
    return f"{share} of the run of {job_name(row)}"


def _long_metadata(row: Row) -> str:
    spent = f"{seconds_in_words(row['slowest_meta_s'])} on metadata"
    return f"ranks spend {spent} on average" if row["shared"] else f"a process spends {spent}"


def _open_once(rows: Sequence[Row]) -> str:
    """Advise a single process, which cannot let another rank open its files."""
    if rows[0]["shared"] or rows[0]["processes"] > 1:
        return ""
    return "Open files once and keep them open; merge small files."


def _unequal_processes(row: Row) -> str:
    apart = {op: row[f"{op}_spread"] or 0.0 for op in ("read", "write")}
    op = max(apart, key=apart.__getitem__)
    return f"one process {op}s {share_in_words(apart[op])} less than another"


def slow_ranks(
    rows: pl.DataFrame, total: int, *, times: float, seconds: float
) -> Iterator[Finding]:
    """Report ranks that spend much longer in traced I/O than the others of their program."""
    ordered = rows.sort("seconds", "rank", descending=[True, False]).to_dicts()
    some = f"{len(ordered):,} of {count_in_words(total, 'traced rank')}"
    all_of = words.severities([words.cost(row["time_share"]) for row in ordered])
    named = NamesWorst(
        None,
        lambda row: f"rank {row['rank']} spends {seconds_in_words(row['seconds'])} in I/O",
        lambda row: (
            f"The median of its program is {seconds_in_words(row['median_s'])}. {some} ({all_of}) "
            f"spend over {times:g} times the median"
        ),
        "I/O takes",
    )
    yield named.finding(ordered[:1], words.certainty(ordered))


_OF_FILE: Final = ("file", "job", "pid", "program", "logs")
_LATE: Final = ("late_s", "late_share", "slowest_rank", "fastest_rank", "certainty")
_SHARED: Final = (
    "files with a record of all ranks, in logs of several processes; files that only some ranks "
    "open, or all with DARSHAN_DISABLE_SHARED_REDUCTION, have none"
)
_NO_RANKS: Final = (
    "a record of all ranks has no times above 0 of its fastest and slowest rank; "
    "DARSHAN_DISABLE_SHARED_REDUCTION=1 keeps a record per rank (io.unequal_processes)"
)

_shared_rule = partial(_rule, among="shared", judged=_SHARED)

FILE_RULES: Final = (
    _rule(
        name="io.long_metadata",
        doc="Files with long metadata operations. They go to one server, whatever the stripes.",
        where="case when slowest_meta_s > {seconds} then true "
        "when slowest_meta_most_s <= {seconds} then false end",
        columns=(
            *(*_OF_FILE, "slowest_meta_s", "slowest_meta_most_s", "meta_s", "processes"),
            *("shared", "time_share", "certainty"),
        ),
        judge=_on_files(
            "time_share",
            _long_metadata,
            lambda row: f"Open, stat, seek and similar, in {job_name(row)}",
            "the file takes",
            at_least="shared",
            advice=_open_once,
        ),
        advice="Open files once and keep them open; merge small files; let one rank open for all.",
        reference=f"{DRISHTI}: P17, for a process instead of all ranks together",
        numerator="metadata time of the slowest process, s; of a record of all ranks their mean",
        judged="files that POSIX counts; a record of all ranks where their mean is above the "
        "threshold, or the most that one can take is not",
        unable="a record of all ranks has only their sum; DARSHAN_DISABLE_SHARED_REDUCTION=1 keeps "
        "a record per rank",
        thresholds={"seconds": Threshold(30, "seconds of a process in metadata operations")},
    ),
    _shared_rule(
        name="io.unequal_bytes",
        doc="Shared files where the slowest and the fastest rank move unequal parts.",
        where="rank_spread > {share} and late_s > {seconds}",
        columns=(*_OF_FILE, "rank_spread", "read_bytes", "write_bytes", *_LATE),
        judge=_on_late(
            lambda row: f"one rank moves {share_in_words(row['rank_spread'])} less than another",
            lambda row: f"{_late(row).capitalize()}, {_of_run(row)}",
        ),
        advice="Give ranks parts of the same size, or spread collective aggregators (cb_nodes).",
        reference=f"{DRISHTI} (P18) divides by the bytes of all ranks; the limits are ours",
        numerator="bytes by which the slowest and the fastest rank differ",
        denominator="bytes of the one that moves more",
        unable=_NO_RANKS,
        thresholds={
            "share": Threshold(0.3, "difference of the two ranks, of the larger, from 0 to 1"),
            "seconds": Threshold(1, "seconds by which the slowest rank is slower than the fastest"),
        },
    ),
    _shared_rule(
        name="io.stragglers",
        doc="Shared files where the slowest rank takes much longer than the fastest.",
        where="late_s > {seconds} and late_share > {share}",
        columns=(*_OF_FILE, "time_imbalance", *_LATE),
        judge=_on_late(_late, lambda row: f"The difference is {_of_run(row)}"),
        advice="Check the slowest rank for more work, or a slow node or storage target.",
        reference=f"{DRISHTI} (P19) divides by the time of all ranks; the limits are ours",
        numerator="POSIX time of the slowest rank minus that of the fastest, s",
        denominator="the time that each process of the log ran, s",
        unable=f"{_NO_RANKS}; or {words.NO_END}",
        thresholds={
            "share": Threshold(0.05, "share of the time that a process ran, from 0 to 1"),
            "seconds": Threshold(1, "seconds by which the slowest rank is slower than the fastest"),
        },
    ),
    _rule(
        name="io.unequal_processes",
        doc="Files that several processes use, where one moves much more than another.",
        among="processes > 1",
        where="read_spread > {share} or write_spread > {share}",
        columns=(*_OF_FILE, "processes", "read_spread", "write_spread", "time_share", "certainty"),
        judge=_on_files(
            "time_share",
            _unequal_processes,
            lambda row: (
                f"{count_in_words(row['processes'], 'process', 'processes')} of {job_name(row)} "
                "use it"
            ),
            "the file takes",
            most="medium",
        ),
        advice="Give processes with the same work equal parts, unless one reads for all.",
        reference=f"{DRISHTI}: P21, P22",
        numerator="bytes of the process that moves most minus those of the one that moves least",
        denominator="bytes of the process that moves most",
        judged="files with separate records of several processes",
        unable=words.NO_POSIX,
        thresholds={"share": Threshold(0.3, "most minus fewest bytes of a process, of the most")},
    ),
    _rule(
        name="io.slow_ranks",
        doc="Ranks of an MPI program with traced I/O much longer than that of the median rank.",
        view="io.ranks",
        among="nprocs > 1",
        where="seconds > {seconds} and seconds > {times} * median_s",
        columns=(
            *("job", "pid", "program", "rank", "host", "seconds", "median_s"),
            *("operations", "bytes", "time_share", "certainty"),
        ),
        judge=slow_ranks,
        advice="Compare their bytes with the other ranks: more bytes mean uneven work, the same "
        "bytes a slow node or storage target.",
        reference="stragglers in DXT traces (Xu et al., CUG 2017); the limits are ours",
        numerator="time of a rank in traced reads and writes (DXT), s",
        denominator="the median of that time over the traced ranks of its log, s",
        judged="ranks with traced operations, in logs of several processes",
        unable="the logs have no trace: run the program with DXT_ENABLE_IO_TRACE=1",
        thresholds={
            "times": Threshold(2, "times the median of the ranks with traced operations"),
            "seconds": Threshold(1, "seconds in traced operations"),
        },
    ),
)
