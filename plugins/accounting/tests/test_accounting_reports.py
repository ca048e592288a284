"""Reports of jobs: every number against an independent computation."""

import statistics
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import REPORTS, dataset

from harvest import UsageError
from harvest_accounting.report.waits import wait_statistics
from harvest_accounting.report.words import hours_in_words

usage_report = REPORTS["slurm.usage"]
summary = REPORTS["slurm.summary"]
failures = REPORTS["slurm.failures"]
queue_time = REPORTS["slurm.queue_time"]

START = datetime(2024, 3, 30, 12, tzinfo=UTC)
TIME = pl.Datetime("us", "UTC")
WAITS = {
    **dict.fromkeys(("job_id", "user", "partition", "qos", "state"), pl.String),
    "submit_time": TIME,
    "start_time": TIME,
    "date": pl.Date,
    "wait_s": pl.Float64,
}


def waited(folder, waits, jobs=0):
    """A dataset of jobs that waited so, and of others that have not started."""
    lines = ["JobID|User|Partition|QOS|State|Submit|Start|End|Elapsed"]
    for number, row in enumerate(waits):
        begin = int(row["submit_time"].timestamp())
        start = begin + int(row["wait_s"])
        lines.append(f"{number}|{row['user']}|{row['partition'] or ''}|{row['qos'] or ''}|"
                     f"{row['state'].upper()}|{begin}|{start}|{start + 60}|00:01:00")  # fmt: skip
    lines += [f"{9000 + n}|u|p|q|PENDING|{int(START.timestamp())}|Unknown|Unknown|00:00:00"
              for n in range(jobs - len(waits))]  # fmt: skip
    return dataset(folder / "waits.txt", *lines)


def wait(seconds, *, hour=0, partition="p", qos="q", user="u", state="completed"):
    submit = START + timedelta(hours=hour)
    return {
        "job_id": "1", "user": user, "partition": partition, "qos": qos, "state": state,
        "submit_time": submit, "start_time": submit + timedelta(seconds=seconds),
        "date": submit.date(), "wait_s": float(seconds),
    }  # fmt: skip


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.sampled_from(["a", "b", None]), st.sampled_from(["x"])),
        min_size=1,
        max_size=60,
    )
)
def test_statistics_of_waits_equal_an_independent_computation(rows):
    frame = pl.DataFrame([wait(w, partition=p, qos=q) for w, p, q in rows], schema=WAITS)
    # wait() makes whole microseconds of none of it: wait_s is as given
    found = wait_statistics(frame, [["partition"], ["qos"]]).to_dicts()

    assert (found[0]["by"], found[0]["name"]) == ("all", "all jobs")
    for row in found:
        values = {
            "all": [w for w, *_ in rows],
            "partition": [w for w, p, _ in rows if p == row["name"]],
            "qos": [w for w, _, q in rows if q == row["name"]],
        }[row["by"]]
        assert row["jobs"] == len(values)
        found_here = [row[f"{name}_wait_s"] for name in ("mean", "median", "p90", "max")]
        each = [function(values) for function in (statistics.fmean, statistics.median)]
        each += [np.quantile(values, 0.9), max(values)]
        assert found_here == pytest.approx(each, rel=1e-9, abs=1e-9)
        std = pytest.approx(statistics.stdev(values), 1e-9, 1e-6) if len(values) > 1 else None
        assert row["std_wait_s"] == std


def test_jobs_that_have_not_started_are_counted_not_averaged(tmp_path):
    report = queue_time(waited(tmp_path, [wait(10), wait(30)], jobs=5))

    assert report.tables[0].data["mean_wait_s"][0] == 20.0
    assert "3 of 5 jobs had not started and are left out." in report.text()
    one = queue_time(waited(tmp_path, [wait(10), wait(30)], jobs=3))
    assert "1 of 3 jobs had not started and is left out." in one.text()
    assert [str(tile) for tile in one.tiles] == [
        "median wait: 20 s (2 started jobs)",
        "9 of 10 jobs waited at most: 28 s",
        "longest wait: 30 s",
        "started within an hour: 100 % (100 % within a minute)",
    ]


def test_a_wait_since_an_ambiguous_submission_is_called_unknown(tmp_path):
    lines = ("JobID|Submit|Start", "1|2024-10-27T02:30:00|2024-10-27T12:00:00")
    report = queue_time(dataset(tmp_path / "dump.txt", *lines, zone="Europe/Berlin"))
    assert "1 of 1 jobs started after an unknown wait and is left out." in report.text()


