"""Times that a clock shows twice: decided by the other times of their row, else unknown."""

from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import Reader

# when clocks were set back, the first instant by the new time; in Lord Howe by half an hour
SET_BACK = {
    "America/Los_Angeles": datetime(2024, 11, 3, 9, tzinfo=UTC),
    "America/New_York": datetime(2024, 11, 3, 6, tzinfo=UTC),
    "Europe/Zurich": datetime(2024, 10, 27, 1, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2024, 4, 6, 15, tzinfo=UTC),
    "America/Havana": datetime(2024, 11, 3, 5, tzinfo=UTC),
}
TIMES = ("submit_time", "eligible_time", "start_time", "end_time")
FIELDS = ("Submit", "Eligible", "Start", "End")


def harvested(folder: Path, lines: list[str], zone: str) -> tuple[Any, list[str]]:
    """The rows of the dump, with their waits, and the notes of the run."""
    (folder / "dump.txt").write_text("\n".join(lines) + "\n")
    data = Reader(folder / "dump.txt", timezone=zone)
    rows = data.view("slurm.jobs").collect().sort("job_id_raw").to_dicts()
    return rows, [note for note in data.notes if "occurred twice" in note]


def one(folder: Path, zone: str = "America/Los_Angeles", **fields: str) -> dict[str, Any]:
    fields = {"JobID": "1", "State": "COMPLETED", "AllocCPUS": "4", **fields}
    (row,), notes = harvested(folder, ["|".join(fields), "|".join(fields.values())], zone)
    return {**row, "notes": notes}


def test_what_nothing_decides_is_null_in_durations_and_noted(tmp_path: Path) -> None:
    times = dict.fromkeys(("Submit", "Eligible"), "2024-11-03T01:30:00")
    row = one(tmp_path, **times, Start="2024-11-03T05:00:00", End="2024-11-03T06:00:00")
    assert (row["wait_s"], row["planned_s"], row["elapsed_s"]) == (None, None, 3600)
    assert row["undecided_times"] == "submit_time eligible_time"
    # they are given as of the first occurrence: 1:30 of daylight saving time
    assert row["submit_time"] == datetime(2024, 11, 3, 8, 30, tzinfo=UTC)
    assert len(row["notes"]) == 1
    assert "2 local times occurred twice in America/Los_Angeles" in row["notes"][0]


def test_no_run_time_is_made_of_an_undecided_time(tmp_path: Path) -> None:
    row = one(tmp_path, Start="2024-11-03T01:10:00", End="2024-11-03T01:40:00")
    assert (row["elapsed_s"], row["cpu_time_s"]) == (None, None)
    assert row["undecided_times"] == "start_time end_time"


def test_time_suspended_counts_with_elapsed(tmp_path: Path) -> None:
    row = one(
        tmp_path, Start="2024-11-03T01:30:00", End="2024-11-03T03:00:00",
        Elapsed="01:30:00", Suspended="01:00:00",
    )  # fmt: skip
    assert row["start_time"] == datetime(2024, 11, 3, 8, 30, tzinfo=UTC)


def test_planned_decides_when_it_was_eligible(tmp_path: Path) -> None:
    row = one(
        tmp_path, Submit="2024-11-03T00:30:00", Eligible="2024-11-03T01:30:00",
        Start="2024-11-03T02:00:00", Planned="00:30:00",
    )  # fmt: skip
    assert row["eligible_time"] == datetime(2024, 11, 3, 9, 30, tzinfo=UTC)
    assert row["undecided_times"] is None
    assert row["wait_s"] == 2.5 * 3600


def test_a_job_cancelled_before_it_was_eligible_decides_nothing_by_that(tmp_path: Path) -> None:
    # given --begin=01:50, and a cancellation at 1:20: Eligible is behind End
    late = dict.fromkeys(("Start", "End"), "2024-11-03T01:20:00")
    row = one(tmp_path, Submit="2024-11-03T00:10:00", Eligible="2024-11-03T01:50:00", **late)
    assert row["undecided_times"] == "eligible_time start_time end_time"


