"""Texts and severities that the findings of several rules share."""

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
"""Shares of process time from which a finding is high, or medium."""

USUAL: Final = 66
LONGEST: Final = 80
"""Characters of a headline: to fit after its severity in 80 columns, and the maximum."""

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
    """Return the severity of a finding that concerns a share of process time.

    It is low if the share is unknown, because a log has no end.
    most: the highest severity that the finding can have.
    """
    if share is None or share < MEDIUM:
        return "low"
    return most if share >= HIGH else "medium"


def job_name(row: Row) -> str:
    """Format ``job 4711 (a.out)``, or without a scheduler ``a.out (pid 815)``."""
    program, process = row["program"], row["pid"]
    if row["job"] is not None:
        return f"job {row['job']}" + (f" ({program})" if program else "")
    return (program or "unnamed program") + ("" if process is None else f" (pid {process})")


def part(some: float, whole: float, word: str) -> str:
    """Format ``900 of 1,000 reads``."""
    return f"{some:,} of {count_in_words(int(whole), word)}"


def taken(what: str, share: float | None) -> str:
    """Format ``reads take 12 % of process time``; above 100 % if threads wait at the same time."""
    if share is None:
        return "the share of process time is unknown"
    threads = ", counted for each thread" if share > 1 else ""
    return f"{what} {share_in_words(share)} of process time{threads}"


def is_mpi(row: Row) -> bool:
    """Return whether a job has a log of several processes."""
    return (row["largest_log"] or 0) > 1


def certainty(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the words of certainty of any row; ``one_process`` only if all rows have it."""
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
    """Return a rule's ``judge`` for rows on jobs; it names the costliest one.

    measure: column that decides between jobs of the same cost.
    headline, detail: texts on the job that is named.
    takes: subject and verb for the time, ``{op}s take``. share: its share of process time.
    most: the highest severity.
    each: columns whose values have a finding each.
    watched: column with the number of requests that were checked, if this may be only a part.
    advice: replaces the rule's advice unless empty.
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
            # compared as columns, so that unknown numbers do not count
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
    """Return a rule's ``judge`` for jobs whose severity does not depend on time.

    by: names the job with the largest value of this column; by default the first job.
    sure: whether the finding has the rows' words of certainty.
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
    """Return a finding that names the first row and counts the others.

    name: formats the subject of a row, which is a job or a file (``of``).
    sure: the finding's words of certainty.
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
    """Shorten a name so that the headline has room for the rest."""
    left = USUAL - 2 - len(what)
    return shorten(name, max(left, min(24, LONGEST - 2 - len(what))), "id")


def severities(found: Sequence[Severity]) -> str:
    """Format ``2 high, 10 low``."""
    return ", ".join(f"{found.count(s):,} {s}" for s in _WORST_FIRST if s in found)


def less_sure(worst: Row, others: Sequence[Row]) -> str:
    """Format ``; coarse clock in 36``: how many others are less certain than the first."""
    said = ""
    for word in ("lower_bound", "coarse_clock"):
        so = sum(word in (row["certainty"] or ()) for row in others)
        if so and word not in (worst["certainty"] or ()):
            said += f"; {word.replace('_', ' ')} in {so:,}"
    return said
