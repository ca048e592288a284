"""Local times as instants, against Python's zoneinfo and plain trial of all choices."""

from datetime import UTC, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_toolkit.clocks import (
    Length,
    Shown,
    decide,
    decide_in_order,
    named,
    named_in,
    undecided_note,
)

# an instant near which clocks were changed; of Lord Howe by half an hour, of Apia by a day
CHANGES = {
    "America/Los_Angeles": datetime(2024, 11, 3, 9, tzinfo=UTC),
    "Europe/Zurich": datetime(2024, 3, 31, 1, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2024, 4, 6, 15, tzinfo=UTC),
    "America/Sao_Paulo": datetime(2018, 2, 18, 2, tzinfo=UTC),
    "Pacific/Apia": datetime(2011, 12, 30, 10, tzinfo=UTC),
    "UTC": datetime(2024, 11, 3, 9, tzinfo=UTC),
}
SET_BACK = [zone for zone in CHANGES if zone not in ("Europe/Zurich", "Pacific/Apia", "UTC")]
MINUTES = st.integers(-26 * 60, 26 * 60)


def local(*texts: str | None) -> pl.Series:
    naive = [text and datetime.fromisoformat(text) for text in texts]
    return pl.Series(naive, dtype=pl.Datetime("us"))


def instants(naive: datetime, zone: ZoneInfo) -> list[datetime]:
    """What a local time may be: none where the clock skips it, two where it shows it twice."""
    moments = {naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(m for m in moments if m.astimezone(zone).replace(tzinfo=None) == naive)


@given(st.sampled_from(sorted(CHANGES)), st.lists(st.one_of(st.none(), MINUTES)))
def test_occurrences_are_those_of_zoneinfo(zone: str, minutes: list[int | None]) -> None:
    near = CHANGES[zone].astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    naive = [None if m is None else near + timedelta(minutes=m) for m in minutes]
    expected = [[] if t is None else instants(t, ZoneInfo(zone)) for t in naive]

    shown = Shown.of(pl.Series(naive, dtype=pl.Datetime("us")), zone)

    assert shown.first.to_list() == [each[0] if each else None for each in expected]
    assert shown.rows.tolist() == [n for n, each in enumerate(expected) if len(each) == 2]
    assert [timedelta(microseconds=int(one)) for one in shown.later] == [
        each[1] - each[0] for each in expected if len(each) == 2
    ]


def test_an_order_that_does_not_hold_in_a_row_is_not_used_there() -> None:
    begin = Shown.of(local("2024-11-03T05:00:00", "2024-11-03T01:50:00"), "America/Los_Angeles")
    end = Shown.of(local("2024-11-03T01:30:00", "2024-11-03T01:10:00"), "America/Los_Angeles")
    found = decide({"begin": begin, "end": end}, [("begin", "end", None)])
    # 5:00 is after 1:30 in any case; 1:50 and then 1:10 leaves one choice
    assert found.undecided["end"].tolist() == [0]
    assert found.times["end"].to_list() == [
        datetime(2024, 11, 3, 8, 30, tzinfo=UTC), datetime(2024, 11, 3, 9, 10, tzinfo=UTC),
    ]  # fmt: skip
    # and what was given is as it was
    assert end.first[1] == datetime(2024, 11, 3, 8, 10, tzinfo=UTC)


def test_a_length_that_fits_no_choice_decides_nothing() -> None:
    begin = Shown.of(local("2024-11-03T01:50:00"), "America/Los_Angeles")
    end = Shown.of(local("2024-11-03T01:10:00"), "America/Los_Angeles")
    never = Length("begin", "end", np.array([7777.0]), np.array([False]))
    found = decide({"begin": begin, "end": end}, [("begin", "end", None)], [never])
    assert {name: rows.tolist() for name, rows in found.undecided.items()} == {
        "begin": [0], "end": [0],
    }  # fmt: skip


def in_order(*texts: str) -> tuple[list[str], list[int]]:
    """Offsets from UTC that the order of a log leaves, and the lines that it leaves open."""
    zone = "America/Los_Angeles"
    found = decide_in_order(Shown.of(local(*(f"2024-11-03T{text}" for text in texts)), zone))
    times = found.times["time"].dt.convert_time_zone(zone).to_list()
    return [f"{t:%z}" for t in times], found.undecided["time"].tolist()


@pytest.mark.parametrize(
    ("stamps", "offsets", "open_lines"),
    [
        (["01:10:00", "01:50:00", "01:05:00", "01:55:00"], ["-0700"] * 2 + ["-0800"] * 2, []),
        # nothing shows which half it is
        (["00:50:00", "01:10:00", "01:50:00", "02:10:00"], ["-0700"] * 3 + ["-0800"], [1, 2]),
        # two processes write one log, a minute apart
        (["01:10:00", "01:09:00"], ["-0700"] * 2, [0, 1]),
        # the clock is set back once
        (["01:50:00", "01:10:00", "01:50:00", "01:10:00"], ["-0700"] * 4, [0, 1, 2, 3]),
        # other lines show that the log is not in order
        (["05:00:00", "00:10:00", "01:50:00", "01:10:00"], ["-0800"] + ["-0700"] * 3, [2, 3]),
    ],
    ids=["set back between", "open", "nearly in order", "too often", "not in order"],
)
def test_the_order_of_a_log_decides(
    stamps: list[str], offsets: list[str], open_lines: list[int]
) -> None:
    assert in_order(*stamps) == (offsets, open_lines)


@given(
    st.sampled_from(SET_BACK),
    st.integers(-150, 90),
    st.lists(st.one_of(st.integers(0, 60), st.integers(0, 2400)), min_size=1, max_size=12),
)
def test_a_log_in_order_is_never_decided_wrongly(zone: str, begin: int, gaps: list[int]) -> None:
    # given lines in order around the change, up to 40 minutes apart
    here = ZoneInfo(zone)
    true = [CHANGES[zone] + timedelta(minutes=begin)]
    for gap in gaps:
        true.append(true[-1] + timedelta(seconds=gap))
    naive = [moment.astimezone(here).replace(tzinfo=None) for moment in true]

    found = decide_in_order(Shown.of(pl.Series(naive, dtype=pl.Datetime("us")), zone))

    # then by plain trial of all choices that are in order, but for five minutes
    slack = timedelta(minutes=5)
    choices = [
        choice
        for choice in product(*(instants(t, here) for t in naive))
        if all(b >= a - slack for n, b in enumerate(choice) for a in choice[:n])
    ]
    left = [{choice[n] for choice in choices} for n in range(len(naive))]
    assert found.undecided["time"].tolist() == [n for n, each in enumerate(left) if len(each) > 1]
    for n, moment in enumerate(found.times["time"].to_list()):
        assert moment == (true[n] if len(left[n]) == 1 else min(left[n]))


def test_names_of_undecided_times() -> None:
    column = named({"a": np.array([0, 2]), "b": np.array([2]), "c": np.array([], np.int64)}, 4)
    assert column.to_list() == ["a", None, "a b", None]
    assert named_in(column.to_arrow()) == 3
    assert named_in(named({}, 0).to_arrow()) == 0
    assert undecided_note(1_200, "Europe/Zurich").startswith(
        "1,200 local times occurred twice in Europe/Zurich"
    )