def test_spellings_that_are_read_one_by_one_follow_the_same_rule(tmp_path: Path) -> None:
    for start, end in (
        ("2024-11-03 01:50", "2024-11-03 01:10"),
        ("2024-11-03T01:50:00.000", "2024-11-03T01:10:00"),
        ("2024-11-03T01:50:00", "2024-11-03T01:10:00-0800"),
    ):
        row = one(tmp_path, Submit="2024-11-03T01:40:00", Start=start, End=end)
        assert (row["wait_s"], row["elapsed_s"]) == (600, 1200), (start, end)


def test_a_step_is_decided_by_its_own_times(tmp_path: Path) -> None:
    lines = [
        "JobID|State|Submit|Start|End|Elapsed",
        "7|COMPLETED|2024-11-03T00:10:00|2024-11-03T00:10:00|2024-11-03T04:00:00|04:50:00",
        "7.0|COMPLETED|2024-11-03T01:30:00|2024-11-03T01:30:00|2024-11-03T03:30:00|02:00:00",
    ]
    _, notes = harvested(tmp_path, lines, "America/Los_Angeles")
    data = Reader(tmp_path / "dump.txt", timezone="America/Los_Angeles")
    (step,) = data["slurm.step"].collect().to_dicts()
    # two hours before 3:30 it was 1:30 of winter time
    assert step["start_time"] == step["submit_time"] == datetime(2024, 11, 3, 9, 30, tzinfo=UTC)
    assert (step["undecided_times"], notes) == (None, [])


def both(text: str, zone: ZoneInfo) -> set[datetime]:
    """The instants that a local time may be."""
    naive = datetime.fromisoformat(text)
    return {naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}


def possible(texts: list[str], elapsed_s: int, zone: ZoneInfo) -> list[tuple[datetime, ...]]:
    """By plain trial: every choice of instants that is in order and as long as Elapsed says."""
    return [
        (submit, eligible, start, end)
        for submit, eligible, start, end in product(*(both(text, zone) for text in texts))
        if submit <= eligible <= start <= end and (end - start).total_seconds() == elapsed_s
    ]


@st.composite
def jobs(draw: st.DrawFn) -> tuple[str, list[tuple[datetime, ...]]]:
    """A zone, and jobs around the change of its clocks: four true instants of each."""
    zone = draw(st.sampled_from(sorted(SET_BACK)))
    begin = SET_BACK[zone] - timedelta(hours=2)
    steps = st.one_of(st.integers(0, 900), st.integers(0, 3 * 3600), st.just(0))
    drawn = draw(st.lists(st.tuples(steps, steps, steps, steps), min_size=1, max_size=30))
    found = []
    for gaps in drawn:
        at, times = begin, []
        for gap in gaps:
            at += timedelta(seconds=gap)
            times.append(at)
        found.append(tuple(times))
    return zone, found


@pytest.mark.slow
@given(jobs())
def test_each_decided_time_is_the_true_one(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[str, list[tuple[datetime, ...]]]
) -> None:
    zone, true = drawn
    here, lines = ZoneInfo(zone), ["JobID|State|" + "|".join(FIELDS) + "|Elapsed"]
    shown = [[f"{t.astimezone(here):%Y-%m-%dT%H:%M:%S}" for t in times] for times in true]
    elapsed = [int((times[3] - times[2]).total_seconds()) for times in true]
    for number, (texts, seconds) in enumerate(zip(shown, elapsed, strict=True), 1):
        lines.append(f"{number}|COMPLETED|{'|'.join(texts)}|{timedelta(seconds=seconds)}")
    rows, notes = harvested(tmp_path_factory.mktemp("clock"), lines, zone)

    count = 0
    for row, texts, seconds, times in zip(rows, shown, elapsed, true, strict=True):
        unclear = (row["undecided_times"] or "").split()
        count += len(unclear)
        choices = possible(texts, seconds, here)
        assert times in choices
        for place, name in enumerate(TIMES):
            instants = {choice[place] for choice in choices}
            if seconds:  # else nothing is said of Eligible, see above
                assert (name in unclear) == (len(instants) > 1)
            if name not in unclear:
                assert row[name] == times[place]
        known = not {"submit_time", "start_time"} & set(unclear)
        assert row["wait_s"] == ((times[2] - times[0]).total_seconds() if known else None)
        assert row["elapsed_s"] == seconds
    assert [int(note.split()[0]) for note in notes] == ([count] if count else [])
