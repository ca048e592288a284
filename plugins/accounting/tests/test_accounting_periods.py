"""Periods as people say them, against bounds written out, and what is said where one is empty."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from slurm_reader import REPORTS, dataset

from harvest import UsageError
from harvest_accounting.calendar import NAMES, moment, period_of
from harvest_slurm.plugin import harvest_reports, harvest_views

summary = REPORTS["slurm.summary"]

ZURICH = ZoneInfo("Europe/Zurich")
NOW = datetime(2025, 1, 1, 0, 30, tzinfo=ZURICH)
"""The first hour of 2025 in Zurich, which is still 2024 in Greenwich; a Wednesday."""


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZURICH)


@pytest.mark.parametrize(
    ("said", "first", "behind"),
    [
        ({"year": "2024"}, "2024-01-01", "2025-01-01"),
        ({"year": "this"}, "2025-01-01", "2026-01-01"),
        ({"quarter": "2024-Q3"}, "2024-07-01", "2024-10-01"),
        ({"quarter": "2024q4"}, "2024-10-01", "2025-01-01"),
        ({"month": "2024-12"}, "2024-12-01", "2025-01-01"),
        ({"month": "last"}, "2024-12-01", "2025-01-01"),
        ({"last": "year"}, "2024-01-01", "2025-01-01"),
        ({"last": "quarter"}, "2024-10-01", "2025-01-01"),
        ({"last": "week"}, "2024-12-23", "2024-12-30"),
        ({"last": "day"}, "2024-12-31", "2025-01-01"),
        ({"last": "2 months"}, "2024-11-01T00:30", None),
        ({"last": "3 days"}, "2024-12-29T00:30", None),
        ({"last": "48h"}, "2024-12-30T00:30", None),
        ({"from": "2024"}, "2024-01-01", None),
        ({"from": "2024-03"}, "2024-03-01", None),
        ({"from": "2024-Q2", "to": "2024-Q3"}, "2024-04-01", "2024-10-01"),
        ({"from": "2024-03-30", "to": "2024-03-31"}, "2024-03-30", "2024-04-01"),
        ({"to": "2024"}, None, "2025-01-01"),
        ({"to": "2024-03"}, None, "2024-04-01"),
        ({"to": "today"}, None, "2025-01-02"),
        ({"to": "2024-03-31T12:00"}, None, "2024-03-31T12:00"),
        ({"to": "now"}, None, "2025-01-01T00:30"),
        ({"since": "2024-07-01T12:00:00Z"}, "2024-07-01T14:00", None),
        ({"from": "2024-03-30", "until": "2024-03-31"}, "2024-03-30", "2024-03-31"),
        ({}, None, None),
    ],
)
def test_a_period_has_the_bounds_that_its_clocks_show(said, first, behind):
    period = period_of(said, ZURICH, NOW)
    assert period.since == (first and day(first))
    assert period.until == (behind and day(behind))


def test_what_is_counted_back_from_now_is_in_whole_seconds():
    now = NOW.replace(microsecond=999)
    assert moment("now", ZURICH, now) == NOW
    assert moment("36h", ZURICH, now) == day("2024-12-30T12:30")


def test_the_last_months_end_on_the_last_day_of_a_shorter_month():
    period = period_of({"last": "1 month"}, ZURICH, day("2024-03-31"))
    assert period.since == day("2024-02-29")


@given(
    first=st.dates(date(1990, 1, 1), date(2090, 1, 1)),
    days=st.integers(0, 1000),
    zone=st.sampled_from(["Europe/Zurich", "America/Sao_Paulo"]),
)
@example(first=date(2018, 11, 3), days=1, zone="America/Sao_Paulo")
def test_from_and_to_hold_every_moment_of_their_days(first, days, zone):
    """Whatever the clocks do in between, for example skip midnight."""
    last, clock = first + timedelta(days=days), ZoneInfo(zone)
    period = period_of({"from": f"{first}", "to": f"{last}"}, clock)
    assert period.since is not None
    assert period.until is not None
    instant = timedelta(microseconds=1)
    assert period.since.astimezone(clock).date() == first
    assert (period.since - instant).astimezone(clock).date() == first - timedelta(days=1)
    assert (period.until - instant).astimezone(clock).date() == last
    assert period.until.astimezone(clock).date() == last + timedelta(days=1)
    assert period.days(zone) == (first, last)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"year": "24"}, "year='24' is not a year; write 2024, `this` or `last`"),
        ({"year": "2024-01"}, "is not a year"),
        ({"quarter": "2024-Q5"}, "is not a quarter; write 2024-Q1"),
        ({"last": "March"}, "last='March' is not a period; write month, year, 30d"),
        ({"last": "9999 years"}, "starts before the year 1"),
        ({"last": "999999w"}, "last: '999999w' is not a time"),
        ({"to": "9999-12-31"}, "to: '9999-12-31' is not in the years 1000 to 3000"),
        ({"from": "0001-01-01"}, "from: '0001-01-01' is not in the years 1000 to 3000"),
        ({"year": "9999"}, "year='9999' is not a year"),
        ({"from": "2024-02-30"}, "from: '2024-02-30' is not a time"),
        ({"year": "2024", "month": "2024-01"}, "year=2024, month=2024-01 name two periods"),
        ({"from": "2024", "since": "2024-01-01"}, "name two periods"),
        ({"last": "30d", "to": "2024"}, "name two periods"),
        ({"from": "2024-02", "to": "2024-01"}, "the period is empty"),
    ],
)
def test_what_names_no_period_is_refused(said, message):
    with pytest.raises(UsageError, match=message):
        period_of(said, ZURICH, NOW)


DUMP = """JobID|User|Account|Partition|State|Submit|Start|End|Elapsed|AllocCPUS
1|ann|physics|cpu|COMPLETED|2023-12-31T20:00:00|2023-12-31T21:00:00|2024-01-01T03:00:00|06:00:00|2
2|bob|maths|cpu|FAILED|2024-06-01T10:00:00|2024-06-01T10:10:00|2024-06-01T11:10:00|01:00:00|4
"""


@pytest.fixture(scope="module")
def two_years(tmp_path_factory):
    """Two jobs that ended in 2024, of which one was submitted in 2023."""
    return dataset(tmp_path_factory.mktemp("years") / "dump.txt", DUMP)


@pytest.mark.parametrize("what", [*harvest_views(), *harvest_reports()], ids=lambda one: one.name)
def test_every_view_and_report_of_jobs_takes_a_period(what):
    assert {*NAMES, "user", "timezone"} <= what.settings.keys()


@pytest.mark.parametrize(
    ("name", "of_2023", "of_2024"),
    [("slurm.jobs", None, ["1", "2"]), ("slurm.efficiency", None, ["1", "2"]),
     ("slurm.queue_time", ["1"], ["2"])],
)  # fmt: skip
def test_a_job_counts_when_it_ended_and_a_wait_when_it_began(two_years, name, of_2023, of_2024):
    found = two_years.view(name, year="2024").collect()
    assert found["job_id"].to_list() == of_2024
    if of_2023 is None:
        with pytest.raises(UsageError, match="no jobs in year=2023"):
            two_years.view(name, year="2023")
    else:
        assert two_years.view(name, year="2023").collect()["job_id"].to_list() == of_2023


def test_where_a_period_holds_nothing_that_of_the_dataset_is_named(two_years):
    said = r"no jobs in last=year \(.*\(UTC\): write --set from=2024-01-01 --set to=2024-06-01, or"
    with pytest.raises(UsageError, match=said):
        two_years.view("slurm.usage", last="year")
    with pytest.raises(UsageError, match="no jobs of user ann in quarter=2024-Q2"):
        two_years.view("slurm.failures", user="ann", quarter="2024-Q2")
    # the period is no matter of a user without jobs at all
    assert two_years.view("slurm.jobs", user="eve", year="2024").collect().is_empty()


def test_the_summary_takes_jobs_and_hours_as_the_view_does(two_years):
    """Job 1 ran on two CPUs from 21:00 to 03:00, over the new year: three hours in each."""
    of_2023 = summary(two_years, year="2023")
    assert of_2023.tables[0].data.select("user", "jobs", "cpu_hours").rows() == [("ann", 0, 6.0)]
    assert of_2023.title == "Jobs by user, partition, state and month, 2023-01-01 to 2023-12-31"
