"""Rules on files, and on ranks: metadata that takes long, and parts that are unequal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words

from .words import (
    DRISHTI,
    NO_END,
    NO_POSIX,
    REPORTS,
    Judge,
    Row,
    Sentence,
    certainty,
    cost,
    costliest,
    job_name,
    of_time,
    severities,
    taken,
)

if TYPE_CHECKING:
    import polars as pl

    from harvest.findings import Severity

_rule = partial(Rule, view="io.posix_files", requires=("darshan.job",), reports=REPORTS)


def _on_files(
    sentence: Sentence,
    *,
    share: str = "time_share",
    most: Severity = "high",
    at_least: str | None = None,
) -> Judge:
    """A rule's finding on files, of which the costliest is named, as for ``costliest``.

    at_least: the flag of files of which a lower bound alone is known.
    """

    def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        # unknown shares come last
        ordered = rows.sort(share, "file", descending=[True, False], nulls_last=True).to_dicts()
        also = ("lower_bound",) if at_least and any(row[at_least] for row in ordered) else ()
        yield costliest(ordered, _file_name, sentence, share=share, most=most, also=also)

    return judge


def _file_name(row: Row) -> str:
    return f"{row['file']} of {job_name(row)}"


def _taken(row: Row) -> str:
    """`` (the file takes 12 % of its processes' time)``."""
    if row["time_share"] is None:
        return " (how much of its processes' time the file takes is not known)"
    return f" (the file takes {of_time(row['time_share'])})"


def _late(row: Row) -> str:
    """``rank 3 needs 1.2 s longer than rank 0, 9 % of the run``."""
    of_run = "an unknown part"
    if row["late_share"] is not None:
        of_run = share_in_words(row["late_share"])
    return (
        f"rank {row['slowest_rank']} needs {seconds_in_words(row['late_s'])} longer than rank "
        f"{row['fastest_rank']}, {of_run} of the run"
    )


def _long_metadata(row: Row) -> str:
    who = "its ranks spend, on average," if row["shared"] else "a process spends"
    spent = seconds_in_words(row["slowest_meta_s"])
    return f"{who} {spent} in opening, seeking and asking about it{_taken(row)}"


def _unequal_bytes(row: Row) -> str:
    apart = share_in_words(row["rank_spread"])
    return (
        f"of its slowest and fastest rank one moves {apart} less than the other, and {_late(row)}"
    )


def _unequal_processes(row: Row) -> str:
    apart = {op: row[f"{op}_spread"] or 0 for op in ("read", "write")}
    op = max(apart, key=apart.__getitem__)
    return (
        f"of its {count_in_words(row['processes'], 'process', 'processes')} one {op}s "
        f"{share_in_words(apart[op])} less than another{_taken(row)}"
    )


def slow_ranks(
    rows: pl.DataFrame, total: int, *, times: float, seconds: float
) -> Iterator[Finding]:
    """Ranks that spend much longer in traced I/O than the others of their program."""
    worst = rows.sort("seconds", "rank", descending=[True, False]).row(0, named=True)
    all_of = severities([cost(share) for share in rows["time_share"]])
    yield Finding(
        cost(worst["time_share"]),
        f"{rows.height:,} of {count_in_words(total, 'traced rank')} ({all_of}) spend over "
        f"{times:g} times as long in reads and writes as the median of their program: the "
        f"longest, rank {worst['rank']} of {job_name(worst)}, "
        f"{seconds_in_words(worst['seconds'])} where the median is "
        f"{seconds_in_words(worst['median_s'])}{taken('these are', worst['time_share'])}.",
        certainty=certainty(rows.to_dicts()),
    )


_OF_FILE: Final = ("file", "job", "pid", "program")
_LATE: Final = ("late_s", "late_share", "slowest_rank", "fastest_rank", "certainty")
_SHARED: Final = (
    "files with a record of all ranks of a log of several processes; files that only some ranks "
    "open are left out, as are all where DARSHAN_DISABLE_SHARED_REDUCTION was set"
)
_NO_RANKS: Final = (
    "a record of all ranks has no times of its fastest and slowest rank, or none that are above "
    "0; DARSHAN_DISABLE_SHARED_REDUCTION=1 keeps a record per rank instead (io.unequal_processes)"
)

FILE_RULES: Final = (
    _rule(
        name="io.long_metadata",
        doc="Files for which a process waits long in metadata operations: open, stat, seek and "
        "their like go to one server, whatever the stripes.",
        where="case when slowest_meta_s > {seconds} then true "
        "when slowest_meta_most_s <= {seconds} then false end",
        columns=(
            *(*_OF_FILE, "slowest_meta_s", "slowest_meta_most_s", "meta_s", "processes"),
            *("shared", "time_share", "certainty"),
        ),
        judge=_on_files(_long_metadata, at_least="shared"),
        advice="Open files once and keep them open; join small files; let one rank ask and pass "
        "the answer on.",
        reference=f"{DRISHTI}: P17, of a process and not of all ranks together",
        numerator="time in metadata operations of the process that takes longest for a file, s; of "
        "a record of all ranks at least their mean",
        judged="files that POSIX counts; of a record of all ranks, where their mean is above the "
        "threshold, or their sum, or all that the slowest of them takes, is not",
        unable="a record of all ranks has only their sum; DARSHAN_DISABLE_SHARED_REDUCTION=1 keeps "
        "a record per rank",
        thresholds={"seconds": Threshold(30, "seconds of a process in metadata operations")},
    ),
    _rule(
        name="io.unequal_bytes",
        doc="Shared files of which the fastest and the slowest rank move unequal parts: the "
        "others wait for one.",
        among="shared",
        where="rank_spread > {share} and late_s > {seconds}",
        columns=(*_OF_FILE, "rank_spread", "read_bytes", "write_bytes", *_LATE),
        judge=_on_files(_unequal_bytes, share="late_share"),
        advice="Give ranks parts of the same size, or choose the aggregators of collective calls "
        "(cb_nodes) evenly.",
        reference=f"{DRISHTI} (P18) divides by the bytes of all ranks, of which two have little "
        "where there are many; the limits are ours",
        numerator="bytes by which the slowest and the fastest rank differ",
        denominator="bytes of the one that moves more",
        judged=_SHARED,
        unable=_NO_RANKS,
        thresholds={
            "share": Threshold(0.3, "difference of the two ranks, of the greater, from 0 to 1"),
            "seconds": Threshold(1, "seconds that the slowest takes longer than the fastest"),
        },
    ),
    _rule(
        name="io.stragglers",
        doc="Shared files for which the slowest rank needs much longer than the fastest.",
        among="shared",
        where="late_s > {seconds} and late_share > {share}",
        columns=(*_OF_FILE, "time_imbalance", *_LATE),
        judge=_on_files(_late, share="late_share"),
        advice="Look at the slowest rank: a slow node or storage target, or more work than the "
        "others have; a larger stripe count spreads the file.",
        reference=f"{DRISHTI} (P19) divides by the time of all ranks, of which one has little "
        "where there are many; the limits are ours",
        numerator="seconds that the slowest rank takes longer than the fastest, in reads, writes "
        "and metadata operations of POSIX",
        denominator="the time that the processes of the log ran, s each",
        judged=_SHARED,
        unable=f"{_NO_RANKS}; or {NO_END}",
        thresholds={
            "share": Threshold(0.05, "of the time that a process ran, from 0 to 1"),
            "seconds": Threshold(1, "seconds that the slowest takes longer than the fastest"),
        },
    ),
    _rule(
        name="io.unequal_processes",
        doc="Files that several processes use, each with a record of its own, of which one moves "
        "much more than another.",
        among="processes > 1",
        where="read_spread > {share} or write_spread > {share}",
        columns=(*_OF_FILE, "processes", "read_spread", "write_spread", "time_share", "certainty"),
        judge=_on_files(_unequal_processes, most="medium"),
        advice="Where they do the same work, give them parts of the same size; where one reads "
        "for all, this is as it should be.",
        reference=f"{DRISHTI}: P21, P22",
        numerator="bytes by which the process that moves most and the one that moves least differ, "
        "of those with a record of their own",
        denominator="bytes of the one that moves most",
        judged="files of which several processes have records of their own; processes that never "
        "opened the file are left out",
        unable=NO_POSIX,
        thresholds={"share": Threshold(0.3, "most minus fewest bytes of a process, of the most")},
    ),
    Rule(
        name="io.slow_ranks",
        doc="Ranks of an MPI program whose traced reads and writes take much longer than those "
        "of the median rank, over all files.",
        view="io.ranks",
        among="nprocs > 1",
        where="seconds > {seconds} and seconds > {times} * median_s",
        columns=(
            *("job", "pid", "program", "rank", "host", "seconds", "median_s"),
            *("operations", "bytes", "time_share", "certainty"),
        ),
        judge=slow_ranks,
        advice="Compare their bytes with the others': more bytes are uneven work, the same bytes "
        "a slow node or storage target.",
        reference="the stragglers of Darshan's DXT traces (Xu et al., CUG 2017); the limits are "
        "ours",
        numerator="time of a rank in the reads and writes that DXT traced, s",
        denominator="the median of that time over the traced ranks of its log, s",
        judged="ranks with traced operations, of logs of several processes; ranks without any are "
        "left out",
        unable="the logs hold no trace: DXT_ENABLE_IO_TRACE=1 makes Darshan record one",
        thresholds={
            "times": Threshold(2, "times the median of the ranks with traced operations"),
            "seconds": Threshold(1, "seconds in traced operations"),
        },
        requires=("darshan.job",),
        reports=REPORTS,
    ),
)
