"""Filters count what they leave out, and steps share the fate of their job."""

import stat
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import read_dump

from harvest import Collected, SourceError, collect
from harvest_slurm.config import SlurmConfig
from harvest_slurm.read import text
from harvest_slurm.source import SlurmSource
from harvest_slurm.window import Window, window_of

HEADER = "JobID|JobName|QOS|ReqNodes|ExitCode|State|Start|User"
DUMP = f"""{HEADER}
1|distiller-count-7|realtime|4|0:0|COMPLETED|2024-01-01T00:00:00|dst
1.batch|batch|||0:0|COMPLETED|2024-01-01T00:00:00|
2|other|realtime|4|0:0|COMPLETED|2024-01-01T00:00:00|ann
2.batch|batch|||0:0|COMPLETED|2024-01-01T00:00:00|
2.0|distiller-count-7|||0:0|COMPLETED|2024-01-01T00:00:00|
3|distiller-count-8|debug|4|1:0|FAILED|2024-01-01T00:00:00|dst
4|distiller-count-9|realtime|2|0:9|CANCELLED by 7|None|dst
5|distiller-count-9|realtime_m1|4|0:0|PENDING|Unknown|dst
"""


def harvest(tmp_path: Path, dump: str = DUMP, **config: Any) -> Collected:
    return read_dump(tmp_path, dump, **config)


def ids(found: Collected) -> tuple[list[str], list[str]]:
    return (
        [row["job_id"] for row in found.rows("slurm.job")],
        [f"{row['job_id']}.{row['step_id']}" for row in found.rows("slurm.step")],
    )


ALL = ["1.batch", "2.batch", "2.0"]


@pytest.mark.parametrize(
    ("config", "jobs", "steps", "filtered"),
    [
        ({}, "12345", ALL, {}),
        ({"name_contains": "r-count"}, "1345", ["1.batch"], {"name does not contain 'r-count'": 3}),
        ({"qos_contains": "realtime"}, "1245", ALL, {"QOS does not contain 'realtime'": 1}),
        ({"req_nodes": 2}, "4", [], {"ReqNodes is not 2": 7}),
        ({"exit_code": "0"}, "1245", ALL, {"exit code is not 0": 1}),
        ({"exit_code": "0:9"}, "4", [], {"exit code is not 0:9": 7}),
        ({"started": True}, "123", ALL, {"the job has not started": 2}),
        ({"started": False}, "45", [], {"the job has started": 6}),
        ({"users": ("ann",)}, "2", ["2.batch", "2.0"], {"user is not in slurm.users": 5}),
        ({"states": ("cancelled", "FAILED")}, "34", [], {"state is not in slurm.states": 6}),
    ],
)
def test_filters(
    tmp_path: Path, config: Any, jobs: str, steps: list[str], filtered: dict[str, int]
) -> None:
    found = harvest(tmp_path, **config)
    assert ids(found) == (list(jobs), steps)
    assert found.filtered == filtered


def test_the_first_filter_that_fails_is_the_reason(tmp_path: Path) -> None:
    found = harvest(tmp_path, name_contains="distiller", qos_contains="realtime", started=True)
    assert ids(found)[0] == ["1"]
    assert found.filtered == {
        "name does not contain 'distiller'": 3,
        "QOS does not contain 'realtime'": 1,
        "the job has not started": 2,
    }


@pytest.mark.slow
def test_steps_follow_their_job_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = harvest(tmp_path, name_contains="distiller", exit_code="0:0")
    for size in (1, 50, 90, 130, 300):
        monkeypatch.setattr(text.read_text, "__kwdefaults__", {"block_bytes": size})
        parts = harvest(tmp_path, name_contains="distiller", exit_code="0:0")
        assert ids(parts) == ids(whole)
        assert parts.filtered == whole.filtered
        assert [s["job_position"] for s in parts.rows("slurm.step")] == [2]


def test_steps_away_from_their_job(tmp_path: Path) -> None:
    # given a dump that somebody sorted
    lines = DUMP.splitlines()
    dump = "\n".join([lines[0], lines[1], lines[3], lines[2], lines[4], lines[5]]) + "\n"
    # then without filters all stay, tied only where the order shows their job
    found = harvest(tmp_path, dump)
    links = {row["step_id"]: row["job_position"] for row in found.rows("slurm.step")}
    assert ids(found)[1] == ["1.batch", "2.batch", "2.0"]
    assert links == {"batch": 3, "0": 3}
    # and with a filter a step stays where a job of its id stayed
    found = harvest(tmp_path, dump, name_contains="distiller")
    assert ids(found) == (["1"], ["1.batch"])


def test_a_filter_on_a_missing_column_is_an_error(tmp_path: Path) -> None:
    dump = "JobID|State\n1|FAILED\n"
    with pytest.raises(
        SourceError, match=r"slurm\.qos_contains is set, but the dump has no column"
    ):
        harvest(tmp_path, dump, qos_contains="x")


def test_a_time_that_does_not_exist_is_a_reject(tmp_path: Path) -> None:
    dump = DUMP.replace("2024-01-01T00:00:00|ann", "2024-03-31T02:30:00|ann")
    found = harvest(tmp_path, dump, timezone="Europe/Zurich")
    (reject,) = found.rejects
    assert reject.position == 4
    assert (
        "Start: '2024-03-31T02:30:00': this time does not exist in Europe/Zurich" in reject.reason
    )
    # its steps stand for themselves, without a job to point to
    assert [row["job_position"] for row in found.rows("slurm.step")] == [2, None, None]


@pytest.mark.parametrize(
    ("setting", "value", "complaint"),
    [
        ("timezone", "Mars/Olympus", "is not a known IANA zone"),
        ("exit_code", "zero", "exit_code 'zero' is not valid; write CODE or CODE:SIGNAL"),
        ("states", ("sleeping",), "states 'sleeping' is not valid; job states are boot_fail, "),
        ("users", ("a;b",), "users 'a;b' is not valid"),
        ("since", "sometime", "since 'sometime' is not a time"),
        ("slice_days", 0, "must be at least 1"),
    ],
)
def test_settings_are_checked(setting: str, value: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        SlurmConfig(**{setting: value})


# time windows and the program sacct, without a cluster

NOW = datetime(2024, 5, 10, 12, 30, 15, 999, tzinfo=UTC)


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
