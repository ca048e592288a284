"""Hours count in the periods in which they were used, against sums by days in plain Python."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
import slurm_reader
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import REPORTS, RULES, Reader, clock

from harvest import UsageError
from harvest.findings import evaluate
from harvest.plugins.registry import manager
from harvest_accounting.calendar import Period, Zone
from harvest_accounting.period import parts

usage_report = REPORTS["slurm.usage"]
summary = REPORTS["slurm.summary"]
failures = REPORTS["slurm.failures"]

ZURICH = ZoneInfo("Europe/Zurich")
FIELDS = "JobID|User|Account|State|Submit|Start|End|Elapsed|AllocCPUS|TotalCPU|AllocTRES"
GIVEN = ("cpu_hours", "gpu_hours", "mem_gib_hours")
HOURS = (
    *GIVEN, "cpu_used_hours", "cpu_wasted_hours", "cpu_unknown_hours", "failed_cpu_hours",
    "failed_gpu_hours", "not_ended_cpu_hours", "mem_unknown_gib_hours",
)  # fmt: skip


def line(number: int, state: str, start: Any, end: Any, elapsed: int, cpus: int = 1, used: int = 0,
         gpus: int = 0, user: str = "ann") -> str:  # fmt: skip
    """A line of sacct with times in seconds since 1970, which are of no zone."""
    moments = [str(int(t.timestamp())) if isinstance(t, datetime) else t for t in (start, end)]
    tres = f"cpu={cpus},gres/gpu={gpus},mem=2G,node=1"
    return (
        f"{number}|{user}|a{number % 2}|{state}|{moments[0]}|{moments[0]}|{moments[1]}|"
        f"{clock(elapsed)}|{cpus}|{clock(used)}|{tres}"
    )


def dataset(path: Path, *lines: str) -> Reader:
    return slurm_reader.dataset(path, FIELDS, *lines, zone="Europe/Zurich")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZURICH)


def rows(data: Reader, view: str = "slurm.usage", **chosen: str) -> list[dict[str, Any]]:
    return data.view(view, **chosen).collect().to_dicts()


def hours_by(key: str, data: Reader, **chosen: str) -> list[tuple[Any, ...]]:
    found = data.view("slurm.usage", by=key, **chosen).sort(key).collect()
    return found.select(key, "jobs", pl.col("cpu_hours").round(6)).rows()


# 4,000 jobs against a sum by days


def made(count: int) -> Iterator[str]:
    """Jobs of three years, of seconds to two months; some run still, some were suspended."""
    dice = random.Random(7)
    first = datetime(2022, 12, 1, tzinfo=UTC)
    for number in range(count):
        start = first + timedelta(seconds=dice.randrange(3 * 365 * 86400))
        passed = int(10 ** dice.uniform(0, 6.7))
        elapsed = passed - (passed // 3 if dice.random() < 0.1 else 0)
        state = dice.choice(["COMPLETED"] * 6 + ["FAILED", "TIMEOUT", "CANCELLED", "RUNNING"])
        used = int(elapsed * dice.random()) if dice.random() < 0.9 else 0
        end = "Unknown" if state == "RUNNING" else start + timedelta(seconds=passed)
        user = dice.choice(["ann", "bob", "eve"])
        yield line(number, state, start, end, elapsed, dice.choice([1, 2, 64]), used,
                   dice.choice([0, 0, 4]), user)  # fmt: skip


def seconds(text: str) -> int:
    """Of a duration as sacct prints it."""
    days, _, hours = text.rpartition("-")
    whole = zip(hours.split(":"), (3600, 60, 1), strict=True)
    return int(days or 0) * 86400 + sum(int(number) * unit for number, unit in whole)


def by_days(lines: list[str]) -> dict[date, dict[str, float]]:
    """Hours by the day in Zurich, from the text alone: a job's hours times a day's part of it.

    Days have 23 and 25 hours when clocks change, and February 2024 has 29 days.
    """
    summed: dict[date, dict[str, float]] = defaultdict(lambda: dict.fromkeys(HOURS, 0.0))
    for text in lines:
        _, _, _, state, _, begin, end, elapsed, cpus, cpu, tres = text.split("|")
        ran, used = seconds(elapsed), seconds(cpu)
        start = int(begin)
        stop = int(end) if end != "Unknown" else start + ran
        gpus = int(dict(part.split("=") for part in tres.split(","))["gres/gpu"])
        given, known = ran * int(cpus) / 3600, used > 0 and state != "RUNNING"
        hours = {
            "cpu_hours": given,
            "gpu_hours": ran * gpus / 3600,
            "mem_gib_hours": ran * 2 / 3600,
            "mem_unknown_gib_hours": ran * 2 / 3600,
            "cpu_used_hours": used / 3600 if known else 0.0,
            "cpu_wasted_hours": given - used / 3600 if known else 0.0,
            "cpu_unknown_hours": 0.0 if known else given,
            "failed_cpu_hours": given if state in ("FAILED", "TIMEOUT") else 0.0,
            "failed_gpu_hours": ran * gpus / 3600 if state in ("FAILED", "TIMEOUT") else 0.0,
            "not_ended_cpu_hours": given if state == "RUNNING" else 0.0,
        }
        day = datetime.fromtimestamp(start, ZURICH).date()
        while (low := midnight(day)) < stop:
            inside = min(stop, midnight(day + timedelta(days=1))) - max(start, low)
            for name, amount in hours.items():
                summed[day][name] += amount * inside / (stop - start)
            day += timedelta(days=1)
    return summed


def midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=ZURICH).timestamp())


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reader, dict[date, dict[str, float]]]:
    lines = list(made(4_000))
    path = tmp_path_factory.mktemp("many") / "dump.txt"
    return dataset(path, *lines), by_days(lines)


def equal(found: float | None, expected: float) -> bool:
    return math.isclose(found or 0.0, expected, rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.parametrize(("key", "length"), [("day", 10), ("month", 7)])
def test_hours_of_4_000_jobs_are_those_summed_by_days(many, key, length):
    data, days = many
    expected: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(HOURS, 0.0))
    for day, hours in days.items():
        for name in HOURS:
            expected[f"{day}"[:length]][name] += hours[name]

    found = {row[key]: row for row in rows(data, by=key)}

    assert found.keys() == expected.keys()
    for period, hours in expected.items():
        for name in HOURS:
            assert equal(found[period][name], hours[name]), (period, name)


@pytest.mark.parametrize(
    ("chosen", "first", "last"),
    [
        ({"year": "2023"}, date(2023, 1, 1), date(2023, 12, 31)),
        ({"month": "2024-02"}, date(2024, 2, 1), date(2024, 2, 29)),
        ({"from": "2024-03-30", "to": "2024-04-02"}, date(2024, 3, 30), date(2024, 4, 2)),
    ],
)
def test_hours_of_a_period_are_those_of_its_days(many, chosen, first, last):
    data, days = many
    (found,) = pl.DataFrame(rows(data, **chosen)).select(pl.col(HOURS).sum()).to_dicts()
    for name in HOURS:
        expected = math.fsum(h[name] for day, h in days.items() if first <= day <= last)
        assert equal(found[name], expected), name


@pytest.mark.slow
def test_all_months_together_have_the_hours_that_are_not_divided(many):
    """Of every view that has months, and of those that have none, month by month."""
    data, days = many
    undivided = {
        view: data.view(view, split="none").collect()
        for view in ("slurm.usage", "slurm.trend", "slurm.reasons", "slurm.ends")
    }
    months = sorted({f"{day}"[:7] for day in days})
    divided = {
        "slurm.usage": data.view("slurm.usage", by="month,user").collect(),
        "slurm.trend": data.view("slurm.trend").collect(),
        "slurm.reasons": data.view("slurm.reasons", by="month").collect(),
        "slurm.ends": pl.concat(data.view("slurm.ends", month=m).collect() for m in months),
    }
    for view, whole in undivided.items():
        names = [n for n in whole.columns if n == "jobs" or n.endswith("_hours")]
        names = [n for n in names if not n.startswith(("year_before_", "ended_"))]
        assert {"jobs", "cpu_hours"} <= set(names)
        for name in names:
            assert equal(divided[view][name].sum(), whole[name].sum()), (view, name)


# by hand


@pytest.mark.slow
def test_a_job_over_two_months_has_its_hours_in_both_and_counts_in_the_second(tmp_path):
    """Ten days on ten CPUs: 2,400 h, of which one day is February's."""
    data = dataset(
        tmp_path / "dump.txt",
        line(1, "COMPLETED", at("2025-01-23"), at("2025-02-02"), 10 * 86400, 10),
    )
    assert hours_by("month", data) == [("2025-01", 0, 2160.0), ("2025-02", 1, 240.0)]
    assert hours_by("month", data, split="day") == hours_by("month", data, split="month")
    assert hours_by("month", data, split="none") == [("2025-02", 1, 2400.0)]
    assert hours_by("user", data, month="2025-01") == [("ann", 0, 2160.0)]
    assert hours_by("user", data, **{"from": "2025-01-30", "to": "2025-02-01"}) == [
        ("ann", 0, 720.0)
    ]
    found = rows(data, "slurm.trend")
    months = [(r["month"], r["jobs"], round(r["cpu_hours"], 6)) for r in found]
    assert months == hours_by("month", data)


