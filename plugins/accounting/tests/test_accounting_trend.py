"""Months beside those of the year before, against a count in plain Python."""

from collections import Counter
from datetime import date, timedelta

import pytest
from slurm_reader import REPORTS, dataset

from harvest import UsageError

usage_report = REPORTS["slurm.usage"]

FIRST, LAST = date(2023, 2, 10), date(2025, 3, 15)


def days():
    return [FIRST + timedelta(days=n) for n in range(0, (LAST - FIRST).days + 1, 3)]


@pytest.fixture(scope="module")
def two_years(tmp_path_factory):
    """A job every third day, of two CPUs and as many hours as the day of the month."""
    lines = ["JobID|User|Account|State|Submit|Start|End|Elapsed|AllocCPUS|TotalCPU"]
    for n, day in enumerate(days()):
        when = f"{day}T00:00:00"
        state = "FAILED" if n % 5 == 0 else "COMPLETED"
        lines.append(
            f"{n}|ann|{'maths' if n % 2 else 'physics'}|{state}|{when}|{when}|{day}T23:00:00|"
            f"{day.day % 24:02}:00:00|2|00:30:00"
        )
    return dataset(tmp_path_factory.mktemp("years") / "dump.txt", *lines, zone="Europe/Zurich")


def hours_by_month(chosen, shift=0):
    counted: Counter[str] = Counter()
    for day in chosen:
        counted[f"{day.year + shift}-{day.month:02}"] += day.day % 24 * 2
    return counted


def test_each_month_stands_beside_the_one_a_year_before(two_years):
    found = {row["month"]: row for row in two_years.view("slurm.trend").collect().to_dicts()}
    now = hours_by_month(days())
    # March 2025 is not over: of March 2024 the days count that it has had so far
    so_far = days()[-1].replace(year=2024)
    then = hours_by_month([day for day in days() if day <= so_far], shift=1)
    assert {month: row["cpu_hours"] for month, row in found.items()} == dict(now)
    for month, row in found.items():
        assert row["year_before_cpu_hours"] == then.get(month)
        if month in then:
            assert row["cpu_hours_change"] == pytest.approx(now[month] / then[month] - 1)
        else:
            assert row["cpu_hours_change"] is None
    assert found["2023-02"]["days"] == len([d for d in days() if d < date(2023, 3, 1)])


def test_jobs_without_any_time_are_a_month_that_is_not_known(tmp_path):
    data = dataset(
        tmp_path / "dump.txt",
        "JobID|User|State|Submit|Start|End",
        "1|ann|FAILED|Unknown|Unknown|Unknown",
        "2|ann|FAILED|2025-03-01T00:00:00|Unknown|2025-03-02T00:00:00",
    )
    found = data.view("slurm.trend").collect()
    counted = found.select("month", "jobs", "failed_jobs", "days").rows()
    assert counted == [("2025-03", 1, 1, 1), (None, 1, 1, 0)]


def test_a_period_is_compared_with_the_jobs_before_it(two_years):
    found = two_years.view("slurm.trend", year="2024").collect()
    then = hours_by_month([day for day in days() if day.year == 2023], shift=1)
    assert found["month"].to_list() == [f"2024-{month:02}" for month in range(1, 13)]
    assert found["year_before_cpu_hours"].to_list() == [then.get(m) for m in found["month"]]


def test_months_of_groups_add_up_to_the_months(two_years):
    whole = two_years.view("slurm.trend").collect()
    parts = two_years.view("slurm.trend", by="account").collect()
    for month in whole.iter_rows(named=True):
        mine = parts.filter(month=month["month"])
        for name in ("jobs", "cpu_hours", "failed_jobs", "cpu_wasted_hours"):
            assert mine[name].sum() == pytest.approx(month[name])
    with pytest.raises(
        UsageError, match="cluster, account, user, partition, qos, state, name, with"
    ):
        two_years.view("slurm.trend", by="month")


def test_the_report_shows_months_where_there_are_several(two_years):
    names = [table.name for table in usage_report(two_years).tables]
    assert "months" in names
    first = usage_report(two_years, month="2023-03")
    assert "months" not in [table.name for table in first.tables]
    (months,) = (t for t in usage_report(two_years, year="2024").tables if t.name == "months")
    assert months.data["jobs"].sum() == len([day for day in days() if day.year == 2024])
