"""Texts and severities that the findings of several rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

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


def cost(share: float | None, most: Severity = "high") -> Severity:
    """Return the severity of a finding that concerns a share of process time.

    It is low if the share is unknown, because a log has no end.
    most: the highest severity that the finding can have.
    """
    if share is None or share < MEDIUM:
        return "low"
    return most if share >= HIGH else "medium"


def job_name(row: Row) -> str:
    """Format ``job 7 (a.out)``, or without a scheduler ``a.out (pid 815)``, ``a.out (33 logs)``."""
    program, process, logs = row["program"], row["pid"], row.get("logs") or 1
    if row["job"] is not None:
        return f"job {row['job']}" + (f" ({program})" if program else "")
    # each log has a process id, and the first one may be that of a launcher
    which = f" ({logs:,} logs)" if logs > 1 else "" if process is None else f" (pid {process})"
    return (program or "unnamed program") + which


def part(some: float, whole: float, word: str) -> str:
    """Format ``900 of 1,000 reads``."""
    return f"{some:,} of {count_in_words(int(whole), word)}"


def ratio(row: Row, some: str, whole: str = "requests") -> str:
    """Format the share of one column of a row in another."""
    return share_in_words(row[some] / row[whole])


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
    sets = [set(row.get("certainty") or ()) for row in rows]
    some, every = set.union(*sets), set.intersection(*sets)
    return tuple(sorted((some - {"one_process"}) | (every & {"one_process"})))


@attrs.frozen
class NamesWorst:
    """A rule's ``judge``: its finding names the costliest row and counts the others.

    measure: column that decides between rows of the same severity; by default the first is named.
    headline, detail: texts on the row that is named.
    takes: subject and verb (``{op}s take``) for the share of process time in the detail.
    share: column with this share, which decides the severity. most: the highest severity.
    severity: decides the severity instead of the share.
    each: columns whose values have a finding each.
    name: formats the subject of a row, which is a job or a file (``of``).
    watched: column with the number of requests that were checked, if this may be only a part.
    at_least: column that is true if only a lower bound is known.
    advice: replaces the rule's advice unless empty.
    """

    measure: str | None
    headline: Words
    detail: Words
    takes: str = ""
    share: str = "time_share"
    most: Severity = "high"
    severity: Callable[[Row], Severity] | None = None
    each: tuple[str, ...] = ()
    name: Words = job_name
    of: str = "job"
    watched: str | None = None
    at_least: str | None = None
    advice: Callable[[Sequence[Row]], str] | None = None

    def __call__(self, rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        """Return the findings on the rows that a rule selects."""
        for some in rows.partition_by(self.each, maintain_order=True) if self.each else [rows]:
            ordered = sorted(some.iter_rows(named=True), key=self._order)
            sure = list(certainty(ordered))
            # compared as columns, so that unknown numbers do not count
            if self.watched and (some[self.watched] - some["reads"] < some["writes"]).any():
                sure.append("part")
            if self.at_least and any(row[self.at_least] for row in ordered):
                sure.append("lower_bound")
            yield self.finding(ordered, sure)

    def finding(self, ordered: Sequence[Row], sure: Iterable[str]) -> Finding:
        """Return the finding on rows, the costliest first; sure: its words of certainty."""
        worst, *others = ordered
        whole, what = self.name(worst), self.headline(worst)
        subject = fitting(whole, what)
        detail = self.detail(worst)
        if self.takes:
            detail += f"; {taken(self.takes.format_map(worst), worst[self.share])}"
        sentences = [detail]
        if others:
            found = severities([self._severity(row) for row in others])
            like = f"Also {count_in_words(len(others), f'other {self.of}')}: {found}"
            sentences.append(f"{like}{less_sure(worst, others)}")
        if subject != whole:
            sentences.append(f"Full name: {whole}")
        return Finding(
            self._severity(worst),
            f"{'J' if subject.startswith('job ') else subject[0]}{subject[1:]}: {what}",
            " ".join(f"{sentence}." for sentence in sentences),
            where={name: str(worst[name]) for name in self.each},
            certainty=tuple(dict.fromkeys(sure)),
            advice=self.advice(ordered) if self.advice else "",
        )

    def _severity(self, row: Row) -> Severity:
        return self.severity(row) if self.severity else cost(row[self.share], self.most)

    def _order(self, row: Row) -> tuple[int, float, str]:
        measured = row[self.measure] if self.measure else None
        return _WORST_FIRST.index(self._severity(row)), -(measured or 0), row.get("file") or ""


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
        so = sum(word in (row.get("certainty") or ()) for row in others)
        if so and word not in (worst.get("certainty") or ()):
            said += f"; {word.replace('_', ' ')} in {so:,}"
    return said