def test_a_job_that_runs_still_has_its_hours_so_far_and_counts_where_it_started(tmp_path):
    data = dataset(
        tmp_path / "dump.txt", line(1, "RUNNING", at("2024-01-31"), "Unknown", 3 * 86400, 2)
    )
    assert hours_by("month", data) == [("2024-01", 1, 48.0), ("2024-02", 0, 96.0)]
    (february,) = rows(data, month="2024-02")
    assert (february["jobs"], february["ran_jobs"], february["cpu_unknown_jobs"]) == (0, 1, 1)
    assert february["cpu_unknown_hours"] == february["not_ended_cpu_hours"] == 96.0
    with pytest.raises(UsageError, match="no jobs in month=2024-02"):
        data.view("slurm.usage", month="2024-02", split="none")
    with pytest.raises(UsageError, match="no jobs in month=2024-03"):
        data.view("slurm.usage", month="2024-03")


def test_a_job_that_ended_at_midnight_counts_with_the_next_month_and_has_no_hours_there(tmp_path):
    data = dataset(
        tmp_path / "dump.txt",
        line(1, "FAILED", at("2024-01-31"), at("2024-02-01"), 86400, 2),
    )
    january, february = (rows(data, month=month)[0] for month in ("2024-01", "2024-02"))
    assert (january["jobs"], january["failed"], january["failed_cpu_hours"]) == (0, 0, 48.0)
    assert (february["jobs"], february["failed"], february["failed_cpu_hours"]) == (1, 1, 0.0)
    assert (january["ran_jobs"], february["ran_jobs"]) == (1, 0)


