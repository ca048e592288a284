"""Datasets that are alike but for one thing, and what follows for an answer over each of them.

Nothing of an answer's meaning is known here: two names are two names however little they differ, a
column that follows a time by large steps follows it by small ones, and a column that holds the days
of some times holds those of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

import polars as pl

from harvest import Dataset, HarvestError

from .datasets import AlteredDataset, DatasetKit
from .promise import promise, require

PLAIN: Final = ("~1", "~2")


class RelationPromises(DatasetKit):
    """The tests that ask for an answer over datasets that are alike but for one thing."""

    @promise("days are those of the zone that is set, in any year and season")
    def test_days_are_those_of_the_zone(self, tmp_path: Path) -> None:
        dataset = self.two(tmp_path)
        spec = self.spec(dataset)
        zones = [n for n, v in self.examples.items() if str(v) in available_timezones()]
        usual = next((str(spec.settings[n].default) for n in zones), "UTC")
        frames = [dataset[n].select(pl.selectors.datetime()).collect() for n in spec.requires]
        times = {t for frame in frames for column in frame for t in column if t is not None}
        pieces = {
            (about, name): piece
            for piece in _PIECES
            for of in [{piece(t.astimezone(ZoneInfo(usual))) for t in times}]
            for about, frame in self.frames(dataset)
            for name in frame.columns
            for held in [frame[name].drop_nulls().to_list()]
            if len(frame[name].unique()) > 1 and all(value in of for value in held)
        }
        for setting, zone in [(None, usual), *product(zones, ZONES)] if pieces else ():
            at = [datetime(*d, h, 30, tzinfo=ZoneInfo(zone)) for d, h in product(_DAYS, (0, 23))]
            altered = AlteredDataset(dataset, partial(_at, at))
            found = dict(self.frames(altered, **({setting: zone} if setting else {})))
            for (about, name), piece in pieces.items():
                wanted = {piece(t) for t in at}
                odd = [v for v in found[about][name].drop_nulls() if v not in wanted]
                require(
                    not odd,
                    f"{about}{name} is {odd[:1]} in {zone}, which no time is of in this zone",
                    "convert each time to the zone (dt.convert_time_zone), for its offset changes "
                    "with the season; and format the calendar's year (%Y)",
                )


_PIECES: Final[tuple[Callable[[datetime], Any], ...]] = (
    *(partial(lambda form, t: format(t, form), f) for f in ("%Y-%m-%d", "%Y-%m", "%Y", "%G-W%V")),
    datetime.date,
    lambda t: t.replace(hour=0, minute=0, second=0, microsecond=0),
)
ZONES: Final = ("America/St_Johns", "Pacific/Auckland")
_DAYS: Final = ((1969, 12, 31), (2024, 2, 29), (2024, 12, 30), (2026, 7, 15), (2027, 1, 3))
"""The last day of an era, a leap day, days that weeks of another year have, and summer."""


def _at(times: Sequence[datetime], frame: pl.LazyFrame) -> pl.LazyFrame:
    """The rows at each of these times."""
    every = pl.selectors.datetime()
    known = [n for n, kind in frame.collect_schema().items() if kind == pl.Datetime]
    return pl.concat(
        frame.with_columns(
            pl.col("position") + number * 10**9,
            **{n: pl.when(pl.col(n).is_not_null()).then(pl.lit(t.astimezone(UTC))) for n in known},
        ).with_columns(every.cast(pl.Datetime("us", "UTC")))
        for number, t in enumerate(times)
    )


_BEFORE: Final = -4_000 * 86_400 * 10**6
_STEPS: Final[tuple[tuple[float, ...], ...]] = (
    (10_240_000, 2.0**-12, _BEFORE),
    (1 << 20, 1, 123_456_789, 2**55 + 1),
    (1001 * 10**6, 123_457, _BEFORE),
)
"""A large step, and those that may go wrong: of floats, of whole numbers (which floats of 32 bits
hold four times), of microseconds."""
_SPARED: Final = (("round", "whole", "cut"), ("0", "zero", "negative", "least", "never"))


def faults_of_precision(
    dataset: Dataset,
    requires: Sequence[str],
    rows: Callable[[Dataset], pl.DataFrame],
    key: Sequence[str],
    docs: Mapping[str, str],
) -> Iterator[str]:
    """Sentences on columns that follow a column by large steps, and not by small or huge ones.

    docs: the meanings of columns; one that says so may be rounded, or never be below 0.
    """
    known = _by_key(rows(dataset), key)
    for name, column, kind in (
        (n, c, k) for n in requires for c, k in dataset[n].collect_schema().items()
    ):
        if column == "position" or not (kind.is_numeric() or kind == pl.Datetime):
            continue
        large, *steps = _STEPS[kind.is_integer() - (kind == pl.Datetime)]
        there: dict[float, dict[Any, dict[str, Any]]] = {}
        for step in (large, 2 * large, 4 * large, *steps):
            try:
                altered = AlteredDataset(dataset, partial(moved, column, step), of=name)
                there[step] = _by_key(rows(altered), key)
            except (HarvestError, pl.exceptions.PolarsError):
                there[step] = {}
        far = {times: there[times * large] for times in (1, 2, 4)}
        for follower, doc in docs.items():
            for (row, slope), step in product(_slopes(known, far, follower).items(), steps):
                was, now = known[row][follower], there[step].get(row, {}).get(follower)
                change = slope * Fraction(step) / large
                if _is_off(now, was + change, change, step) and not any(
                    word in doc.lower() for word in _SPARED[step == _BEFORE]
                ):
                    yield (
                        f"where {name}.{column} is {step} more, {follower} is {now!r} in place of "
                        f"{was!r}; as it follows by larger steps, {float(was + change)!r}"
                    )
                    break


def moved(column: str, step: float, frame: pl.LazyFrame) -> pl.LazyFrame:
    """The rows with other numbers, or times so many microseconds later, in a column."""
    kind = frame.collect_schema()[column]
    by = pl.duration(microseconds=int(step)) if kind == pl.Datetime else pl.lit(step)
    return frame.with_columns((pl.col(column) + by).cast(kind))


def _by_key(frame: pl.DataFrame, key: Sequence[str]) -> dict[Any, dict[str, Any]]:
    """The numbers of rows, and their times in microseconds, by their keys."""
    plain = frame.with_columns((pl.selectors.temporal() - pl.selectors.by_name(*key)).to_physical())
    numbers = [n for n, kind in plain.schema.items() if kind.is_numeric() and n not in key]
    return dict(zip(plain.select(key).iter_rows(), plain.select(numbers).to_dicts(), strict=True))


def _slopes(
    known: Mapping[Any, Any], far: Mapping[int, Mapping[Any, Any]], column: str
) -> dict[Any, Fraction]:
    """By row, how much a column changes for a large step; empty unless all follow by many."""
    slopes = {}
    for key, row in known.items():
        values = [row.get(column), *(found.get(key, {}).get(column) for found in far.values())]
        if values == [None] * len(values):
            continue
        if any(v is None or not math.isfinite(v) for v in values):
            return {}
        zero, *others = map(Fraction, values)
        slope = slopes[key] = others[0] - zero
        if not all(_near(v, zero + slope * n, slope) for n, v in zip(far, others, strict=True)):
            return {}
    return slopes if any(slopes.values()) else {}


def _near(one: Fraction, other: Fraction, change: Fraction) -> bool:
    return abs(one - other) <= abs(change) / 10**9 + abs(other) / 10**13


def _is_off(now: Any, wanted: Fraction, change: Fraction, step: float) -> bool:
    if step == _BEFORE:  # what would be below 0 may be unknown, and is not 0 nor above
        return now is not None and bool(now >= 0 > wanted)
    if isinstance(now, int) and wanted.denominator == 1:
        return now != wanted
    return now is None or not _near(Fraction(now), wanted, change)
