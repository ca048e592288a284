"""Values of whole columns, compared with a reading of each text by itself."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harvest import Partition
from harvest_toolkit.clocks import undecided_note
from harvest_toolkit.line_blocks import Faults, split
from harvest_toolkit.spans import Spans
from harvest_toolkit.values import CLOCK, EPOCH, INTEGER, SIZE, TEXT, Kind, LocalTimes

UNITS = {
    prefix + unit: 1024**power * size
    for power, prefix in enumerate(("", *"kmgtp"))
    for unit, size in {"": 1, "b": 1, "w": 8}.items()
}
DIGITS = st.text("0123456789-:", max_size=20)


def texts_of(texts: list[str]) -> Spans:
    lines = split("".join(f"x{text}\n" for text in texts).encode(), 1)
    return Spans(lines.spans.data, lines.spans.start + 1, lines.spans.end)


def read(kind: Kind, texts: list[str]) -> list[Any]:
    """The values, and None where there is none."""
    column, good = kind.read(texts_of(texts), np.ones(len(texts), bool))
    values = column.to_pylist()
    assert [value is not None for value in values] == good.tolist()
    return values


@settings(deadline=None)
@given(st.lists(DIGITS | st.integers(-(10**18) + 1, 10**18 - 1).map(str)))
def test_whole_numbers(texts: list[str]) -> None:
    form = re.compile(r"-?[0-9]{1,18}")
    assert read(INTEGER, texts) == [int(t) if form.fullmatch(t) else None for t in texts]


@settings(deadline=None)
@given(st.lists(DIGITS | st.integers(-(10**12), 10**12).map(str)))
def test_seconds_since_1970(texts: list[str]) -> None:
    def one(text: str) -> datetime | None:
        if not re.fullmatch(r"-?[0-9]{1,18}", text) or abs(int(text)) > 253_402_300_799:
            return None
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(text))

    kept = [text for text in texts if "-" not in text or len(text) < 12]  # before the year 1
    assert read(EPOCH, kept) == [one(text) for text in kept]


@settings(deadline=None)
@given(st.lists(DIGITS | st.from_regex(r"[0-9]{1,11}:[0-9]{2}:[0-9]{2}", fullmatch=True)))
def test_durations(texts: list[str]) -> None:
    def one(text: str) -> float | None:
        if re.fullmatch(r"[0-9]{1,18}", text):
            return float(text)
        found = re.fullmatch(r"([0-9]{1,9}):([0-5][0-9]):([0-5][0-9])", text)
        return found and int(found[1]) * 3600.0 + int(found[2]) * 60 + int(found[3])

    assert read(CLOCK, [text for text in texts if len(text) < 16]) == [
        one(text) for text in texts if len(text) < 16
    ]


@settings(deadline=None)
@given(st.lists(DIGITS | st.from_regex(r"[0-9]{1,19}[kmgtpxKG]?[bwB]?", fullmatch=True)))
@example(["12kb", "3KW", "12", "8191pb", "8192pb"])
def test_sizes(texts: list[str]) -> None:
    def one(text: str) -> int | None:
        found = re.fullmatch(r"([0-9]{1,18})([a-z]*)", text.lower())
        size = int(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else 2**63
        return size if size < 2**63 else None

    assert read(SIZE, texts) == [one(text) for text in texts]


def test_where_there_is_no_text_there_is_no_value_and_nothing_is_wrong() -> None:
    for kind in (TEXT, INTEGER, EPOCH, CLOCK, SIZE):
        column, good = kind.read(texts_of(["x"]), np.array([False]))
        assert column.to_pylist() == [None]
        assert good.tolist() == [True]


# --- times without a zone -------------------------------------------------------------------------


class Notes:
    """A context that keeps notes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


def local(zone: str | None, *texts: str) -> tuple[list[datetime | None], Faults, list[str]]:
    clock, faults, notes = LocalTimes("%Y-%m-%d %H:%M:%S", zone, "demo.timezone"), Faults(), Notes()
    times = clock.read(texts_of(list(texts)), faults).to_pylist()
    clock.note(notes, Partition(id="a", origin="/a"))  # type: ignore[arg-type]
    return times, faults, notes.texts


def test_times_are_those_of_the_declared_zone() -> None:
    times, faults, notes = local("Europe/Zurich", "2026-07-01 12:00:00", "2026-01-01 00:30:00")
    zone = ZoneInfo("Europe/Zurich")
    assert times == [
        datetime(2026, 7, 1, 12, tzinfo=zone),
        datetime(2026, 1, 1, 0, 30, tzinfo=zone),
    ]
    assert (faults, notes) == ({}, [])


def test_without_a_declared_zone_they_are_utc_which_is_noted() -> None:
    times, _, notes = local(None, "2026-07-01 12:00:00")
    assert times == [datetime(2026, 7, 1, 12, tzinfo=UTC)]
    assert notes == ["times carry no zone and were read as UTC; set demo.timezone to the zone of "
                     "the clock that they are from"]  # fmt: skip


def test_an_hour_that_was_skipped_is_a_fault_and_one_that_came_twice_is_noted() -> None:
    times, faults, notes = local(
        "Europe/Zurich", "2026-03-29 02:30:00", "2026-10-25 02:30:00", "2026-13-01 00:00:00", "now"
    )
    assert times == [None, datetime(2026, 10, 25, 0, 30, tzinfo=UTC), None, None]
    assert faults == {
        0: "a time that the clocks in Europe/Zurich skipped",
        2: "no time, or another form of it",
        3: "no time, or another form of it",
    }
    assert notes == [undecided_note(1, "Europe/Zurich")]
