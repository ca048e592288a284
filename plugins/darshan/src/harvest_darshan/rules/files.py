"""Rules on files: metadata that takes long, and ranks that do unequal parts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words

from .words import (
    DRISHTI,
    NO_END,
    NO_POSIX,
    REPORTS,
    Judge,
    Sentence,
    certainty,
    costliest,
    job_name,
    of_time,
)

if TYPE_CHECKING:
    import polars as pl

    from harvest.findings import Severity

_rule = partial(Rule, view="io.posix_files", requires=("darshan.job",), reports=REPORTS)


def _about_files(
    rows: pl.DataFrame,
    sentence: Sentence,
    *,
    share: str = "time_share",
    most: Severity = "high",
    also: tuple[str, ...] = (),
) -> Iterator[Finding]:
    """One finding on files, of which the costliest is named, as for ``costliest``."""
    # unknown shares come last
    ordered = rows.sort(share, "file", descending=[True, False], nulls_last=True).to_dicts()
    sure = (*certainty(rows), *also)
    yield costliest(ordered, _file_name, sentence, sure, share=share, most=most)


def _file_name(row: dict[str, Any]) -> str:
    return f"{row['file']} of {job_name(row)}"


def _on_files(sentence: Sentence, **options: Any) -> Judge:
    return lambda rows, total, **thresholds: _about_files(rows, sentence, **options)


def _taken(row: dict[str, Any]) -> str:
    """`` (the file takes 12 % of its processes' time)``."""
    if row["time_share"] is None:
        return " (how much of its processes' time the file takes is not known)"
    return f" (the file takes {of_time(row['time_share'])})"


def _late(row: dict[str, Any]) -> str:
    """``rank 3 needs 1.2 s longer than rank 0, 9 % of the run``."""
    of_run = "an unknown part"
    if row["late_share"] is not None:
        of_run = share_in_words(row["late_share"])
    return (
        f"rank {row['slowest_rank']} needs {seconds_in_words(row['late_s'])} longer than rank "
        f"{row['fastest_rank']}, {of_run} of the run"
    )


def _long_metadata(row: dict[str, Any]) -> str:
    who = "its ranks spend, on average," if row["shared"] else "a process spends"
    spent = seconds_in_words(row["slowest_meta_s"])
    return f"{who} {spent} in opening, seeking and asking about it{_taken(row)}"


def long_metadata(rows: pl.DataFrame, total: int, *, seconds: float) -> Iterator[Finding]:
    """Files whose metadata operations take a process long; of shared ones the mean is known."""
    shared = rows["shared"].any()
    return _about_files(rows, _long_metadata, also=("lower_bound",) if shared else ())


def _unequal_bytes(row: dict[str, Any]) -> str:
    apart = share_in_words(row["rank_spread"])
    return (
        f"of its slowest and fastest rank one moves {apart} less than the other, and {_late(row)}"
    )


def _unequal_processes(row: dict[str, Any]) -> str:
    apart = {op: row[f"{op}_spread"] or 0 for op in ("read", "write")}
    op = max(apart, key=apart.__getitem__)
    return (
        f"of its {count_in_words(row['processes'], 'process', 'processes')} one {op}s "
        f"{share_in_words(apart[op])} less than another{_taken(row)}"
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
        judge=long_metadata,
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
)
