"""Sums over jobs, against sums in plain Python; periods, clusters and groups by example."""

import math
import statistics
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import REPORTS, Reader, dataset

import harvest
from harvest import UsageError
from harvest_accounting.frame import ended
from harvest_accounting.job_runs import ENDED, ENDS
from harvest_accounting.views.declared.common import RESOURCES
from harvest_accounting.views.measures import amounts, how_they_ended, use, waits
from harvest_report import Table
from harvest_slurm.values.scalars import STATES

usage_report = REPORTS["slurm.usage"]

START = datetime(2024, 3, 30, 12, tzinfo=UTC)
GIB = 2**30
TIME, AMOUNTS = pl.Datetime("us", "UTC"), ("elapsed_s", "cpu_time_s", "cpu_s", "timelimit_s")
WAITED = ("wait_s", "planned_s")
JOB = {
    "user": pl.String, "state": pl.String, "start_time": TIME, "end_time": TIME,
    **dict.fromkeys((*AMOUNTS, *WAITED, "gpu_util_percent"), pl.Float64),
    **dict.fromkeys(("alloc_gpus", "alloc_mem_bytes", "mem_used_bytes"), pl.Int64),
}  # fmt: skip
WHOLE = {"share": pl.lit(1.0), "counts": pl.lit(value=True)}
"""Runs that are not divided."""


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


SECONDS = st.integers(0, 10**6).map(float)
JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "user": st.sampled_from(["ann", "bob", None]),
            "state": maybe(st.sampled_from([state.lower() for state in STATES])),
            **dict.fromkeys(("start_time", "end_time"), maybe(st.just(START))),
            **dict.fromkeys((*AMOUNTS, *WAITED), maybe(SECONDS)),
            "alloc_gpus": maybe(st.integers(0, 4)),
            "gpu_util_percent": maybe(st.integers(0, 400).map(float)),
            **dict.fromkeys(("alloc_mem_bytes", "mem_used_bytes"), maybe(st.integers(0, 2**40))),
        }
    ),
    min_size=1,
    max_size=25,
)


def in_plain_python(job: dict[str, Any], resource: str) -> tuple[bool | None, Any, Any]:
    """Whether a job held a resource, if known, and the seconds of it that it got and used."""
    elapsed, state = job["elapsed_s"], job["state"]
    signs = [None if job[name] is None else job[name] > 0 for name in ("elapsed_s", "cpu_time_s")]
    signs += [job["start_time"] is not None or None, False if state == "pending" else None]
    ran = next((sign for sign in signs if sign is not None), None)

    def times(amount: Any) -> Any:
        return None if elapsed is None or amount is None else elapsed * amount

    if resource == "cpu":
        return ran, job["cpu_time_s"], job["cpu_s"]
    if resource == "gpu":
        gpus, busy = job["alloc_gpus"], job["gpu_util_percent"]
        has = False if gpus == 0 or ran is False else ran and (None if gpus is None else True)
        return has, times(gpus), None if busy is None else times(busy / 100)
    if resource == "mem":
        given, used = times(job["alloc_mem_bytes"]), times(job["mem_used_bytes"])
        return ran, given and given / GIB, used and used / GIB
    return None if state is None else state == "completed", job["timelimit_s"], elapsed


def equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


@given(JOBS)
def test_hours_equal_those_summed_job_by_job_and_what_is_unknown_is_never_zero(jobs):
    columns = {name: sum_ for resource in RESOURCES for name, sum_ in use(resource).items()}
    rows = amounts(pl.LazyFrame(jobs, schema=JOB).with_columns(**WHOLE))
    found = rows.group_by("user").agg(**columns).collect()

    for row in found.iter_rows(named=True):
        mine = [job for job in jobs if job["user"] == row["user"]]
        for resource in RESOURCES:
            all_of_it = [in_plain_python(j, resource.name) for j in mine]
            held = [(g, u) for has, g, u in all_of_it if has]
            doubtful = sum(has is None for has, *_ in all_of_it)
            given = [g / 3600 for g, _ in held if g is not None]
            known = [(g / 3600, u / 3600) for g, u in held if None not in (g, u)]
            unknown = [g / 3600 for g, u in held if g is not None and u is None]
            unknown_jobs = len(held) - len(known) + doubtful
            used, whole = math.fsum(u for _, u in known), math.fsum(g for g, _ in known)
            none_has_it = all(has is False for has, *_ in all_of_it)
            expected = {
                resource.column(): math.fsum(given) if given or none_has_it else None,
                resource.column("used"): used if known else None,
                resource.column("wasted"): whole - used if known else None,
                resource.column("unknown"): math.fsum(unknown)
                if unknown or not unknown_jobs
                else None,
                f"{resource.name}_unknown_jobs": unknown_jobs,
                f"{resource.name}_eff": used / whole if whole else None,
            }
            for name, value in expected.items():
                assert equal(row[name], value), (name, row[name], value)


