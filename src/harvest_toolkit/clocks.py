"""Convert local times to UTC, with those that occur twice when the clock is set back.

Often the other times of the row, or the order of a log, decide which occurrence is meant.  An
undecided time is taken as its first occurrence and named in a column of its own, so that no
duration is computed from it::

    shown = Shown.of(local, "Europe/Berlin")
    decided = decide({"start": start, "end": end}, orders=[("start", "end", None)])

Only rows with a time that occurs twice cost more than the conversion itself.
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
"""How far a length may differ from its two times, which may be rounded to minutes."""

DISORDER_US: Final = 300_000_000
"""How far a log line may be earlier than the lines above it: several processes write one log."""


@attrs.frozen(eq=False)
class Shown:
    """Local times in UTC.

    first: the first occurrence; null where the time is missing, or the clock skipped it.
    rows: numbers of the rows whose time occurs twice; later: microseconds from the first to the
        second occurrence in each of these rows.
    """

    first: pl.Series
    rows: Ints
    later: Ints

    @classmethod
    def of(cls, local: pl.Series, zone: str) -> Shown:
        """Convert times without a zone (us), as a clock in ``zone`` shows them."""
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
        """Return ``first`` with some rows moved by microseconds."""
        if not len(rows):
            return self.first
        micros = self.first.gather(rows).dt.epoch("us") + pl.Series(later)
        return self.first.clone().scatter(rows, micros.cast(pl.Datetime("us", "UTC")))


@attrs.frozen(eq=False)
class Length:
    """The recorded duration between two times of a row.

    seconds: duration in each row, NaN when not recorded.
    least: whether the real duration may be longer, for example because pauses are not counted;
        an exact fit is preferred where one is possible.
    """

    start: str
    end: str
    seconds: npt.NDArray[np.float64]
    least: Flags


@attrs.frozen(eq=False)
class Decided:
    """Times after the decision.

    times: UTC times by name; undecided: by name, the rows where either occurrence is possible.
    """

    times: Mapping[str, pl.Series]
    undecided: Mapping[str, Ints]


def decide(
    times: Mapping[str, Shown],
    orders: Iterable[tuple[str, str, Flags | None]],
    lengths: Sequence[Length] = (),
) -> Decided:
    """Decide the times of each row by the other times of the row.

    orders: pairs of times of which the first is not after the second, with a mask of the rows, or
        None for all rows.  An order that no choice of occurrences keeps is ignored in that row.
    lengths: see ``Length``; where a length fits no choice, nothing is decided in that row.
    """
    rows = np.unique(np.concatenate([shown.rows for shown in times.values()]))
    first, later, there = _occurrences(times, rows)
    # all choices of an occurrence for each time: a line per choice, a column per row
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
    """Return by name, for some rows: first occurrence (us), delay of the second, known or not."""
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
    """Return which of the possible choices of each row fit its length."""
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
    """Decide the times of a log by the order of its lines; the result's name is ``time``.

    Nothing is decided when no choice brings the lines into order.
    """
    known = np.flatnonzero(shown.first.is_not_null().to_numpy())
    first = shown.first.gather(known).dt.epoch("us").to_numpy()
    last = first.copy()
    last[np.searchsorted(known, shown.rows)] += shown.later
    # the earliest time of each line by the lines above it, and the latest by those below it
    low, high = _pushed(first, last), -_pushed(-last[::-1], -first[::-1])[::-1]
    if (low > last).any() or (high < first).any():
        low, high = first, last
    second = low > first
    rows, later = known[second], (last - first)[second]
    return Decided({"time": shown.moved(rows, later)}, {"time": known[high > low]})


def _pushed(least: Ints, most: Ints) -> Ints:
    """Choose the smallest of ``least`` and ``most`` that are in order; beyond ``most`` if none."""
    found = least
    while True:
        reached = np.maximum.accumulate(found) - DISORDER_US
        behind = (found < reached) & (found <= most)
        if not behind.any():
            return found
        found = np.where(behind, np.where(found < most, most, most + 1), found)


def named(undecided: Mapping[str, Ints], count: int) -> pl.Series:
    """Make the column ``undecided_times`` of ``count`` rows: names of columns, null if none."""
    column = pl.repeat(None, count, dtype=pl.String, eager=True).alias("undecided_times")
    for name, rows in undecided.items():
        if len(rows):
            before = column.gather(rows)
            column = column.scatter(rows, (before + " " + name).fill_null(name))
    return column


def named_in(column: Any) -> int:
    """Count the times named in an Arrow column that ``named`` made."""
    return pc.sum(pc.add(pc.count_substring(column, " "), 1)).as_py() or 0


def undecided_note(count: int, zone: str) -> str:
    """Return the note on ``count`` undecided times."""
    return (
        f"{count_in_words(count, 'local time')} occurred twice in {zone} when the clocks went "
        "back, and nothing decides which is meant; the first occurrence was taken, and durations "
        "that need it are null"
    )
