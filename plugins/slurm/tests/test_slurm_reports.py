"""Reports of jobs: every number against an independent computation."""

from __future__ import annotations

import json
import math
import statistics
from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_slurm.report.summary import sum_up, summary
from harvest_slurm.report.waits import queue_time, wait_statistics

START = datetime(2024, 3, 30, 12, tzinfo=UTC)
TIME = pl.Datetime("us", "UTC")
WAITS = {
    "job_id": pl.String,
    "user": pl.String,
    "partition": pl.String,
    "qos": pl.String,
    "state": pl.String,
    "submit_time": TIME,
    "start_time": TIME,
    "date": pl.Date,
    "wait_s": pl.Float64,
}
USE = {
    "job_id": pl.String,
    "user": pl.String,
    "partition": pl.String,
    "state": pl.String,
    "submit_time": TIME,
    "start_time": TIME,
    "elapsed_s": pl.Float64,
    "alloc_cpus": pl.Int64,
    "cpu_s": pl.Float64,
    "cpu_hours": pl.Float64,
    "cpu_eff": pl.Float64,
    "mem_eff": pl.Float64,
}

FIELDS = (*("elapsed_s", "planned_s", "cpu_time_s", "cpu_s", "mem_used_bytes", "alloc_mem_bytes"),)


class Dataset:
    """A dataset whose views are given frames."""

    def __init__(self, waits=(), use=(), jobs=0, zone=None):
        self.zone = zone
        started = pl.DataFrame(list(waits), schema=WAITS).lazy()
        days = started.group_by("date").agg(
            pl.len().alias("jobs"),
            *(
                getattr(pl.col("wait_s"), how)().alias(f"{name}_wait_s")
                for name, how in [("mean",) * 2, ("median",) * 2, ("max",) * 2, ("total", "sum")]
            ),
        )
        self.frames = {
            "slurm.queue_time": started,
            "slurm.jobs": pl.LazyFrame(
                [{"partition": "p", "qos": "q", "state": "pending"}] * (jobs - len(waits))
                + [{**wait, "partition": "p", "qos": "q"} for wait in waits],
                schema=WAITS | dict.fromkeys(FIELDS, pl.Float64),
            ),
            "slurm.worst_days": days,
            "slurm.efficiency": pl.LazyFrame(list(use), schema=USE),
        }

    def view(self, name, **settings):
        frame = self.frames[name]
        kinds = frame.collect_schema().names()
        return frame.filter(**{k: v for k, v in settings.items() if k in kinds})

    def harvested_with(self, source, setting):
        return [self.zone]


def wait(seconds, *, hour=0, partition="p", qos="q", user="u", state="completed"):
    submit = START + timedelta(hours=hour)
    return {
        "job_id": "1",
        "user": user,
        "partition": partition,
        "qos": qos,
        "state": state,
        "submit_time": submit,
        "start_time": submit + timedelta(seconds=seconds),
        "date": submit.date(),
        "wait_s": float(seconds),
    }


def use(user="u", *, elapsed=3600.0, cpus=2, cpu=None, mem=None, partition="p", state="completed"):
    given = None if elapsed is None or cpus is None else elapsed * cpus
    return {
        "job_id": "1",
        "user": user,
        "partition": partition,
        "state": state,
        "submit_time": START,
        "start_time": START,
        "elapsed_s": elapsed,
        "alloc_cpus": cpus,
        "cpu_s": cpu,
        "cpu_hours": None if given is None else given / 3600,
        "cpu_eff": None if not given or cpu is None else cpu / given,
        "mem_eff": mem,
    }


def close(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


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
    found = wait_statistics(frame).to_dicts()

    assert (found[0]["by"], found[0]["name"]) == ("all", "all jobs")
    for row in found:
        values = {
            "all": [w for w, *_ in rows],
            "partition": [w for w, p, _ in rows if p == row["name"]],
            "qos": [w for w, _, q in rows if q == row["name"]],
        }[row["by"]]
        assert row["jobs"] == len(values)
        assert close(row["mean_wait_s"], statistics.fmean(values))
        assert close(row["median_wait_s"], statistics.median(values))
        assert close(row["p90_wait_s"], float(np.quantile(values, 0.9)))
        assert close(row["max_wait_s"], max(values))
        if len(values) > 1:
            deviation = statistics.stdev(values)
            assert math.isclose(row["std_wait_s"], deviation, rel_tol=1e-9, abs_tol=1e-6)
        else:
            assert row["std_wait_s"] is None


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "bob", None]),
            st.one_of(st.none(), st.floats(0, 1e6).map(lambda seconds: round(seconds, 3))),
            st.one_of(st.none(), st.integers(0, 512)),
            st.one_of(st.none(), st.floats(0, 1e7)),
            st.one_of(st.none(), st.floats(0, 1.2)),
            st.one_of(st.none(), st.floats(0, 1e6)),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_what_users_used_equals_an_independent_computation(rows):
    used = pl.DataFrame(
        [use(u, elapsed=e, cpus=c, cpu=s, mem=m) for u, e, c, s, m, _ in rows], schema=USE
    )
    waits = pl.DataFrame([wait(w, user=u) for u, *_, w in rows if w is not None], schema=WAITS)
    found = sum_up(used, waits, "user").to_dicts()

    assert {r["user"] for r in found} == {r[0] for r in rows}
    for row in found:
        mine = [r for r in rows if r[0] == row["user"]]
        hours = [e * c / 3600 for _, e, c, *_ in mine if e is not None and c is not None]
        measured = [(s, e * c) for _, e, c, s, *_ in mine if None not in (e, c, s) and e * c > 0]
        memory = [m for *_, m, _ in mine if m is not None]
        waited = [w for *_, w in mine if w is not None]
        assert row["jobs"] == len(mine)
        expected = {
            "cpu_hours": math.fsum(hours) if hours else None,
            "cpu_eff": math.fsum(s for s, _ in measured) / math.fsum(g for _, g in measured)
            if measured
            else None,
            "mem_eff": statistics.fmean(memory) if memory else None,
            "mean_wait_s": statistics.fmean(waited) if waited else None,
            "median_wait_s": statistics.median(waited) if waited else None,
        }
        for name, value in expected.items():
            if value is None:
                assert row[name] is None
            else:
                assert close(row[name], value), name


