"""What sentences of several rules share: the job's name, what it costs, and the other jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from harvest import Finding
from harvest.toolkit.amounts import count_in_words, share_in_words

if TYPE_CHECKING:
    import polars as pl

    from harvest.api.rule import Severity

__all__ = [
    "DRISHTI",
    "HIGH",
    "MEDIUM",
    "REPORTS",
    "about_jobs",
    "cost",
    "job_name",
    "named_first",
    "of",
]

REPORTS: Final = ("darshan.io",)
DRISHTI: Final = "Drishti 0.8"
HIGH: Final = 0.2
MEDIUM: Final = 0.05
"""Shares of the processes' time from which a finding is high, and medium."""


def cost(share: float | None, most: Severity = "high") -> Severity:
    """How much it matters, by the share of the processes' time that it concerns.

    Where that is not known, for a log has no end, it is medium.
    most: for what is worth no more, however long it takes.
    """
    if share is None:
        return "medium"
    if share < MEDIUM:
        return "low"
    return most if share >= HIGH else "medium"


def job_name(row: Mapping[str, Any]) -> str:
    """``job 4711 (a.out)``."""
    program = row["program"]
    return f"job {row['job']}" + (f" ({program})" if program else "")


def of(part: float, whole: float, word: str) -> str:
    """``900 of 1,000 reads (90 %)``."""
    return f"{part:,} of {count_in_words(int(whole), word)} ({share_in_words(part / whole)})"


def about_jobs(
    rows: pl.DataFrame,
    jobs: int,
    measure: str,
    sentence: Callable[[dict[str, Any]], str],
    *,
    share: str = "time_share",
    most: Severity = "high",
    where: Mapping[str, str] | None = None,
) -> Iterator[Finding]:
    """One finding on jobs, of which the costliest is named.

    rows: one per job; jobs: how many there are in all.
    measure: decides among those that cost alike.
    sentence: says of a row what is found, after the name of the job.
    share: the column with the share of the processes' time that it concerns.
    most: the severity of what takes most of the time.
    """
    weights = {"low": 0, "medium": 1, "high": 2}
    worst = max(
        rows.iter_rows(named=True), key=lambda row: (weights[cost(row[share])], row[measure])
    )
    text = named_first(job_name(worst), sentence(worst), rows.height, jobs, "job")
    yield Finding(cost(worst[share], most), text, where or {})


def named_first(name: str, what: str, number: int, total: int, word: str) -> str:
    """A sentence on one job or file, and how many of all are like it.

    number: of those that are so, the named one among them; total: of all; word: what they are.
    """
    text = f"{name[0].upper()}{name[1:]}: {what}."
    if number > 1:
        others = count_in_words(number - 1, "other")
        text += f" The same holds for {others} of {count_in_words(total, word)}."
    return text
