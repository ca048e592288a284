"""Rules on files: metadata that takes long, and ranks that do unequal parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words

from .words import DRISHTI, REPORTS, cost, job_name, named_first

if TYPE_CHECKING:
    import polars as pl

    from harvest.api.rule import Severity

__all__ = ["FILE_RULES"]

VIEW: Final = "io.posix_files"
Sentence: TypeAlias = Callable[[dict[str, Any]], str]


def _about_files(
    rows: pl.DataFrame,
    total: int,
    sentence: Sentence,
    *,
    share: str = "time_share",
    most: Severity = "high",
) -> Iterator[Finding]:
    """One finding on files, of which the costliest is named.

    sentence: says of a row what is found, after the name of the file.
    share: the column with the share of the processes' time that it costs.
    """
    # unknown shares come last
    worst = rows.sort(share, "file", descending=[True, False], nulls_last=True).row(0, named=True)
    name = f"{worst['file']} of {job_name(worst)}"
    text = named_first(name, sentence(worst), rows.height, total, "file")
    yield Finding(cost(worst[share], most), text)


def _taken(row: dict[str, Any]) -> str:
    """`` (12 % of its processes' time)``."""
    if row["time_share"] is None:
        return ""
    return f" (the file takes {share_in_words(row['time_share'])} of its processes' time)"


def _late(row: dict[str, Any]) -> str:
    """``rank 3 needs 1.2 s longer than rank 0, 9 % of the run``."""
    of_run = share_in_words(row["late_share"]) if row["late_share"] is not None else "unknown part"
    return (
        f"rank {row['slowest_rank']} needs {seconds_in_words(row['late_s'])} longer than rank "
        f"{row['fastest_rank']}, {of_run} of the run"
    )


def long_metadata(rows: pl.DataFrame, total: int, *, seconds: float) -> Iterator[Finding]:
    """Files whose metadata operations take a process long."""

    def sentence(row: dict[str, Any]) -> str:
        spent = seconds_in_words(row["slowest_meta_s"])
        return f"a process spends {spent} in opening, seeking and asking about it{_taken(row)}"

    return _about_files(rows, total, sentence)


def unequal_bytes(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Shared files whose fastest and slowest rank move unequal parts."""

    def sentence(row: dict[str, Any]) -> str:
        apart = share_in_words(row["byte_imbalance"])
        return f"its slowest and fastest rank differ by {apart} of all its bytes, and {_late(row)}"

    return _about_files(rows, total, sentence, share="late_share")


def stragglers(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Shared files for which one rank needs longer than another."""

    def sentence(row: dict[str, Any]) -> str:
        return f"{_late(row)} and {share_in_words(row['time_imbalance'])} of the time of all ranks"

    return _about_files(rows, total, sentence, share="late_share")


def unequal_processes(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Files of which one process moves much more than another."""

    def sentence(row: dict[str, Any]) -> str:
        apart = {op: row[f"{op}_spread"] or 0 for op in ("read", "write")}
        op = max(apart, key=apart.__getitem__)
        return (
            f"of its {count_in_words(row['processes'], 'process', 'processes')} one {op}s "
            f"{share_in_words(apart[op])} less than another{_taken(row)}"
        )

    return _about_files(rows, total, sentence, most="medium")


_OF_FILE: Final = ("file", "job", "program")
_LATE: Final = ("late_s", "late_share", "slowest_rank", "fastest_rank")
_UNEQUAL: Final = {"share": Threshold(0.15, "distance of two ranks, of the sum over all ranks")}

FILE_RULES: Final = (
    Rule(
        name="io.long_metadata",
        doc="Files for which a process waits long in metadata operations: open, stat, seek and "
        "their like go to one server, whatever the stripes. Ranks that share a record count "
        "together.",
        view=VIEW,
        where="slowest_meta_s > {seconds}",
        columns=(*_OF_FILE, "slowest_meta_s", "meta_s", "processes", "shared", "time_share"),
        judge=long_metadata,
        advice="Open files once and keep them open; join small files; let one rank ask and pass "
        "the answer on.",
        reference=f"{DRISHTI}: P17",
        thresholds={"seconds": Threshold(30, "seconds of metadata operations in one record")},
        reports=REPORTS,
    ),
    Rule(
        name="io.unequal_bytes",
        doc="Shared files of which the fastest and the slowest rank move unequal parts: the "
        "others wait for one.",
        view=VIEW,
        where="byte_imbalance > {share}",
        columns=(*_OF_FILE, "byte_imbalance", "read_bytes", "write_bytes", *_LATE),
        judge=unequal_bytes,
        advice="Give ranks parts of the same size, or choose the aggregators of collective calls "
        "(cb_nodes) evenly.",
        reference=f"{DRISHTI}: P18",
        thresholds=_UNEQUAL,
        reports=REPORTS,
    ),
    Rule(
        name="io.stragglers",
        doc="Shared files for which the slowest rank needs much longer than the fastest.",
        view=VIEW,
        where="time_imbalance > {share}",
        columns=(*_OF_FILE, "time_imbalance", *_LATE),
        judge=stragglers,
        advice="Look at the slowest rank: a slow node or storage target, or more work than the "
        "others have; a larger stripe count spreads the file.",
        reference=f"{DRISHTI}: P19",
        thresholds=_UNEQUAL,
        reports=REPORTS,
    ),
    Rule(
        name="io.unequal_processes",
        doc="Files that several processes use, each with a record of its own, of which one moves "
        "much more than another.",
        view=VIEW,
        where="read_spread > {share} or write_spread > {share}",
        columns=(*_OF_FILE, "processes", "read_spread", "write_spread", "time_share"),
        judge=unequal_processes,
        advice="Where they do the same work, give them parts of the same size; where one reads "
        "for all, this is as it should be.",
        reference=f"{DRISHTI}: P21, P22",
        thresholds={"share": Threshold(0.3, "most minus fewest bytes of a process, of the most")},
        reports=REPORTS,
    ),
)