def test_where_start_or_end_are_not_known_all_hours_are_at_one_moment_and_that_is_said(tmp_path):
    data = dataset(
        tmp_path / "dump.txt",
        line(1, "COMPLETED", "Unknown", at("2024-02-01T06:00"), 86400),
        line(2, "COMPLETED", at("2024-01-31T12:00"), "Unknown", 86400),
        line(3, "COMPLETED", at("2024-01-31T12:00"), at("2024-02-01T12:00"), 86400),
    )
    assert hours_by("month", data) == [("2024-01", 1, 36.0), ("2024-02", 2, 36.0)]
    assert sum(row["undivided_jobs"] for row in rows(data)) == 2
    text = " ".join(usage_report(data, by="month").text(500).split())
    assert "2 jobs with unknown start or end: all hours count where the job counts." in text


def test_days_need_hours_that_are_divided_by_days(tmp_path):
    data = dataset(tmp_path / "dump.txt", line(1, "COMPLETED", at("2024-01-31"), at("2024-02-02"),
                                               86400))  # fmt: skip
    with pytest.raises(UsageError, match="by=day needs days; write split=day"):
        data.view("slurm.usage", by="day", split="month")
    assert [r["day"] for r in rows(data, by="day", split="none")] == ["2024-02-02"]


@pytest.mark.slow
def test_each_table_of_hours_and_jobs_says_which_they_are(tmp_path):
    data = dataset(tmp_path / "dump.txt", line(1, "FAILED", at("2024-01-31"), at("2024-02-02"),
                                               2 * 86400, 2, 60, 1))  # fmt: skip
    prices = {"cpu_hour_cost": 1.0}
    for report in (usage_report(data, by=["month"], **prices), summary(data, month="2024-01")):
        for table in report.tables:
            names = {column.name for column in table.columns}
            if any(name.endswith(("hours", "cost")) for name in names):
                assert "Hours: those used in the" in (table.note or ""), table.name
    # a page of everything divides nothing, but by months
    notes = {table.name: table.note for table in summary(data).tables}
    assert notes["user"] is None
    assert notes["month"] == "Hours: those used in the month. Jobs: those that ended in it."
    of_all = {table.name: table.note for table in summary(data, split="none").tables}
    assert of_all["month"] == ("Hours and jobs: a job counts where it ended, with all its hours.")