def test_few_hours_are_not_shown_as_none_and_a_moment_below_none_is():
    assert [hours_in_words(hours) for hours in (0.0028, 0, -0.0028)] == ["<0.01", "0", "0"]


DAY = "2024-03-01T00:00:00|2024-03-01T00:00:00|2024-03-02T00:00:00"


def dump(path, *jobs):
    """A dataset of jobs, each a user, a state, elapsed time and CPUs."""
    lines = ["JobID|User|Partition|State|Submit|Start|End|Elapsed|AllocCPUS"]
    lines += [f"{n}|{user}|p|{state}|{DAY}|{elapsed}|{cpus}"
              for n, (user, state, elapsed, cpus) in enumerate(jobs, start=1)]  # fmt: skip
    return dataset(path, *lines)


@pytest.mark.slow
def test_users_with_few_hours_share_the_last_row(tmp_path):
    # given four users, of whom two have a row of their own
    hours = {"a": ["03"], "b": ["01"], "c": ["01"], "d": ["01", "01"]}
    jobs = [(u, "COMPLETED", f"{h}:00:00", 2) for u, each in hours.items() for h in each]
    data = dump(tmp_path / "dump.txt", *jobs)
    report = summary(data, top=2)

    table = report.tables[0].data
    assert table.select("user", "jobs", "cpu_hours").rows() == [
        ("a", 1, 6.0), ("d", 2, 4.0), ("(2 others)", 2, 4.0)
    ]  # fmt: skip
    assert "top=0 lists all" in report.text()
    assert summary(data, top=0).tables[0].data["user"].to_list() == ["a", "d", "b", "c"]


def test_a_dump_without_usage_says_so_instead_of_zero(tmp_path):
    report = summary(dump(tmp_path / "dump.txt", ("ann", "COMPLETED", "", "")))
    row = report.tables[0].data.to_dicts()[0]
    assert not {"cpu_hours", "cpu_eff"} & row.keys()
    assert "CPU hours allocated: not recorded" in map(str, report.tiles)
    said = "The dump does not record CPU hours: harvest with sacct --format=Elapsed,AllocCPUS"
    assert said in report.text(200)


def test_all_reports_group_jobs_by_what_by_names(tmp_path):
    """Five jobs of ann and bob: each report has a row for each pair of user and state."""
    users = [("ann", "FAILED"), ("ann", "COMPLETED"), ("bob", "FAILED"), ("bob", "FAILED")]
    data = dump(tmp_path / "dump.txt", *((*each, "01:00:00", 2) for each in users))
    by = ["user", "state"]
    expected = Counter((user, state.lower()) for user, state in users)

    for report in (summary(data, by=by), usage_report(data, by=by)):
        rows = report.tables[0].rows.select(*by, "jobs").rows()
        assert {row[:2]: row[2] for row in rows} == expected
    failed = next(t for t in failures(data, by=by).tables if t.name == "by-user-state").rows
    rows = failed.select(*by, "jobs").rows()
    assert {row[:2]: row[2] for row in rows} == {
        group: count for group, count in expected.items() if group[1] == "failed"
    }
    waits = queue_time(data, by=by).tables[0].rows.filter(pl.col("by") == "group")
    found = {tuple(row["name"].split(", ")): row["jobs"] for row in waits.to_dicts()}
    assert found == expected
    with pytest.raises(UsageError, match="write one or more of month, day, cluster"):
        queue_time(data, by=["colour"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "waits",
    [
        [],
        [wait(0)],
        [wait(-5), wait(1e8), wait(0.2), wait(3, partition=None, qos=None)],
        [wait(i % 97, hour=i / 50, partition=f"p{i % 9}") for i in range(2100)],
    ],
    ids=["none", "zero", "extremes", "many"],
)
def test_every_plot_of_waits_can_be_drawn_twice_the_same(waits, tmp_path):
    pytest.importorskip("matplotlib")
    data = waited(tmp_path, waits)
    from harvest_report.draw import to_svg

    for plot, again in zip(queue_time(data).plots, queue_time(data).plots, strict=True):
        assert to_svg(plot) == to_svg(again)


@pytest.mark.slow
def test_every_plot_of_the_summary_can_be_drawn_in_silence(tmp_path, recwarn):
    pytest.importorskip("matplotlib")
    jobs = [(f"user-with-a-long-名-{n}$x$", "FAILED", f"00:{n:02}:00", 2) for n in range(30)]
    from harvest_report.draw import to_png

    data = dump(tmp_path / "dump.txt", *jobs, ("", "", "01:00:00", ""))
    for plot in summary(data, top=0).plots:
        assert (to_png(plot)[:4], recwarn.list) == (b"\x89PNG", [])
