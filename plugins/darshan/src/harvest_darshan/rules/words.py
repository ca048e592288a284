"""What findings of several rules share: the subject, what it costs, and the other jobs or files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from harvest import Finding
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest.toolkit.layout import shorten

if TYPE_CHECKING:
    import polars as pl

    from harvest.findings import Severity

REPORTS: Final = ("darshan.io",)
DRISHTI: Final = "Drishti 0.8"
HIGH: Final = 0.2
MEDIUM: Final = 0.05
"""Shares of the processes' time from which a finding is high, and medium."""

USUAL: Final = 66
LONGEST: Final = 80
"""Characters of a headline: those that fit behind its severity in 80 columns, and the most."""

_WORST_FIRST: Final = ("high", "medium", "low")

NO_POSIX: Final = (
    "a log lists POSIX without records: `harvest rejects` says why; Darshan records POSIX unless "
    "DARSHAN_MOD_DISABLE names it"
)
NO_END: Final = "a log has no end, because its program was killed before Darshan wrote it"

Row: TypeAlias = Mapping[str, Any]
Words: TypeAlias = Callable[[Row], str]
Advice: TypeAlias = Callable[[Sequence[Row]], str]
Judge: TypeAlias = Callable[..., Iterator[Finding]]


def cost(share: float | None, most: Severity = "high") -> Severity:
    """How much it matters, by the share of the processes' time that it concerns.

    Low where that is unknown, because a log has no end.
    most: for what is worth no more, however long it takes.
    """
    if share is None or share < MEDIUM:
        return "low"
    return most if share >= HIGH else "medium"


def job_name(row: Row) -> str:
    """``job 4711 (a.out)``; where no scheduler gave an id, ``a.out (pid 815)``."""
    program, process = row["program"], row["pid"]
    if row["job"] is not None:
        return f"job {row['job']}" + (f" ({program})" if program else "")
    return (program or "unnamed program") + ("" if process is None else f" (pid {process})")


def part(some: float, whole: float, word: str) -> str:
    """``900 of 1,000 reads``."""
    return f"{some:,} of {count_in_words(int(whole), word)}"


def taken(what: str, share: float | None) -> str:
    """``reads take 12 % of process time``; above 100 % where threads wait at the same time."""
    if share is None:
        return "the share of process time is unknown"
    threads = ", counted for each thread" if share > 1 else ""
    return f"{what} {share_in_words(share)} of process time{threads}"


def is_mpi(row: Row) -> bool:
    """Whether a job has a log of several processes."""
    return (row["largest_log"] or 0) > 1


def certainty(rows: Iterable[Row]) -> tuple[str, ...]:
    """What makes a finding on some rows less than certain: what does for any of them.

    A finding is of one process only where all rows are.
    """
    sets = [set(row["certainty"] or ()) for row in rows]
    some, every = set.union(*sets), set.intersection(*sets)
    return tuple(sorted((some - {"one_process"}) | (every & {"one_process"})))


def on_jobs(
    measure: str,
    headline: Words,
    detail: Words,
    takes: str,
    *,
    share: str = "time_share",
    most: Severity = "high",
    each: tuple[str, ...] = (),
    watched: str | None = None,
    advice: Advice | None = None,
) -> Judge:
    """A rule's finding on jobs, a row each, of which the costliest is named.

    measure: decides among those that cost the same.
    headline, detail: what is found of the one named.
    takes: what takes the time, ``{op}s take``; share: the column with its share of process time.
    most: the severity of what takes most of the time.
    each: columns; there is a finding for each of their values.
    watched: the column with the requests that were watched, where it may be a part of all.
    advice: where the rule's does not fit these jobs.
    """

    def severity(row: Row) -> Severity:
        return cost(row[share], most)

    def weight(row: Row) -> tuple[int, float]:
        return -_WORST_FIRST.index(severity(row)), row[measure] or 0

    def details(row: Row) -> str:
        return f"{detail(row)}; {taken(takes.format_map(row), row[share])}"

    def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        for some in rows.partition_by(each, maintain_order=True) if each else [rows]:
            ordered = sorted(some.iter_rows(named=True), key=weight, reverse=True)
            # columns, not the rows' numbers: an unknown number says nothing
            partly = watched and (some[watched] - some["reads"] < some["writes"]).any()
            yield named_first(
                ordered,
                job_name,
                headline,
                details,
                severity,
                where={name: str(ordered[0][name]) for name in each},
                sure=(*certainty(ordered), *(("part",) if partly else ())),
                advice=advice,
            )

    return judge


def ranked(
    by: str | None,
    headline: Words,
    detail: Words,
    severity: Callable[[Row], Severity],
    *,
    sure: bool = False,
    advice: Advice | None = None,
) -> Judge:
    """A rule's finding on jobs whose severity does not depend on time.

    by: a column: the job with most is named; the first unless given.
    sure: whether to say what makes it less than certain.
    """

    def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        if by is not None:
            rows = rows.sort(by, descending=True, maintain_order=True, nulls_last=True)
        ordered = rows.to_dicts()
        words = certainty(ordered) if sure else ()
        yield named_first(ordered, job_name, headline, detail, severity, sure=words, advice=advice)

    return judge


def named_first(
    ordered: Sequence[Row],
    name: Words,
    headline: Words,
    detail: Words,
    severity: Callable[[Row], Severity],
    *,
    of: str = "job",
    where: Mapping[str, str] | None = None,
    sure: tuple[str, ...] = (),
    advice: Advice | None = None,
) -> Finding:
    """A finding that names the first of some rows and says how many others there are.

    name: of the job or file that a row is of, as ``of`` says.
    sure: what makes the finding less than certain.
    """
    worst, *others = ordered
    whole, what = name(worst), headline(worst)
    subject = fitting(whole, what)
    sentences = [detail(worst)]
    if others:
        found = severities([severity(row) for row in others])
        like = f"Also {count_in_words(len(others), f'other {of}')}: {found}"
        sentences.append(f"{like}{less_sure(worst, others)}" if sure else like)
    if subject != whole:
        sentences.append(f"Full name: {whole}")
    return Finding(
        severity(worst),
        f"{'J' if subject.startswith('job ') else subject[0]}{subject[1:]}: {what}",
        " ".join(f"{sentence}." for sentence in sentences),
        where=where or {},
        certainty=tuple(dict.fromkeys(sure)),
        advice=advice(ordered) if advice else "",
    )


def fitting(name: str, what: str) -> str:
    """A name in as few characters as leave room for what a headline says of it."""
    left = USUAL - 2 - len(what)
    return shorten(name, max(left, min(24, LONGEST - 2 - len(what))), "id")


def severities(found: Sequence[Severity]) -> str:
    """``2 high, 10 low``."""
    return ", ".join(f"{found.count(s):,} {s}" for s in _WORST_FIRST if s in found)


def less_sure(worst: Row, others: Sequence[Row]) -> str:
    """``; coarse clock in 36``: how many others are less certain than the one named."""
    said = ""
    for word in ("lower_bound", "coarse_clock"):
        so = sum(word in (row["certainty"] or ()) for row in others)
        if so and word not in (worst["certainty"] or ()):
            said += f"; {word.replace('_', ' ')} in {so:,}"
    return said