@pytest.mark.slow
def test_of_a_period_in_which_jobs_ran_and_none_ended_everything_can_be_asked(tmp_path):
    job = line(1, "FAILED", at("2024-01-20"), at("2024-03-02"), 42 * 86400, 2)
    data = dataset(tmp_path / "dump.txt", job)
    intros = []
    for report in (usage_report, summary, failures):
        made = report(data, month="2024-02")
        intros.append(made.intro)
        text = " ".join(made.text(400).split())
        assert "None" not in text
        assert "0 of 0" not in text
    assert intros[0] == intros[1] == ("No job ended in this period, but some ran in it.",)
    assert "CPU hours allocated: 1,392" in map(str, usage_report(data, month="2024-02").tiles)
    found = evaluate(data, manager(), rules=RULES, settings={"month": "2024-02"}).found
    assert not [each for each in found if "ended" in each.finding.text]


def test_arrays_have_the_hours_of_a_period(tmp_path):
    task = line(1, "COMPLETED", at("2024-01-31"), at("2024-02-02"), 2 * 86400, 2)
    data = dataset(tmp_path / "dump.txt", task.replace("1|", "7_1|", 1))
    found = [rows(data, "slurm.arrays", month=month)[0] for month in ("2024-01", "2024-02")]
    assert [(row["tasks"], row["ended"], row["cpu_hours"]) for row in found] == [
        (0, 0, 48.0), (1, 1, 48.0)
    ]  # fmt: skip


ODD = ("America/St_Johns", "America/Havana", "Pacific/Apia", "Africa/Cairo", "UTC", "Asia/Beirut")
"""Zones whose clocks change at midnight, or that have skipped a day."""


@given(
    st.datetimes(datetime(2005, 1, 1), datetime(2012, 1, 3)),
    st.integers(0, 10**13),
    st.sampled_from(ODD),
    st.sampled_from(["month", "day", None]),
)
def test_the_parts_of_a_run_are_all_of_it_and_it_counts_in_one(start, length, zone, unit):
    start = start.replace(tzinfo=UTC)
    end = start + timedelta(microseconds=length % (400 * 86400 * 10**6))
    runs = pl.LazyFrame(
        {"start_time": [start], "ran_until": [end], "at": [end]},
        schema_overrides=dict.fromkeys(("start_time", "ran_until", "at"), pl.Datetime("us", "UTC")),
    )
    found = parts(runs, Period(), Zone(zone, ""), unit).collect()
    assert math.isclose(found["share"].sum(), 1.0, rel_tol=1e-12)
    assert (found["share"] >= 0).all()
    assert found["counts"].sum() == 1
    assert found["begin"].is_unique().all()