def test_sums_are_the_same_in_any_order_of_the_jobs():
    # 0.1 + 0.2 + 0.3 differs from 0.3 + 0.2 + 0.1 in floating point
    seconds = [0.1, 0.2, 0.3, 1e9]
    jobs = [{"user": "ann", "cpu_time_s": s, "cpu_s": s, "elapsed_s": s} for s in seconds]
    cpu = next(resource for resource in RESOURCES if resource.name == "cpu")

    def hours(jobs: list[dict[str, Any]]) -> list[Any]:
        rows = amounts(pl.LazyFrame(jobs, schema=JOB).with_columns(**WHOLE))
        return rows.group_by("user").agg(**use(cpu)).collect()["cpu_used_hours"].to_list()

    assert hours(jobs) == hours(jobs[::-1]) == [1000000000.6 / 3600]


@given(JOBS)
def test_every_run_ended_in_one_way_and_waits_equal_an_independent_computation(jobs):
    frame = pl.DataFrame(jobs, schema=JOB).with_columns(ended=ended(), **WHOLE)
    found = frame.group_by("user").agg(pl.len().alias("jobs"), **how_they_ended(), **waits())

    for row in found.iter_rows(named=True):
        mine = [job for job in jobs if job["user"] == row["user"]]
        known = [job for job in mine if job["state"] is not None]
        assert row["state_unknown"] == len(mine) - len(known)
        for name, states in ENDS.items():
            count = sum(job["state"] in states for job in known)
            assert row[name] == (count if count or known == mine else None)
        assert sum(row[name] or 0 for name in (*ENDS, "not_ended")) == len(known)
        lost = [ENDS[name] for name in ("failed", "out_of_memory", "timeout", "node_fail")]
        for name, those in (
            ("failed_cpu_hours", [j for j in known if any(j["state"] in s for s in lost)]),
            ("not_ended_cpu_hours", [j for j in known if j["state"] not in ENDED]),
        ):
            hours = [j["cpu_time_s"] / 3600 for j in those if j["cpu_time_s"] is not None]
            expected = math.fsum(hours) if hours or (known == mine and not those) else None
            assert equal(row[name], expected), name
        waited = [
            job["planned_s"] if job["wait_s"] is None else job["wait_s"]
            for job in mine
            if job["start_time"] is not None
        ]
        waited = [seconds for seconds in waited if seconds is not None]
        none_started = all(
            job["start_time"] is None
            and (job["elapsed_s"] == 0 or (job["elapsed_s"], job["state"]) == (None, "pending"))
            for job in mine
        )
        assert row["waited_jobs"] == (len(waited) if waited or none_started else None)
        both = [
            (w, j["elapsed_s"])
            for j in mine
            for w in [j["planned_s"] if j["wait_s"] is None else j["wait_s"]]
            if None not in (j["start_time"], w, j["elapsed_s"])
            and (j["state"] in ENDED or (j["state"] is None and j["end_time"]))
            and j["elapsed_s"] > 0
        ]
        assert row["compared_jobs"] == (len(both) or None)
        for place, name in enumerate(("wait", "run")):
            expected = statistics.median(pair[place] for pair in both) if both else None
            assert equal(row[f"median_compared_{name}_s"], expected)
        assert equal(row["median_wait_s"], statistics.median(waited) if waited else None)
        assert equal(row["mean_wait_s"], statistics.fmean(waited) if waited else None)
        assert row["max_wait_s"] == max(waited, default=None)


# a whole dataset: two clusters with the same ids, users and times

FIELDS = (
    "JobID|Cluster|User|Account|Partition|QOS|State|Submit|Start|End|Elapsed|AllocCPUS|TotalCPU"
)


TIMES = "2024-03-01T{}:00|2024-03-01T{}:00|2024-03-01T{}:00"


