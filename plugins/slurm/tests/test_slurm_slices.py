"""Time windows and the program ``sacct``, without a cluster."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import SourceError, collect
from harvest_slurm.config import SlurmConfig, moment
from harvest_slurm.source import SlurmSource, Window, window_of

NOW = datetime(2024, 5, 10, 12, 30, 15, 999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", datetime(2024, 5, 10, 12, 30, 15, tzinfo=UTC)),
        ("7d", datetime(2024, 5, 3, 12, 30, 15, tzinfo=UTC)),
        ("36h", datetime(2024, 5, 9, 0, 30, 15, tzinfo=UTC)),
        ("today", datetime(2024, 5, 9, 22, 0, tzinfo=UTC)),
        ("2024-01-31", datetime(2024, 1, 30, 23, 0, tzinfo=UTC)),
        ("2024-07-01T12:00:00", datetime(2024, 7, 1, 10, 0, tzinfo=UTC)),
        ("2024-07-01T12:00:00Z", datetime(2024, 7, 1, 12, 0, tzinfo=UTC)),
    ],
)
def test_moments(text: str, expected: datetime) -> None:
    assert moment(text, ZoneInfo("Europe/Zurich"), NOW) == expected


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(SourceError, match="the time window is empty"):
        window_of(SlurmConfig(since="2024-01-02", until="2024-01-01"), NOW)


@given(st.integers(0, 2_000_000_000), st.integers(1, 10**8), st.integers(1, 40))
def test_slices_cover_the_window_once(since: int, length: int, days: int) -> None:
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=since)
    window = Window(start, start + timedelta(seconds=length), days)
    bounds = window.bounds()
    assert bounds[0][0] == window.since
    assert bounds[-1][1] == window.until
    assert all(one[1] == other[0] for one, other in pairwise(bounds))
    assert all(left < right <= left + timedelta(days=days) for left, right in bounds)
    # a later begin leaves the boundaries where they are
    later = Window(start + timedelta(days=1), window.until, days)
    if later.since < later.until:
        assert {right for _, right in later.bounds()} <= {right for _, right in bounds}


def test_slices_that_are_past_are_settled() -> None:
    source = SlurmSource("live", SlurmConfig(since="2020-01-01", slice_days=30))
    *past, last, never = source.plan()
    assert all(partition.fingerprint for partition in past[:-1])
    assert last.fingerprint is None
    assert never.id == "never-eligible"
    assert never.fingerprint is None
    assert len({partition.id for partition in source.plan()}) == len(past) + 2


def program(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_without_sacct_the_error_says_what_to_do(tmp_path: Path) -> None:
    source = SlurmSource("live", SlurmConfig(sacct=str(tmp_path / "sacct"), since="1h"))
    with pytest.raises(SourceError, match=r"was not found.*harvest a file written by sacct"):
        collect(source)


def test_a_failure_of_sacct_is_told(tmp_path: Path) -> None:
    body = '[ "$1" = --helpformat ] && { echo JobID State JobName; exit; }\n'
    sacct = program(tmp_path / "sacct", body + "echo 'no route to host' >&2; exit 1")
    with pytest.raises(SourceError, match="sacct ended with status 1: no route to host"):
        collect(SlurmSource("live", SlurmConfig(sacct=sacct, since="1h")))


def test_what_sacct_grumbles_becomes_a_note(tmp_path: Path) -> None:
    body = '[ "$1" = --helpformat ] && { echo JobID State End Eligible JobName; exit; }\n'
    row = r"printf '1\037\036\037COMPLETED\037\036\037Unknown\037\036\037Unknown\037\036\037a|b\n'"
    sacct = program(tmp_path / "sacct", f"{body}echo slow >&2; {row}")
    found = collect(SlurmSource("live", SlurmConfig(sacct=sacct, since="1h")))
    assert "sacct says: slow" in found.notes
    assert [row["name"] for row in found.rows("slurm.job")] == ["a|b"]
    assert found.units == found.accounted
