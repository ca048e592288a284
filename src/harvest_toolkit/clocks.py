"""Local times as instants, those included that a clock shows twice because it is set back.

Such a time occurs twice.  Often other times of the same row, or the order of a log, leave one
occurrence alone; then it is decided.  What stays undecided is given as of the first occurrence and
named in a column of its own, so that no duration is made of it::

    shown = Shown.of(local, "Europe/Berlin")
    decided = decide({"start": start, "end": end}, orders=[("start", "end", None)])

Only the rows that the clock shows twice cost more than the conversion itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

import attrs
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.compute as pc

from harvest.toolkit.amounts import count_in_words

from .spans import Flags, Ints

__all__ = [
    "Decided", "Length", "Shown", "decide", "decide_in_order", "named", "named_in",
    "undecided_note",
]  # fmt: skip

ROUNDED_US: Final = 60_000_000
"""By how much a length may differ from its two times, which may be written to the minute."""

DISORDER_US: Final = 300_000_000
"""How far a line of a log may lie before the lines above it: several processes write one log."""


@attrs.frozen(eq=False)
class Shown:
    """Local times as instants.

    first: in UTC, of the first occurrence; null where there is none, or the clock skipped it.
    rows: numbers of the rows whose time the clock shows twice; later: by how many microseconds
        the second occurrence of each is later.
    """

    first: pl.Series
    rows: Ints
    later: Ints

    @classmethod
    def of(cls, local: pl.Series, zone: str) -> Shown:
        """Read times without a zone (us) as those of a clock in ``zone``."""
        placed = local.dt.replace_time_zone(zone, ambiguous="null", non_existent="null")
        utc = placed.dt.convert_time_zone("UTC")
        nothing = np.zeros(0, np.int64)
        if utc.null_count() == local.null_count():
            return cls(utc, nothing, nothing)
        odd = (utc.is_null() & local.is_not_null()).arg_true()
        some = local.gather(odd)
        first, last = (
            some.dt.replace_time_zone(zone, ambiguous=which, non_existent="null").dt.epoch("us")
            for which in ("earliest", "latest")
        )
        twice = first.is_not_null()
        rows, at = odd.filter(twice), first.filter(twice)
        utc = utc.scatter(rows, at.cast(pl.Datetime("us", "UTC")))
        later = (last.filter(twice) - at).to_numpy()
        return cls(utc, rows.to_numpy().astype(np.int64), later)

    def moved(self, rows: Ints, later: Ints) -> pl.Series:
        """The instants, of some rows later by so many microseconds."""
        if not len(rows):
            return self.first
        micros = self.first.gather(rows).dt.epoch("us") + pl.Series(later)
        return self.first.clone().scatter(rows, micros.cast(pl.Datetime("us", "UTC")))


@attrs.frozen(eq=False)
class Length:
    """What a row says of the time between two of its times.

    seconds: of each row, NaN where it says nothing.
    least: whether it may have been longer, as where pauses were not counted; it is taken to have
        been just as long where that is possible.
    """

    start: str
    end: str
    seconds: npt.NDArray[np.float64]
    least: Flags


@attrs.frozen(eq=False)
class Decided:
    """Times after the decision.

    times: instants by name; undecided: by name, the rows that may be of either occurrence.
    """

    times: Mapping[str, pl.Series]
    undecided: Mapping[str, Ints]


def decide(
    times: Mapping[str, Shown],
    orders: Iterable[tuple[str, str, Flags | None]],
    lengths: Sequence[Length] = (),
) -> Decided:
    """Decide the times of rows by each other.

    orders: times of which the first is not after the second, in these rows; None for all.  Where
        no occurrences keep it, it does not hold in that row, and is not used there.
    lengths: see ``Length``; where one fits no occurrence, nothing is decided in that row.
    """
    rows = np.unique(np.concatenate([shown.rows for shown in times.values()]))
    first, later, there = _occurrences(times, rows)
    # every choice of a occurrence for each time: a line per choice, a column per row
    choices = [
        {name: first[name] + later[name] * of for name, of in zip(times, occurrences, strict=True)}
        for occurrences in product((0, 1), repeat=len(times))
    ]
    possible = np.ones((len(choices), len(rows)), bool)
    for start, end, where in orders:
        if start in times and end in times:
            holds = np.array([chosen[start] <= chosen[end] for chosen in choices])
            unsaid = ~(there[start] & there[end] & (True if where is None else where[rows]))
            possible &= holds | unsaid | ~holds.any(axis=0)
    for length in lengths:
        possible &= _fitting(length, rows, choices, there, possible)
    possible |= ~possible.any(axis=0)
    decided, undecided = {}, {}
    for name, shown in times.items():
        seen = np.array([chosen[name] for chosen in choices])
        least = np.where(possible, seen, np.iinfo(np.int64).max).min(axis=0)
        most = np.where(possible, seen, np.iinfo(np.int64).min).max(axis=0)
        second = least > first[name]
        decided[name] = shown.moved(rows[second], (least - first[name])[second])
        undecided[name] = rows[most > least]
    return Decided(decided, undecided)


def _occurrences(times: Mapping[str, Shown], rows: Ints) -> tuple[Any, Any, Any]:
    """Of some rows, by name: the first occurrence (us), how much later the second, whether any."""
    first, later, there = {}, {}, {}
    for name, shown in times.items():
        some = shown.first.gather(rows)
        there[name] = some.is_not_null().to_numpy()
        first[name] = some.dt.epoch("us").fill_null(0).to_numpy()
        later[name] = np.zeros(len(rows), np.int64)
        later[name][np.searchsorted(rows, shown.rows)] = shown.later
    return first, later, there


def _fitting(
    length: Length, rows: Ints, choices: Sequence[Any], there: Any, possible: Flags
) -> Flags:
    """Which of the possible choices of a row fit its length."""
    start, end = length.start, length.end
    if start not in there or end not in there:
        return possible
    said, least = length.seconds[rows], length.least[rows]
    micros = np.where(np.isnan(said), 0, said) * 1e6
    over = np.array([chosen[end] - chosen[start] for chosen in choices]) - micros
    exact = possible & (np.abs(over) < ROUNDED_US)
    longer = possible & least & (over > 0)
    unsaid = np.isnan(said) | ~(there[start] & there[end])
    return np.where(unsaid, possible, np.where(exact.any(axis=0), exact, longer))


def decide_in_order(shown: Shown) -> Decided:
    """Decide the times of a log whose lines follow each other; their name is ``time``.

    Where other lines show that it is not in order, or no choice brings it into one, nothing is
    decided.
    """
    known = np.flatnonzero(shown.first.is_not_null().to_numpy())
    first = shown.first.gather(known).dt.epoch("us").to_numpy()
    last = first.copy()
    last[np.searchsorted(known, shown.rows)] += shown.later
    # the earliest that each line can be by those above it, and the latest by those below it
    low, high = _pushed(first, last), -_pushed(-last[::-1], -first[::-1])[::-1]
    if (low > last).any() or (high < first).any():
        low, high = first, last
    second = low > first
    rows, later = known[second], (last - first)[second]
    return Decided({"time": shown.moved(rows, later)}, {"time": known[high > low]})


def _pushed(least: Ints, most: Ints) -> Ints:
    """Of values that may be ``least`` or ``most``: the smallest that are in order, else more."""
    found = least
    while True:
        reached = np.maximum.accumulate(found) - DISORDER_US
        behind = (found < reached) & (found <= most)
        if not behind.any():
            return found
        found = np.where(behind, np.where(found < most, most, most + 1), found)


def named(undecided: Mapping[str, Ints], count: int) -> pl.Series:
    """The column ``undecided_times`` of so many rows: names of columns, null where all is clear."""
    column = pl.repeat(None, count, dtype=pl.String, eager=True).alias("undecided_times")
    for name, rows in undecided.items():
        if len(rows):
            before = column.gather(rows)
            column = column.scatter(rows, (before + " " + name).fill_null(name))
    return column


def named_in(column: Any) -> int:
    """How many times are named in an Arrow column that ``named`` made."""
    return pc.sum(pc.add(pc.count_substring(column, " "), 1)).as_py() or 0


def undecided_note(count: int, zone: str) -> str:
    """What to say of so many undecided times."""
    return (
        f"{count_in_words(count, 'local time')} occurred twice in {zone} when the clocks went "
        "back, and nothing decides which is meant; the first occurrence was taken, and durations "
        "that need it are null"
    )