@pytest.fixture(scope="module")
def two_clusters(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """On each cluster job 7 of ann: two CPUs for an hour; a half was used on one, all on the other.

    And on the first a job of bob that has not started, and one whose use is not known.
    """
    when = "2024-03-31T21:30:00|2024-03-31T21:30:00|2024-03-31T22:30:00|01:00:00|2"
    return dataset(
        tmp_path_factory.mktemp("two") / "dump.txt",
        FIELDS,
        f"7|one|ann|physics|cpu|normal|COMPLETED|{when}|01:00:00",
        f"7|two|ann|physics|cpu|normal|FAILED|{when}|02:00:00",
        "8|one|bob|physics|cpu|long|PENDING|2024-04-02T10:00:00|Unknown|Unknown|00:00:00|0|",
        f"9|one|bob|maths|gpu|normal|COMPLETED|{when}|",
        zone="Europe/Zurich",
    )


def rows(reader: Reader, view: str, **chosen: str) -> list[dict[str, Any]]:
    return reader.view(view, **chosen).collect().to_dicts()


def test_jobs_of_two_clusters_with_one_id_are_two_jobs(two_clusters):
    (ann,) = rows(two_clusters, "slurm.usage", user="ann")
    assert (ann["jobs"], ann["cpu_hours"], ann["cpu_wasted_hours"]) == (2, 4.0, 1.0)

    by_cluster = rows(two_clusters, "slurm.usage", by="cluster,user", user="ann")
    assert [(r["cluster"], r["cpu_eff"], r["failed"]) for r in by_cluster] == [
        ("one", 0.5, 0),
        ("two", 1.0, 1),
    ]
    for view in ("slurm.efficiency", "slurm.queue_time"):
        found = two_clusters.view(view).filter(pl.col("job_id") == "7").collect()
        assert sorted(found["cluster"]) == ["one", "two"]
        assert found["restart"].to_list() == [0, 0]  # neither is a second run of the other


@pytest.mark.slow
def test_dumps_that_do_not_name_their_cluster_are_kept_apart_by_the_setting(tmp_path):
    """The same id at the same second: without names it is one job, with names it is two."""
    header = FIELDS.replace("|Cluster", "")
    row = "7|ann|a|p|q|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T11:00:00|"
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"{header}\n{row}01:00:00|2|\n7.batch{'|' * 11}01:00:00\n")
    for named, clusters in ((False, [None]), (True, ["one", "two"])):
        target = f"parquet:{tmp_path / str(len(clusters))}"
        for name in ("one", "two"):
            chosen = {"timezone": "UTC", **({"cluster": name} if named else {})}
            source = f"slurm:{tmp_path / name}"
            harvest.run(source, target, settings={"slurm": chosen}, workers=1)
        jobs = harvest.open(tmp_path / str(len(clusters))).view("slurm.jobs").collect()
        assert jobs["cluster"].sort().to_list() == clusters
        # each has its own step
        assert jobs["steps"].to_list() == [1] * len(clusters)


def test_a_job_whose_use_is_not_known_is_counted_and_wastes_nothing(two_clusters):
    (bob,) = rows(two_clusters, "slurm.usage", user="bob")
    assert (bob["jobs"], bob["started"], bob["not_ended"]) == (2, 1, 1)
    assert (bob["cpu_hours"], bob["cpu_unknown_hours"], bob["cpu_unknown_jobs"]) == (2.0, 2.0, 1)
    assert bob["cpu_used_hours"] is bob["cpu_wasted_hours"] is bob["cpu_eff"] is None


@pytest.mark.parametrize(
    ("chosen", "jobs"),
    [
        ({}, 4),
        ({"month": "2024-03"}, 3),  # until 22:00 of the 31st by the clocks of Greenwich
        ({"month": "2024-04"}, 1),
        ({"month": "2024-04", "timezone": "Asia/Tokyo"}, 4),
        ({"since": "2024-03-31T22:30:01"}, 1),
        ({"until": "2024-03-31T22:30:01"}, 3),
        ({"account": "maths"}, 1),
        ({"cluster": "two"}, 1),
        ({"partition": "cpu", "qos": "normal"}, 2),
    ],
)
def test_jobs_are_chosen_by_period_and_by_what_they_are(two_clusters, chosen, jobs):
    assert sum(row["jobs"] for row in rows(two_clusters, "slurm.usage", **chosen)) == jobs


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"by": "colour"}, "does not name what jobs can be grouped by; write one or more of"),
        ({"by": "user,user"}, "each once"),
        ({"by": ""}, "does not name"),
        ({"month": "March"}, "'March' is not a month; write 2024-01, `this` or `last`"),
        ({"timezone": "Mars"}, "is not a known time zone"),
    ],
)
def test_a_wrong_setting_is_a_mistake_of_the_user(two_clusters, wrong, message):
    with pytest.raises(UsageError, match=message):
        two_clusters.view("slurm.usage", **wrong)