def test_jobs_that_have_not_started_are_counted_not_averaged():
    report = queue_time(Dataset([wait(10), wait(30)], jobs=5))

    assert report.tables[0].data["mean_wait_s"][0] == 20.0
    assert "3 of 5 jobs had not started and are left out." in report.text()
    one = queue_time(Dataset([wait(10), wait(30)], jobs=3))
    assert "1 of 3 jobs had not started and is left out." in one.text()
    assert "started: 100 % within a minute" in one.intro[0]


def test_a_partition_can_be_picked():
    data = Dataset([wait(10), wait(30, partition="gpu")], jobs=1)
    report = queue_time(data, partition="gpu")
    assert report.tables[0].data["name"].to_list() == ["all jobs", "gpu", "q"]
    assert report.tables[0].data["jobs"].to_list() == [1, 1, 1]


def test_waits_are_shown_as_slurm_writes_them():
    text = queue_time(Dataset([wait(93784), wait(93784)], jobs=2)).text()
    assert "1-02:03:04" in text


def test_the_worst_days_are_those_of_the_view():
    report = queue_time(Dataset([wait(5), wait(50, hour=30)], jobs=2))
    (days,) = (t for t in report.tables if t.name == "worst-days")
    assert set(days.data["date"]) == {date(2024, 3, 30), date(2024, 3, 31)}


def test_users_with_few_hours_share_the_last_row():
    # given four users; two have a row of their own
    data = Dataset(
        [wait(5, user="d")],
        [use("a", elapsed=10800.0), use("b", elapsed=3600.0), use("c"), use("d"), use("d")],
    )
    report = summary(data, top=2)

    table = report.tables[0].data
    assert table["user"].to_list() == ["a", "d", "(2 others)"]
    assert table["jobs"].to_list() == [1, 2, 2]
    assert "top=0 lists all" in report.text()
    assert summary(data, top=0).tables[0].data["user"].to_list() == ["a", "d", "b", "c"]


def test_a_dump_without_usage_says_so_instead_of_zero():
    report = summary(Dataset(use=[use(cpus=None, elapsed=None)]))
    row = report.tables[0].data.to_dicts()[0]
    assert not {"cpu_hours", "cpu_eff"} & row.keys()
    assert "CPU hours are known for 0 of 1 jobs." in report.text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "waits",
    [
        [],
        [wait(0)],
        [wait(-5), wait(1e8), wait(0.2)],
        [wait(i, hour=i, partition=f"p{i % 9}") for i in range(40)],
        [wait(3, partition=None, qos=None)],
        [wait(i % 97, hour=i / 50) for i in range(2100)],
    ],
    ids=["none", "zero", "extremes", "many partitions", "no partition", "many jobs"],
)
def test_every_plot_of_waits_can_be_drawn_twice_the_same(waits, tmp_path):
    pytest.importorskip("matplotlib")
    for plot in queue_time(Dataset(waits, jobs=len(waits))).plots:
        again = {p.name: p for p in queue_time(Dataset(waits, jobs=len(waits))).plots}
        from harvest_report.draw import to_svg

        assert to_svg(plot) == to_svg(again[plot.name])


def test_every_plot_of_the_summary_can_be_drawn():
    pytest.importorskip("matplotlib")
    jobs = [use(f"user-with-a-long-name-{i}$x$", elapsed=i * 100.0) for i in range(30)]
    jobs += [use(None, state=None, cpus=None)]
    from harvest_report.draw import to_png

    for plot in summary(Dataset(use=jobs), top=0).plots:
        assert to_png(plot).startswith(b"\x89PNG")


def test_from_a_real_dump_to_numbers(shared_data, tmp_path):
    """Over the real accounting: waits and CPU hours as Slurm's own JSON reports them."""
    harvest = pytest.importorskip("harvest")
    folder = shared_data / "slurm" / "debian-22.05"
    dump = folder / "json.out"
    if not dump.exists():
        pytest.skip("the sample json.out is absent")
    reported = json.loads(dump.read_text())["jobs"]
    harvest.run(f"slurm:{dump}", f"parquet:{tmp_path / 'out'}")
    report = harvest.open(tmp_path / "out").report("slurm.queue_time")

    times = {
        (job["job_id"], job["time"]["submission"]): job["time"]
        for job in reported
        if job["time"]["start"]
    }
    waits = [t["start"] - t["submission"] for t in times.values()]
    row = report.tables[0].data.to_dicts()[0]
    assert row["jobs"] == len(waits)
    assert close(row["mean_wait_s"], statistics.fmean(waits))
