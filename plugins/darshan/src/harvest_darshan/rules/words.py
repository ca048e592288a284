"""What sentences of several rules share: the job's name, what it costs, and the other jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from harvest import Finding
from harvest.toolkit.amounts import count_in_words, share_in_words

if TYPE_CHECKING:
    import polars as pl

    from harvest.findings import Severity

REPORTS: Final = ("darshan.io",)
DRISHTI: Final = "Drishti 0.8"
HIGH: Final = 0.2
MEDIUM: Final = 0.05
"""Shares of the processes' time from which a finding is high, and medium."""

_WORST_FIRST: Final = ("high", "medium", "low")

NO_POSIX: Final = (
    "POSIX's records are not there though a log lists the module: `harvest rejects` says why; "
    "Darshan counts POSIX unless DARSHAN_MOD_DISABLE names it"
)
NO_END: Final = (
    "the end of a log is not known, since its program was killed before Darshan wrote it"
)

Row: TypeAlias = Mapping[str, Any]
Sentence: TypeAlias = Callable[[Row], str]
Judge: TypeAlias = Callable[..., Iterator[Finding]]


def cost(share: float | None, most: Severity = "high") -> Severity:
    """How much it matters, by the share of the processes' time that it concerns.

    Where that is not known, for a log has no end, nothing says that it matters: it is low.
    most: for what is worth no more, however long it takes.
    """
    if share is None or share < MEDIUM:
        return "low"
    return most if share >= HIGH else "medium"


def job_name(row: Row) -> str:
    """``job 4711 (a.out)``; where no scheduler gave an id, ``the run of a.out (process 815)``."""
    program, process = row["program"], row["pid"]
    if row["job"] is not None:
        return f"job {row['job']}" + (f" ({program})" if program else "")
    by = "" if process is None else f" (process {process})"
    return f"the run of {program or 'an unnamed program'}{by}"


def of(part: float, whole: float, word: str) -> str:
    """``900 of 1,000 reads (90 %)``."""
    return f"{part:,} of {count_in_words(int(whole), word)} ({share_in_words(part / whole)})"


def taken(what: str, share: float | None) -> str:
    """``; reads take 12 % of its processes' time``."""
    if share is None:
        return "; how much of its processes' time that takes is not known"
    return f"; {what} {of_time(share)}"


def of_time(share: float) -> str:
    """``12 % of its processes' time``; more than all of it where threads wait at the same time."""
    each = ", the time of each thread counted" if share > 1 else ""
    return f"{share_in_words(share)} of its processes' time{each}"


def certainty(rows: Iterable[Row]) -> tuple[str, ...]:
    """What makes a finding on some rows less than certain: what does for any of them.

    That one process alone was observed is said where it is so of all.
    """
    sets = [set(row["certainty"] or ()) for row in rows]
    some, every = set.union(*sets), set.intersection(*sets)
    return tuple(sorted((some - {"one_process"}) | (every & {"one_process"})))


def on_jobs(
    measure: str,
    found: Sentence,
    takes: str,
    *,
    share: str = "time_share",
    most: Severity = "high",
    each: tuple[str, ...] = (),
    watched: str | None = None,
) -> Judge:
    """A rule's finding on jobs, a row each, of which the costliest is named.

    measure: decides among those that cost alike; found: what is found of one, after its name.
    takes: what it is that takes the time, ``{op}s take``; share, most: as for ``costliest``.
    each: columns; there is a finding for each of their values.
    watched: the column with those of all requests that were watched, where it may be a part.
    """

    def weight(row: Row) -> tuple[int, float]:
        return -_WORST_FIRST.index(cost(row[share], most)), row[measure] or 0

    def sentence(row: Row) -> str:
        return found(row) + taken(takes.format_map(row), row[share])

    def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        for some in rows.partition_by(each, maintain_order=True) if each else [rows]:
            ordered = sorted(some.iter_rows(named=True), key=weight, reverse=True)
            where = {name: str(ordered[0][name]) for name in each}
            # columns, not the rows' numbers: one that is not known says nothing
            part = watched and (some[watched] - some["reads"] < some["writes"]).any()
            also = ("part",) if part else ()
            yield costliest(
                ordered, job_name, sentence, share=share, most=most, where=where, also=also
            )

    return judge


def costliest(
    ordered: Sequence[Row],
    name: Sentence,
    sentence: Sentence,
    *,
    share: str,
    most: Severity,
    where: Mapping[str, str] | None = None,
    also: tuple[str, ...] = (),
) -> Finding:
    """A finding that names the first of some rows and says how many others there are.

    sentence: says of a row what is found, after its name.
    share: the column with the share of the processes' time that it concerns.
    most: the severity of what takes most of the time.
    also: what makes the finding less than certain besides what the rows say.
    """
    worst, *others = ordered
    costs = [cost(row[share], most) for row in others]
    text = named_first(name(worst), sentence(worst), costs, less_sure(worst, others))
    sure = dict.fromkeys((*certainty(ordered), *also))
    return Finding(cost(worst[share], most), text, where or {}, tuple(sure))


def ranked(
    by: str | None,
    sentence: Sentence,
    severity: Callable[[Row], Severity],
    *,
    sure: bool = False,
) -> Judge:
    """A rule's finding on jobs whose severity is no matter of time.

    by: a column: the job with most is named; the first unless given.
    sure: whether to say what makes it less than certain.
    """

    def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
        if by is not None:
            rows = rows.sort(by, descending=True, maintain_order=True, nulls_last=True)
        worst, *others = rows.to_dicts()
        text = named_first(job_name(worst), sentence(worst), [severity(row) for row in others])
        yield Finding(severity(worst), text, certainty=certainty(rows.to_dicts()) if sure else ())

    return judge


def severities(found: Sequence[Severity]) -> str:
    """``2 high, 10 low``."""
    return ", ".join(f"{found.count(s):,} {s}" for s in _WORST_FIRST if s in found)


def less_sure(worst: Row, others: Sequence[Row]) -> str:
    """``; 36 of them by a coarse clock``: how many others are less certain than the one named."""
    said = ""
    for word, what in (("lower_bound", "a lower bound"), ("coarse_clock", "by a coarse clock")):
        so = sum(word in (row["certainty"] or ()) for row in others)
        if so and word not in (worst["certainty"] or ()):
            said += f"; {so:,} of them {what}" if len(others) > 1 else f", {what}"
    return said


def named_first(name: str, what: str, others: Sequence[Severity], less_sure: str = "") -> str:
    """A sentence on one job or file, and how many others are like it, by severity."""
    text = f"{name[0].upper()}{name[1:]}: {what}."
    if len(others) == 1:
        text += f" The same holds for 1 other ({others[0]}){less_sure}."
    elif others:
        text += f" The same holds for {len(others):,} others: {severities(others)}{less_sure}."
    return text