def test_failures_are_counted_by_cause_and_user(tmp_path):
    """A job whose node failed and that then failed by itself; one that completed."""
    reader = dataset(
        tmp_path / "dump.txt",
        FIELDS,
        f"1|c|ann|a|p|q|NODE_FAIL|{TIMES.format('10:00', '10:00', '11:00')}|01:00:00|4|",
        f"1|c|ann|a|p|q|FAILED|{TIMES.format('11:00', '12:00', '12:30')}|00:30:00|4|",
        f"2|c|bob|a|p|q|COMPLETED|{TIMES.format('11:00', '12:00', '13:00')}|01:00:00|1|",
        "3|c|bob|a|p|q|RUNNING|2024-03-01T11:00:00|2024-03-01T12:00:00|Unknown|01:00:00|1|",
    )
    found = {row["state"]: row for row in rows(reader, "slurm.failures")}
    assert {s: (r["jobs"], r["run_again"], r["cpu_hours"]) for s, r in found.items()} == {
        "node_fail": (1, 1, 4.0),
        "failed": (1, 0, 2.0),
    }
    for row in found.values():
        assert (row["ended_jobs"], row["ended_cpu_hours"]) == (3, 7.0)
    # the first run was repeated, though its repetition is not in this period
    (first,) = rows(reader, "slurm.failures", until="2024-03-01T11:30:00")
    assert (first["state"], first["run_again"], first["ended_jobs"]) == ("node_fail", 1, 1)


def test_an_array_is_one_row_whose_tasks_count_by_their_last_run(tmp_path):
    def task(job, state, minutes, submit="10:00"):
        times = TIMES.format(submit, "12:00", f"12:{minutes}")
        return f"{job}|c|ann|a|p|q|{state}|{times}|00:{minutes}:00|2|00:{minutes}:00"

    reader = dataset(
        tmp_path / "dump.txt",
        FIELDS,
        task("5_1", "COMPLETED", 10),
        task("5_2", "NODE_FAIL", 20),
        task("5_2", "COMPLETED", 30, submit="11:00"),
        task("5_3", "TIMEOUT", 40),
        task("6", "COMPLETED", 10),
    )
    (array,) = rows(reader, "slurm.arrays")
    assert (array["array_job_id"], array["user"]) == (5, "ann")
    assert [array[n] for n in ("tasks", "ended", "completed", "failed")] == [3, 3, 2, 1]
    assert (array["median_run_s"], array["max_run_s"]) == (1800.0, 2400.0)
    assert array["cpu_hours"] == pytest.approx((10 + 20 + 30 + 40) * 2 / 60)
    assert array["cpu_eff"] == pytest.approx(0.5)


# the report


def test_the_page_sums_up_its_tables_and_names_the_period(two_clusters):
    report = usage_report(two_clusters, month="2024-03")
    tables = {t.name: t.data for t in report.sections if isinstance(t, Table)}

    assert report.title == "What jobs used and wasted, by user, 2024-03-01 to 2024-03-31"
    assert [str(tile) for tile in report.tiles] == [
        "CPU hours allocated: 6 (3 jobs)",
        "CPU hours used: 3 (75 % of the hours with known use)",
        "CPU hours wasted: 1 (the use of 2 more CPU hours is unknown)",
        "failed runs: 1 (33 % of 3 ended runs)",
    ]
    assert report.intro == ()
    assert tables["cpu"]["cpu_hours"].sum() == 6.0
    assert tables["cpu"]["jobs"].sum() == 3
    assert tables["ends"]["completed"].sum() + tables["failures"]["failed"].sum() == 3
    assert "CPU hours: the use of 1 of 3 jobs that ran is unknown." in " ".join(
        report.text(200).split("\n")
    )
    whole = usage_report(two_clusters)
    assert whole.title == "What jobs used and wasted, by user, 2024-03-31 to 2024-04-02"


def test_a_choice_without_jobs_says_so(two_clusters):
    report = usage_report(two_clusters, user="nobody")
    assert report.intro == ("The dataset has no jobs of user nobody.",)
    assert report.title.startswith("What jobs of user nobody used")
